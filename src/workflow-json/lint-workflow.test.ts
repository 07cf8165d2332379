import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lintWorkflow } from './index.ts'

type Named = Record<string, unknown>

const simple = (operation: string, value?: unknown, jsonPath = '$.a') => ({
  type: 'simple',
  jsonPath,
  operation,
  value,
})
const holds = simple('NOT_NULL')
const to = (next: string, changes: Named = {}) => ({ name: `to_${next}`, next, ...changes })
const document = (states: Named, changes: Named = {}, envelope: Named = {}) => ({
  ...envelope,
  workflows: [{ version: '1.3', name: 'w', initialState: 'a', states, ...changes }],
})
const guarded = (criterion: unknown) => document({ a: { transitions: [to('b', { criterion }), to('a')] }, b: {} })
const deep = (levels: number): unknown =>
  levels === 1 ? holds : { type: 'group', operator: 'NOT', conditions: [deep(levels - 1)] }

function found(json: unknown, wanted: string): readonly string[] {
  return lintWorkflow(json)
    .filter(({ code }) => code === wanted)
    .map(({ severity, path }) => `${severity} ${path.replace('$.workflows[0].', '')}`)
}

const processor = (changes: Named = {}) => ({ processors: [{ name: 'P', ...changes }] })
const many = (count: number, make: (index: number) => Named) => Array.from({ length: count }, (_, index) => make(index))
const big = { text: 'x'.repeat(64 * 1024) }

/** One row for each rule: its code, a document that breaks it, where, and one that does not. */
const rules: readonly (readonly [code: string, bad: unknown, at: readonly string[], good: unknown])[] = [
  ['schema-version-unknown', document({ a: {} }, { version: '1.0' }), ['warning version'], document({ a: {} })],
  ['workflow-inactive', document({ a: {} }, { active: false }), ['info active'], document({ a: {} }, { active: true })],
  [
    'unreachable-state',
    document({ a: {}, b: {} }),
    ['warning states.b'],
    document({ a: { transitions: [to('b')] }, b: {} }),
  ],
  [
    'terminal-state-derived',
    document({ a: { transitions: [to('b')] }, b: {} }),
    ['info states.b'],
    document({ a: {} }),
  ],
  [
    'undeclared-outcome',
    document({ a: { transitions: [to('b')] }, b: {} }),
    ['info states'],
    document({ a: { transitions: [to('b')] }, b: { annotations: { sluice: { outcome: 'failure' } } } }),
  ],
  [
    'undeclared-outcome',
    document(
      { a: { transitions: [to('b')] }, b: {} },
      { annotations: { sluice: { format: 1, version: 1, initial: ['a'], settled: ['b'], final: ['b'] } } },
    ),
    ['warning states'],
    document({ a: {} }),
  ],
  [
    'all-transitions-manual',
    document({ a: { transitions: [to('b', { manual: true })] }, b: {} }),
    ['warning states.a'],
    document({ a: { transitions: [to('b', { manual: true }), to('a')] }, b: {} }),
  ],
  [
    'excessive-fan-out',
    document({ a: { transitions: many(9, (index) => ({ name: `t${index}`, next: 'a', manual: true })) } }),
    ['warning states.a'],
    document({ a: { transitions: many(8, (index) => ({ name: `t${index}`, next: 'a', manual: true })) } }),
  ],
  [
    'unguarded-automatic-cycle',
    document({ a: { transitions: [to('b')] }, b: { transitions: [to('c')] }, c: { transitions: [to('b')] } }),
    ['error states.b'],
    document({
      a: { transitions: [to('b')] },
      b: { transitions: [to('c')] },
      c: { transitions: [to('b', { criterion: holds })] },
    }),
  ],
  [
    'unguarded-automatic-cycle',
    document({ a: { transitions: [to('a')] } }, {}, { allowCycles: true }),
    ['warning states.a'],
    document({ a: { transitions: [to('a', { manual: true })] } }),
  ],
  [
    'annotations-too-large',
    document(
      {
        a: {
          annotations: big,
          transitions: [to('a', { annotations: big, criterionAnnotations: big, ...processor({ annotations: big }) })],
        },
      },
      { annotations: big },
    ),
    [
      'error annotations',
      'error states.a.annotations',
      'error states.a.transitions[0].annotations',
      'error states.a.transitions[0].criterionAnnotations',
      'error states.a.transitions[0].processors[0].annotations',
    ],
    document({ a: { annotations: { text: 'x'.repeat(60_000) } } }),
  ],
  [
    'null-criterion-not-last',
    document({ a: { transitions: [to('b'), to('a', { criterion: holds })] }, b: {} }),
    ['warning states.a.transitions[0]'],
    document({
      a: { transitions: [to('b'), to('a', { manual: true }), to('c', { schedule: { delayMs: 1 } })] },
      b: {},
      c: {},
    }),
  ],
  [
    'unreachable-automated-transition',
    document({
      a: { transitions: [to('b'), to('c', { disabled: true }), to('a', { criterion: holds })] },
      b: {},
      c: {},
    }),
    ['warning states.a.transitions[2]'],
    document({ a: { transitions: [to('a', { criterion: holds }), to('b')] }, b: {} }),
  ],
  [
    'disabled-transition-on-active-workflow',
    document({ a: { transitions: [to('a', { disabled: true })] } }),
    ['warning states.a.transitions[0]'],
    document({ a: { transitions: [to('a', { disabled: true })] } }, { active: false }),
  ],
  [
    'criterion-before-processor',
    document({ a: { transitions: [to('a', { criterion: holds, ...processor() })] } }),
    ['warning states.a.transitions[0]'],
    document({
      a: {
        transitions: [
          to('a', { criterion: holds, manual: true, ...processor() }),
          // What the entity's bookkeeping says does not wait for a processor.
          to('b', {
            criterion: { type: 'lifecycle', field: 'state', operation: 'EQUALS', value: 'a' },
            ...processor(),
          }),
        ],
      },
      b: {},
    }),
  ],
  [
    'criteria-not-exhaustive',
    document({
      a: { transitions: [to('b', { criterion: holds }), to('c', { criterion: simple('IS_NULL') })] },
      b: {},
      c: {},
    }),
    ['error states.a'],
    // Whatever holds, one of them does.
    document({
      a: {
        transitions: [
          to('b', { criterion: holds }),
          to('c', { criterion: { type: 'group', operator: 'NOT', conditions: [holds] } }),
        ],
      },
      b: {},
      c: {},
    }),
  ],
  [
    'criteria-not-exhaustive',
    document({ a: { transitions: [to('b', { criterion: holds }), to('a', { manual: true })] }, b: {} }),
    ['warning states.a'],
    document({ a: { transitions: [to('b', { criterion: holds }), to('a', { schedule: { delayMs: 1 } })] }, b: {} }),
  ],
  [
    'no-wake-up',
    document({ a: { transitions: [to('b', { criterion: holds }), to('a', { manual: true })] }, b: {} }),
    ['warning states.a'],
    document({
      a: { transitions: [to('b', { criterion: holds }), to('a', { criterion: holds, schedule: { delayMs: 1 } })] },
      b: {},
    }),
  ],
  [
    'sync-on-likely-bottleneck-transition',
    document({ a: { transitions: [to('b', processor({ executionMode: 'SYNC' }))] }, b: {} }),
    ['info states.a.transitions[0].processors[0]'],
    document({ a: { transitions: [to('b', { manual: true, ...processor({ executionMode: 'SYNC' }) })] }, b: {} }),
  ],
  [
    'processor-overload',
    document({ a: { transitions: [to('b', { processors: many(6, (index) => ({ name: `P${index}` })) })] }, b: {} }),
    ['warning states.a.transitions[0]'],
    document({ a: { transitions: [to('b', { processors: many(5, (index) => ({ name: `P${index}` })) })] }, b: {} }),
  ],
  [
    'async-new-tx-result-discarded',
    document({ a: { transitions: [to('b', processor({ executionMode: 'ASYNC_NEW_TX' }))] }, b: {} }),
    ['warning states.a.transitions[0].processors[0]'],
    document({ a: { transitions: [to('b', processor({ executionMode: 'ASYNC_SAME_TX' }))] }, b: {} }),
  ],
  [
    'unknown-retry-policy',
    document({ a: { transitions: [to('b', processor({ config: { retryPolicy: 'LINEAR' } }))] }, b: {} }),
    ['warning states.a.transitions[0].processors[0].config.retryPolicy'],
    document({ a: { transitions: [to('b', processor({ config: { retryPolicy: 'FIXED' } }))] }, b: {} }),
  ],
  [
    'function-without-quick-exit',
    guarded({ type: 'function', function: { name: 'F' } }),
    ['info states.a.transitions[0].criterion'],
    guarded({ type: 'function', function: { name: 'F', criterion: holds } }),
  ],
  [
    'function-in-group',
    guarded({ type: 'group', operator: 'OR', conditions: [holds, { type: 'function', function: { name: 'F' } }] }),
    ['warning states.a.transitions[0].criterion.conditions[1]'],
    guarded({ type: 'function', function: { name: 'F' } }),
  ],
  ['criterion-depth-limit', guarded(deep(50)), ['error states.a.transitions[0].criterion'], guarded(deep(5))],
  [
    'criterion-depth-limit',
    document({ a: {} }, { criterion: deep(6) }),
    ['info criterion'],
    document({ a: {} }, { criterion: holds }),
  ],
  [
    'not-with-multiple-conditions',
    guarded({ type: 'group', operator: 'NOT', conditions: [holds, holds] }),
    ['error states.a.transitions[0].criterion'],
    guarded({ type: 'group', operator: 'AND', conditions: [holds, holds] }),
  ],
  [
    'invalid-jsonpath-subset',
    guarded({
      type: 'group',
      operator: 'AND',
      conditions: [simple('IS_NULL', null, '$..a'), { type: 'array', jsonPath: '$', value: [] }],
    }),
    [
      'error states.a.transitions[0].criterion.conditions[0].jsonPath',
      'error states.a.transitions[0].criterion.conditions[1].jsonPath',
    ],
    guarded(simple('IS_NULL', null, '$.a.b[*]')),
  ],
  [
    'unsupported-criterion',
    guarded(simple('IS_CHANGED')),
    ['warning states.a.transitions[0].criterion'],
    guarded(holds),
  ],
  [
    'array-operation-ignored',
    guarded({ type: 'array', jsonPath: '$.a', operation: 'CONTAINS', value: ['x'] }),
    ['warning states.a.transitions[0].criterion.operation'],
    guarded({ type: 'array', jsonPath: '$.a', operation: 'EQUALS', value: ['x'] }),
  ],
  [
    'matches-pattern-unanchored',
    guarded(simple('MATCHES_PATTERN', 'a+')),
    ['warning states.a.transitions[0].criterion.value'],
    guarded(simple('MATCHES_PATTERN', '^a+$')),
  ],
  [
    'like-wildcard-warning',
    guarded(simple('LIKE', 'a%')),
    ['info states.a.transitions[0].criterion.value'],
    guarded(simple('LIKE', 'a')),
  ],
]

for (const [code, bad, at, good] of rules) {
  test(`${code} at ${at[0]}`, () => {
    assert.deepEqual(found(bad, code), at)
    assert.deepEqual(found(good, code), [])
  })
}

test('a finding names workflow, state and transition', () => {
  const [finding] = lintWorkflow(
    document({ a: { transitions: [to('a', { criterion: holds, ...processor() })] } }),
  ).filter(({ code }) => code === 'criterion-before-processor')
  assert.deepEqual(finding, {
    code: 'criterion-before-processor',
    severity: 'warning',
    path: '$.workflows[0].states.a.transitions[0]',
    workflow: 'w',
    state: 'a',
    transition: 'to_a',
    message:
      'Workflow w, transition to_a of state a: its criterion is judged before P runs: if it needs what the processor sets, it never holds; move it to a transition after.',
  })
})
