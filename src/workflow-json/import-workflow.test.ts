import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { done, fail } from 'sluice'
import { testKit } from 'sluice/testing'
import { exportWorkflow, importWorkflow } from 'sluice/workflow-json'
import { checkMachine } from '../check-machine.ts'
import { SluiceError } from '../errors.ts'
import type { Facts, View } from '../implementation.ts'

// The example of docs/guides/workflow-json.md, word for word: the last test compares it.

const json = {
  importMode: 'MERGE',
  workflows: [
    {
      version: '1.3',
      name: 'Parcel',
      initialState: 'draft',
      states: {
        draft: {
          transitions: [
            {
              name: 'weigh',
              next: 'weighed',
              processors: [{ name: 'ReadScale', config: { responseTimeoutMs: 2000, retryPolicy: 'NONE' } }],
            },
          ],
        },
        weighed: {
          transitions: [
            {
              name: 'too_heavy',
              next: 'rejected',
              criterion: { type: 'simple', jsonPath: '$.grams', operation: 'GREATER_THAN', value: 30000 },
            },
            {
              name: 'label',
              next: 'labelled',
              criterion: { type: 'function', function: { name: 'AddressDeliverable' } },
            },
            { name: 'give_up', next: 'rejected', schedule: { delayMs: 86400000 } },
          ],
        },
        labelled: { transitions: [] },
        rejected: { transitions: [{ name: 'reopen', next: 'draft', manual: true }] },
      },
    },
  ],
}

const { machines, bind, needed, warnings } = importWorkflow(json)

const parcel = bind('parcel', {
  processors: {
    ReadScale: (context) => {
      const { grams } = context.data as { grams: number }
      return grams > 0 ? done() : fail('nothing on the scale')
    },
  },
  criteria: {
    AddressDeliverable: ({ data }) => (data as { address?: string }).address !== undefined || 'no address',
  },
})

type Kit = ReturnType<typeof testKit>

async function stateAfter(kit: Kit, data: object): Promise<readonly [id: number, state: string]> {
  const { id } = await kit.control.submit('parcel', data)
  await kit.advance('1m')
  return [id, (await kit.control.get(id)).state]
}

test('an imported workflow runs by the rules of its platform', async () => {
  const kit = testKit({ implementations: [parcel] })
  assert.equal((await stateAfter(kit, { grams: 31_000 }))[1], 'rejected')
  assert.equal((await stateAfter(kit, { grams: 5, address: 'Bonn' }))[1], 'labelled')
  const [waiting, state] = await stateAfter(kit, { grams: 5 })
  assert.equal(state, 'weighed')
  await kit.control.act(waiting, 'update', { input: { grams: 5, address: 'Bonn' } })
  await kit.drain()
  assert.equal((await kit.control.get(waiting)).state, 'labelled')
  const [late] = await stateAfter(kit, { grams: 5 })
  await kit.advance('25h')
  assert.equal((await kit.control.get(late)).state, 'rejected')
  const [empty, failed] = await stateAfter(kit, { grams: 0 })
  assert.equal(failed, 'failed')
  assert.equal((await kit.control.get(empty)).reason, 'nothing on the scale')
  await assert.rejects(kit.control.act(waiting, 'update'), /No action is allowed/)
  await kit.control.act(empty, 'retry_draft')
  assert.equal((await kit.control.get(empty)).state, 'draft')
  await kit.stop()
})

test('what a document says is taken over', () => {
  const [machine] = machines
  assert.ok(machine)
  assert.deepEqual([machine.name, machine.version], ['parcel', 1])
  assert.deepEqual(checkMachine(machine), [])
  assert.deepEqual(
    [machine.initial, machine.settled, machine.final],
    [['draft'], ['labelled', 'rejected', 'failed'], ['labelled']],
  )
  assert.deepEqual(needed.parcel, { processors: ['ReadScale'], criteria: ['AddressDeliverable'], assigns: [] })
  assert.deepEqual([machine.policies.ReadScale?.timeoutMs, machine.policies.ReadScale?.attemptsMax], [2_000, 1])
  assert.deepEqual(exportWorkflow(machines), json)
  const added = warnings.filter(({ code }) => code.endsWith('-added')).map(({ state, message }) => [state, message])
  assert.deepEqual(added, [
    [
      'weighed',
      'Workflow Parcel, state weighed: the action update is added, since a platform judges the criteria again whenever the entity is written.',
    ],
    [undefined, 'Workflow Parcel: the state failed is added for work that fails for good.'],
    ['draft', 'Workflow Parcel, state draft: work that fails here for good leads to failed.'],
  ])
})

test('bindings that are missing, unknown or of the wrong machine are refused', () => {
  assert.throws(() => bind('parcel', {}), /names the processor ReadScale.*\n.*names the criterion AddressDeliverable/)
  assert.throws(() => bind('other', {}), /has no machine other; it has parcel/)
  const criteria = { AddressDeliverable: () => true, Extra: () => true }
  assert.throws(
    () => bind(machines[0]!, { processors: { ReadScale: () => {} }, criteria }),
    /criterion Extra, which machine parcel does not name/,
  )
  assert.throws(
    () => parcel.assigns.replaceData?.({} as View, {} as Facts, 5),
    (error) => error instanceof SluiceError && error.code === 'invalid',
  )
})

// ---- Criteria ----

const facts = {} as Facts
const view = (data: unknown, changes: Partial<View> = {}) =>
  ({ id: 7, state: 'b', createdAt: Date.UTC(2026, 0, 15), changedAt: Date.UTC(2026, 1, 1), data, ...changes }) as View

function criterionOf(criterion: object, criteria: Record<string, () => boolean | string> = {}) {
  const states = { A: { transitions: [{ name: 'T', next: 'B', criterion }] }, B: {} }
  const imported = importWorkflow({ version: '1.3', name: 'w', initialState: 'A', states })
  const names = imported.needed.w?.criteria ?? []
  const bound = imported.bind('w', {
    criteria: Object.fromEntries(names.map((name) => [name, criteria[name] ?? (() => true)])),
  })
  const { when } = imported.machines[0]!.edges.find(({ name }) => name === 't')!
  return { imported, names, when, judge: (entity: View) => when.map((name) => bound.criteria[name]!(entity, facts)) }
}

const grams = { type: 'simple', jsonPath: '$.grams', operation: 'GREATER_THAN', value: 5 }
const address = { type: 'simple', jsonPath: '$.address', operatorType: 'NOT_NULL' }
const named = (name: string, criterion?: object) => ({ type: 'function', function: { name, criterion } })
const group = (operator: string, ...conditions: object[]) => ({ type: 'group', operator, conditions })

test('a criterion says why it does not hold', () => {
  const { when, judge } = criterionOf(grams)
  assert.deepEqual(when, ['a.t'])
  assert.deepEqual(judge(view({ grams: 6 })), [true])
  assert.deepEqual(judge(view({ grams: 5 })), ['$.grams is 5, expected GREATER_THAN 5'])
  assert.deepEqual(judge(view(null)), ['$.grams is nothing, expected GREATER_THAN 5'])
})

test('AND: what is spelt out is one criterion, what is named keeps its name', () => {
  const { when, names, judge } = criterionOf(group('AND', grams, named('Valid'), group('AND', address, named('Ready'))))
  assert.deepEqual(when, ['a.t', 'Valid', 'Ready'])
  assert.deepEqual(names, ['Valid', 'Ready'])
  assert.deepEqual(judge(view({ grams: 6, address: 'x' })), [true, true, true])
  assert.deepEqual(judge(view({ grams: 6 }))[0], '$.address is nothing, expected NOT_NULL')
})

test('a quick exit is judged before its function', () => {
  assert.deepEqual(criterionOf(named('Valid', grams)).when, ['a.t', 'Valid'])
})

test('OR and NOT may ask functions', () => {
  const either = criterionOf(group('OR', grams, named('Valid')), { Valid: () => 'not valid' })
  assert.deepEqual([either.when, either.names], [['a.t'], ['Valid']])
  assert.deepEqual(either.imported.criteria.w, {})
  assert.deepEqual(either.judge(view({ grams: 6 })), [true])
  assert.deepEqual(either.judge(view({ grams: 5 })), ['$.grams is 5, expected GREATER_THAN 5; and not valid'])
  const neither = criterionOf(group('NOT', group('OR', grams, named('Valid'))), { Valid: () => false })
  assert.deepEqual(neither.judge(view({})), [true])
  assert.deepEqual(neither.judge(view({ grams: 6 })), [
    'it holds that ($.grams GREATER_THAN 5 OR Valid), expected that not',
  ])
  // NOT is above the operator: what is missing does not match, and so NOT holds.
  assert.deepEqual(criterionOf(group('NOT', { ...grams, operation: 'LESS_THAN' })).judge(view({})), [true])
  assert.throws(() => either.imported.bind('w', {}), /asks the criteria Valid from within others/)
})

test('over a list one element is enough', () => {
  const { judge } = criterionOf({ type: 'simple', jsonPath: '$.tags[*]', operation: 'EQUALS', value: 'red' })
  assert.deepEqual(judge(view({ tags: ['blue', 'red'] })), [true])
  assert.deepEqual(judge(view({ tags: ['blue'] })), ['$.tags[*] is "blue", expected EQUALS "red"'])
  assert.deepEqual(judge(view({ tags: [] })), ['$.tags[*] is [], expected EQUALS "red"'])
})

test('an array criterion is compared position by position', () => {
  const { judge } = criterionOf({ type: 'array', jsonPath: '$.tags[*]', operation: 'EQUALS', value: ['a', null, 3] })
  assert.deepEqual(judge(view({ tags: ['a', 'x', 3, 'more'] })), [true])
  for (const tags of [['a', 'x'], ['b', 'x', 3], 'a', null])
    assert.match(String(judge(view({ tags }))), /expected EQUALS/)
})

test('a lifecycle criterion knows the state by its own name, and times', () => {
  const life = (field: string, operation: string, value?: unknown) =>
    criterionOf({ type: 'lifecycle', field, operation, value }).judge(view({}))[0]
  assert.equal(life('state', 'EQUALS', 'B'), true)
  assert.equal(life('id', 'EQUALS', '7'), true)
  assert.equal(life('creationDate', 'GREATER_OR_EQUAL', '2026'), true)
  assert.equal(
    life('creationDate', 'LESS_THAN', '2026-01-15'),
    'creationDate is "2026-01-15T00:00:00.000Z", expected LESS_THAN "2026-01-15"',
  )
  assert.equal(life('creationDate', 'BETWEEN', ['2026-01', '2026-01-15T00:00:01']), true)
  assert.equal(life('lastUpdateTime', 'EQUALS', '2026-02-01T01:00:00+01:00'), true)
})

test('what cannot be judged here is for the user to bind, with the reason', () => {
  for (const [criterion, reason] of [
    [{ type: 'simple', jsonPath: '$.a', operation: 'IS_CHANGED' }, /as it was before/],
    [{ type: 'simple', jsonPath: '$..a', operation: 'IS_NULL' }, /no path of the kind/],
    [{ type: 'array', jsonPath: '$', value: [] }, /no path of the kind/],
    [
      { type: 'lifecycle', field: 'previousTransition', operation: 'EQUALS', value: 't' },
      /previousTransition is not known/,
    ],
    [{ type: 'lifecycle', field: 'creationDate', operation: 'CONTAINS', value: '2026' }, /which is a time/],
    [group('NOT', grams, address), /exactly one condition/],
    [group('OR', grams, named('Valid', { ...grams, operation: 'NEAR' })), /NEAR is not known/],
  ] as const) {
    const { imported, names, when } = criterionOf(criterion)
    assert.deepEqual([when, names], [['a.t'], ['a.t']])
    const warning = imported.warnings.find(({ code }) => code === 'criterion-to-bind')
    assert.match(warning?.message ?? '', reason)
    assert.deepEqual([warning?.state, warning?.transition], ['A', 'T'])
  }
})

// ---- Shapes that Sluice has not ----

const importStates = (states: object, options = {}) =>
  importWorkflow({ version: '1.3', name: 'w', initialState: 'a', states }, options)
const edgesOf = (states: object) =>
  importStates(states).machines[0]!.edges.map(
    ({ name, from, to, on, action }) => `${from} ${name}${action === name ? '' : `/${action}`} ${to} [${on}]`,
  )
const processors = [{ name: 'P' }]

test('a name that stands for different things gets a second one, and keeps its action', () => {
  assert.deepEqual(
    edgesOf({
      a: { transitions: [{ name: 'GO ON', next: 'b', manual: true }] },
      b: { transitions: [{ name: 'GO ON', next: 'c', manual: true }] },
      c: { transitions: [{ name: 'GO ON', next: 'd', manual: true }] },
      d: {},
    }),
    ['a go_on b [action]', 'b go_on_2/go_on c [action]', 'c go_on_3/go_on d [action]'],
  )
})

test('work that a person asked for fails back to where it was asked', () => {
  assert.deepEqual(edgesOf({ a: { transitions: [{ name: 'go', next: 'b', manual: true, processors }] }, b: {} }), [
    'a go b [action]',
    'a fail_in_a a [fail]',
  ])
})

test('a transition with a processor beside a timer runs in a state of its own', () => {
  const transitions = [
    { name: 'go', next: 'b', criterion: grams, processors },
    { name: 'late', next: 'b', schedule: { delayMs: 5 } },
    { name: 'later', next: 'b', schedule: { delayMs: 9 } },
  ]
  const imported = importStates({ a: { transitions }, b: {}, FAILED: {} })
  assert.deepEqual(
    imported.machines[0]?.edges.map(({ from, name, to }) => `${from} ${name} ${to}`),
    ['a choose_go go_running', 'go_running go b', 'a late b', 'a update a', 'go_running fail failed'],
  )
  assert.deepEqual(
    imported.warnings.filter(({ code }) => code === 'transition-left-out').map(({ transition }) => transition),
    ['later'],
  )
})

test('several processors of one transition run one after another', () => {
  const [machine] = importStates({
    a: { transitions: [{ name: 'go', next: 'b', processors: [{ name: 'P' }, { name: 'Q' }] }] },
    b: {},
  }).machines
  assert.deepEqual([machine?.edges[0]?.processor, machine?.edges[0]?.then], ['P', ['Q']])
})

test('disabled transitions are no edges, and what only they lead to is left out', () => {
  const imported = importStates({ a: { transitions: [{ name: 'go', next: 'b', disabled: true }] }, b: {} })
  assert.deepEqual(Object.keys(imported.machines[0]!.states), ['a'])
  assert.deepEqual([imported.machines[0]?.settled, imported.machines[0]?.final], [['a'], []])
  assert.deepEqual(
    imported.warnings.filter(({ code }) => code === 'state-left-out').map(({ state }) => state),
    ['b'],
  )
})

test('what goes round for ever can be given up', () => {
  const tick = (next: string) => ({ transitions: [{ name: `to_${next}`, next, schedule: { delayMs: 5 } }] })
  assert.deepEqual(edgesOf({ a: tick('b'), b: tick('a') }), [
    'a to_b b [time]',
    'b to_a a [time]',
    'a give_up failed [action]',
    'b give_up failed [action]',
  ])
})

test('states may be settled by name, if only actions leave them', () => {
  const states = {
    a: { transitions: [{ name: 'go', next: 'b', manual: true }] },
    b: { transitions: [{ name: 'on', next: 'c' }] },
    c: {},
  }
  assert.deepEqual(importStates(states).machines[0]?.settled, ['c'])
  assert.deepEqual(importStates(states, { settled: { w: ['a'] } }).machines[0]?.settled, ['a', 'c'])
  assert.throws(() => importStates(states, { settled: { w: ['b'] } }), /cannot settle b: it is left by itself/)
  assert.throws(() => importStates(states, { settled: { w: ['x'] } }), /no such state/)
})

test('what is not taken over is told', () => {
  const { machines, warnings } = importWorkflow(
    {
      version: '1.3',
      name: 'w',
      initialState: 'a',
      criterion: grams,
      states: {
        a: {
          transitions: [
            {
              name: 'go',
              next: 'b',
              manual: true,
              processors: [{ name: 'P', config: { context: 'x', responseTimeoutMs: 5 } }],
            },
            { name: 'again', next: 'b', manual: true, processors: [{ name: 'P' }] },
            { name: 'when_told', next: 'b', schedule: { function: { name: 'When' } } },
            { name: 'late', next: 'b', schedule: { delayMs: 5, timeoutMs: 0 } },
          ],
        },
        b: {},
      },
    },
    { version: 3 },
  )
  assert.equal(machines[0]?.version, 3)
  assert.equal(machines[0]?.edges.find(({ name }) => name === 'when_told')?.on, 'action')
  const codes = warnings.map(({ code, transition }) => `${code} ${transition ?? ''}`.trim())
  for (const expected of [
    'workflow-criterion-not-judged',
    'context-not-passed go',
    'policy-conflict again',
    'schedule-function-unsupported when_told',
    'schedule-timeout-ignored late',
  ]) {
    assert.ok(codes.includes(expected), expected)
  }
})

test('a cycle that nothing stops is told as a fault of the machine', () => {
  const on = (next: string) => ({ transitions: [{ name: `to_${next}`, next }] })
  const { warnings } = importStates({ a: on('b'), b: on('a') })
  assert.ok(warnings.some(({ code, severity }) => code === 'machine-fault' && severity === 'error'))
})

test('every example of the guide stands in this file', () => {
  const guide = readFileSync(new URL('../../docs/guides/workflow-json.md', import.meta.url), 'utf8')
  const here = readFileSync(new URL(import.meta.url), 'utf8')
  const examples = [...guide.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code!)
  assert.ok(examples.length >= 3)
  for (const example of examples) assert.ok(here.includes(example), `Not in this file:\n${example}`)
})
