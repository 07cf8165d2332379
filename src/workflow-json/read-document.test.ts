import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SluiceError } from '../errors.ts'
import { exportWorkflow, importWorkflow, lintWorkflow } from './index.ts'

const workflow = (changes: object = {}, states: object = { a: {} }) => ({
  workflows: [{ version: '1.3', name: 'w', initialState: 'a', states, ...changes }],
})
const transition = (changes: object) => workflow({}, { a: { transitions: [{ name: 't', next: 'a', ...changes }] } })
const criterion = (criterion: unknown) => transition({ criterion })

function refusal(json: unknown): string {
  try {
    importWorkflow(json)
  } catch (error) {
    assert.ok(error instanceof SluiceError && error.code === 'invalid', String(error))
    return error.message
  }
  return assert.fail('it was taken')
}

const states = '$.workflows[0].states'
const deep = (levels: number): object => (levels === 0 ? {} : { a: deep(levels - 1) })
const round: Record<string, unknown> = {}
round.self = round

function* statesUpTo(count: number): Iterable<readonly [string, object]> {
  for (let at = 0; at < count; at += 1) yield [at === 0 ? 'a' : `s${at}`, {}]
}

const refused: readonly (readonly [json: unknown, ...expected: RegExp[]])[] = [
  ['', /no JSON/],
  ['{"workflows": [', /no JSON/],
  ['null', /At \$: expected an object with a list of workflows; found null/],
  [undefined, /at \$ expected a JSON value, found nothing/],
  [[], /At \$: expected an object with a list of workflows; found \[\]/],
  [{}, /At \$\.workflows: expected a list of workflows; found nothing/],
  [{ workflows: {} }, /expected a list of workflows; found \{\}/],
  [{ workflows: [7] }, /At \$\.workflows\[0\]: expected a workflow as an object; found 7/],
  [{ workflows: [], importMode: 'ADD' }, /importMode: expected one of MERGE, REPLACE, ACTIVATE; found "ADD"/],
  [workflow({ version: 1 }), /version: expected the version of the schema, such as "1\.3"; found 1/],
  [workflow({ name: '' }), /name: expected a name of at least one character; found ""/],
  [workflow({ name: 'x'.repeat(257) }), /at most 256 characters; found "xxx.*…/],
  [workflow({ initialState: 'b' }), /initialState: expected the initial state to be one of \["a"\]; found "b"/],
  [workflow({ annotations: [] }), /annotations: expected annotations as an object; found \[\]/],
  [workflow({}, {}), /states: expected at least one state; found \{\}/],
  [workflow({}, { a: { transitions: {} } }), /states\.a\.transitions: expected a list of transitions; found \{\}/],
  [workflow({}, { 'in review': 1, a: {} }), /states\["in review"\]: expected a state as an object; found 1/],
  [transition({ next: 'b' }), /transitions\[0\]\.next: expected the next state to be one of \["a"\]; found "b"/],
  [transition({ manual: 'yes' }), /manual: expected true or false; found "yes"/],
  [transition({ processors: [{}] }), /processors\[0\]\.name: expected a name; found nothing/],
  [
    transition({ processors: [{ name: 'P', executionMode: 'LATER' }] }),
    /executionMode: expected one of SYNC.*found "LATER"/,
  ],
  [transition({ schedule: {} }), /schedule: expected exactly one of delayMs and function; found \{\}/],
  [transition({ schedule: { delayMs: 0 } }), /delayMs: expected a delay above 0; found 0/],
  [transition({ schedule: { delayMs: 1 }, manual: true }), /manual: expected no schedule on a manual transition/],
  [criterion({ type: 'other' }), /criterion.*: expected a criterion of type simple, group/],
  [criterion({ type: 'simple', jsonPath: '$.a' }), /operation: expected an operation such as EQUALS; found nothing/],
  [
    criterion({ type: 'group', operator: 'XOR', conditions: [] }),
    /operator: expected AND, OR or NOT; found "XOR"/,
    /conditions: expected at least one/,
  ],
  [
    criterion({ type: 'group', operator: 'OR', conditions: [{ type: 'function', function: { name: 1 } }] }),
    /criterion\.conditions\[0\]\.function\.name: expected a name; found 1/,
  ],
  [criterion({ type: 'array', jsonPath: '$.a', value: 'x' }), /value: expected a list of values; found "x"/],
  [
    { workflows: [...workflow().workflows, ...workflow().workflows] },
    /workflows\[1\]\.name: expected each workflow name once; found "w"/,
  ],
  [
    workflow(
      {},
      {
        a: {
          transitions: [
            { name: 't', next: 'a' },
            { name: 't', next: 'a' },
          ],
        },
      },
    ),
    /transitions\[1\]\.name: expected each transition name once in a state; found "t"/,
  ],
  [
    JSON.parse('{"workflows": [{"__proto__": 1}]}'),
    /at \$\.workflows\[0\] expected keys that are names, found the key __proto__/,
  ],
  [workflow({ annotations: { at: new Date(0) } }), /annotations\.at expected a plain object, found a Date/],
  [workflow({ annotations: { at: Number.NaN } }), /annotations\.at expected a finite number, found NaN/],
  [workflow({ annotations: { at: () => 1 } }), /annotations\.at expected a JSON value, found a function/],
  [workflow({ annotations: round }), /annotations\.self expected a JSON value, found an object that contains itself/],
  [workflow({ annotations: deep(300) }), /expected at most 256 levels/],
  [workflow({ desc: 'x'.repeat(10 * 1024 * 1024) }), /at most 10485760 characters/],
  [workflow({}, Object.fromEntries([...statesUpTo(501)])), /states: expected at most 500 states/],
  [
    workflow({}, { a: { transitions: Array.from({ length: 2_001 }, (_, at) => ({ name: `t${at}`, next: 'a' })) } }),
    /states: expected at most 2000 transitions/,
  ],
  ['x'.repeat(10 * 1024 * 1024 + 1), /at most 10485760 characters/],
]

test('a bad document is refused with the path, what was expected and what stood there', () => {
  for (const [json, ...expected] of refused) {
    const message = refusal(json)
    for (const pattern of expected) assert.match(message, pattern)
  }
})

test('all faults are told at once', () => {
  const message = refusal(workflow({ name: 1, active: 'yes' }, { a: { transitions: [{ name: 't', next: 2 }] } }))
  assert.match(message, /\.name: .*\n.*active: .*\n.*transitions\[0\]\.next: /)
})

test('the lint lists the same faults as errors', () => {
  const [fault, ...others] = lintWorkflow(workflow({ initialState: 'b' }))
  assert.deepEqual(others, [])
  assert.equal(fault?.code, 'unknown-initial-state')
  assert.equal(fault?.severity, 'error')
  assert.equal(fault?.path, '$.workflows[0].initialState')
  assert.deepEqual(
    lintWorkflow(transition({ next: 'b' })).map(({ code, path }) => [code, path]),
    [['unknown-transition-target', `${states}.a.transitions[0].next`]],
  )
  assert.deepEqual(
    lintWorkflow({ workflows: 1 }).map(({ code }) => code),
    ['invalid-document'],
  )
})

test('what may be null or missing, and what nobody here knows, is taken', () => {
  const json = workflow(
    { desc: null, active: null, criterion: null, annotations: null, x: 1 },
    {
      a: {
        transitions: [
          { name: 't', next: 'b', manual: null, criterion: null, processors: null, schedule: null, y: [null] },
        ],
      },
      b: { transitions: null },
    },
  )
  const imported = importWorkflow(json)
  assert.deepEqual(imported.document, json)
  assert.deepEqual(importWorkflow(JSON.stringify(json)).document, json)
})

test('a workflow by itself, as it lies in a file, is a document of one', () => {
  const [bare] = workflow().workflows
  assert.deepEqual(importWorkflow(bare).documents, [bare])
})

test('what becomes of the returned document does not reach the machines', () => {
  const imported = importWorkflow(workflow())
  Object.assign(imported.document.workflows[0]!, { name: 'changed' })
  assert.deepEqual(exportWorkflow(imported.machines), workflow())
})
