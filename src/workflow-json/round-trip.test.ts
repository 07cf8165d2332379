import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { checkMachine } from '../check-machine.ts'
import { defineMachine, type Machine } from '../machine.ts'
import type { Policy } from '../policy.ts'
import { stateOutcomes } from '../state-outcome.ts'
import { causes, type TransitionDeclaration } from '../transition.ts'
import { executionModes, type WorkflowCriterion, type WorkflowTransition } from './document.ts'
import { exportWorkflow, importWorkflow } from './index.ts'
import { operatorNames } from './operator.ts'

const runs = { numRuns: 150 }
const word = fc.stringMatching(/^[a-z][a-z0-9]{0,6}(_[a-z0-9]{1,6}){0,2}$/)
const prose = fc.string({ unit: 'binary', maxLength: 20 })

// ---- Machines of all shapes, sound or not ----

const policy: fc.Arbitrary<Partial<Policy>> = fc.record(
  {
    attemptsMax: fc.integer({ min: 1, max: 9 }),
    timeoutMs: fc.double({ min: 0.1, max: 1e6, noNaN: true }),
    concurrency: fc.option(fc.nat()),
    concurrencyPer: fc.option(fc.record({ label: word, max: fc.nat() })),
    parallel: fc.nat(),
    role: fc.option(word),
    backoff: fc.record({
      firstMs: fc.nat(),
      factor: fc.nat(),
      maxMs: fc.nat(),
      jitter: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
  },
  { requiredKeys: [] },
)

const machine: fc.Arbitrary<Machine> = fc.uniqueArray(word, { minLength: 1, maxLength: 6 }).chain((names) => {
  const state = fc.constantFrom(...names)
  const bound = fc.constantFrom('alpha', 'Beta', 'gamma.delta', 'a, b', 'ü')
  const transition: fc.Arbitrary<TransitionDeclaration> = fc.record(
    {
      from: fc.uniqueArray(state, { minLength: 1 }),
      to: state,
      on: fc.constantFrom(...causes),
      processor: fc.oneof(bound, fc.array(bound, { maxLength: 3 })),
      when: fc.oneof(bound, fc.array(bound, { maxLength: 3 })),
      ensure: fc.oneof(bound, fc.array(bound, { maxLength: 2 })),
      assign: bound,
      inline: fc.boolean(),
      action: word,
      afterMs: fc.oneof(fc.nat(), fc.double({ min: 0, max: 1e6, noNaN: true })),
      children: fc.constantFrom('rest', 'stop', 'go'),
      role: fc.constantFrom('submitter', 'operator', 'admin'),
      warning: prose,
      purpose: prose,
    },
    { requiredKeys: ['from', 'to', 'on'] },
  )
  const stateDeclaration = fc.oneof(
    prose,
    fc.record(
      {
        purpose: prose,
        title: prose,
        retentionMs: fc.nat(),
        holdable: fc.boolean(),
        outcome: fc.constantFrom(...stateOutcomes),
      },
      { requiredKeys: ['purpose'] },
    ),
  )
  const declaration = fc.record(
    {
      name: word,
      version: fc.integer({ min: 1, max: 9 }),
      initial: fc.uniqueArray(state, { minLength: 1 }),
      settled: fc.uniqueArray(state),
      final: fc.uniqueArray(state),
      states: fc
        .tuple(...names.map(() => stateDeclaration))
        .map((all) => Object.fromEntries(names.map((name, at) => [name, all[at]!]))),
      transitions: fc.dictionary(word, transition, { maxKeys: 8 }),
      title: fc.oneof(word, fc.array(word, { maxLength: 3 })),
      labels: fc.array(word, { maxLength: 4 }),
      policies: fc.dictionary(bound, policy, { maxKeys: 3 }),
      purposes: fc.dictionary(bound, prose, { maxKeys: 4 }),
      parent: word,
      watches: fc.array(state),
      respawn: word,
    },
    { requiredKeys: ['name', 'version', 'initial', 'settled', 'final', 'states', 'transitions'] },
  )
  // A clone has plain prototypes, as declarations have.
  return declaration.map((declared) => defineMachine(structuredClone(declared)) as Machine)
})

const machines = fc.uniqueArray(machine, { minLength: 1, maxLength: 3, selector: ({ name }) => name })

test('a machine that is exported and imported is the same machine', () => {
  fc.assert(
    fc.property(machines, (machines) => {
      const text = JSON.stringify(exportWorkflow(machines))
      const imported = importWorkflow(text)
      assert.deepEqual(imported.machines, machines)
      assert.deepEqual(
        imported.machines.map(({ digest }) => digest),
        machines.map(({ digest }) => digest),
      )
      // Edges are tried in their order, and states are drawn in theirs.
      assert.equal(
        JSON.stringify(imported.machines.map(({ edges }) => edges)),
        JSON.stringify(machines.map(({ edges }) => edges)),
      )
      assert.deepEqual(imported.machines.map(statesOf), machines.map(statesOf))
      assert.equal(JSON.stringify(exportWorkflow(imported.machines)), text)
      // Without the document that it came from, too.
      assert.equal(JSON.stringify(exportWorkflow(imported.machines.map((machine) => ({ ...machine })))), text)
    }),
    runs,
  )
})

function statesOf({ states }: Machine): readonly string[] {
  return Object.keys(states)
}

// ---- Documents that somebody else wrote ----

const foreignName = fc.oneof(
  word,
  fc.constantFrom('IN REVIEW', 'InReview', 'in-review', '2nd', '審査', 'failed', 'update', 'fail', 'x'.repeat(256)),
)
const json = fc.jsonValue({ maxDepth: 3, noUnicodeString: false })
const annotations = fc.oneof(
  fc.constant(null),
  fc.dictionary(fc.constantFrom('displayName', 'description', 'ui', 'roles'), json, {
    maxKeys: 3,
    noNullPrototype: true,
  }),
)
const maybe = <T>(value: fc.Arbitrary<T>) => fc.oneof(fc.constant(null), value)
const config = fc.record(
  {
    attachEntity: fc.boolean(),
    calculationNodesTags: prose,
    responseTimeoutMs: fc.integer({ min: -1, max: 99_999 }),
    retryPolicy: fc.constantFrom('NONE', 'FIXED', 'EXPONENTIAL', ''),
    context: prose,
    unknown: json,
  },
  { requiredKeys: [] },
)

const { tree } = fc.letrec<{ tree: WorkflowCriterion }>((tie) => {
  const operation = fc.constantFrom(...operatorNames, 'IS_CHANGED', 'NEAR')
  const path = fc.constantFrom('$.a', '$.a.b[0]', '$.list[*].x', '$..a', 'a')
  return {
    tree: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.record({
        type: fc.constant('simple'),
        jsonPath: path,
        operation,
        value: json,
      }) as fc.Arbitrary<WorkflowCriterion>,
      fc.record({
        type: fc.constant('simple'),
        jsonPath: path,
        operatorType: operation,
      }) as fc.Arbitrary<WorkflowCriterion>,
      fc.record({
        type: fc.constant('lifecycle'),
        field: fc.constantFrom('state', 'creationDate', 'previousTransition'),
        operation,
        value: json,
      }) as fc.Arbitrary<WorkflowCriterion>,
      fc.record({
        type: fc.constant('array'),
        jsonPath: path,
        operation,
        value: fc.array(json),
      }) as fc.Arbitrary<WorkflowCriterion>,
      fc.record({
        type: fc.constant('function'),
        function: fc.record(
          { name: fc.constantFrom('Valid', 'Ready', 'a.t'), config, criterion: tie('tree') },
          { requiredKeys: ['name'] },
        ),
      }) as fc.Arbitrary<WorkflowCriterion>,
      fc.record({
        type: fc.constant('group'),
        operator: fc.constantFrom('AND', 'OR', 'NOT'),
        conditions: fc.array(tie('tree'), { minLength: 1, maxLength: 3 }),
        note: json,
      }) as fc.Arbitrary<WorkflowCriterion>,
    ),
  }
})

const foreignWorkflow = fc.uniqueArray(foreignName, { minLength: 1, maxLength: 6 }).chain((names) => {
  const state = fc.constantFrom(...names)
  const processor = fc.record(
    {
      type: fc.constantFrom('externalized', 'internalized'),
      name: fc.constantFrom('P', 'Q', 'R'),
      executionMode: fc.constantFrom(...executionModes),
      startNewTxOnDispatch: fc.boolean(),
      config: maybe(config),
      annotations,
    },
    { requiredKeys: ['name'] },
  )
  const delay = fc.record(
    { delayMs: fc.integer({ min: 1, max: 9 }), timeoutMs: fc.nat() },
    { requiredKeys: ['delayMs'] },
  )
  const asked = fc.record({ function: fc.record({ name: word, resultKind: fc.constant('Schedule') }) })
  const transition = fc
    .record(
      {
        name: foreignName,
        next: state,
        manual: fc.boolean(),
        disabled: maybe(fc.boolean()),
        criterion: maybe(tree),
        criterionAnnotations: annotations,
        processors: maybe(fc.array(processor, { maxLength: 3 })),
        schedule: maybe(fc.oneof(delay, asked)),
        annotations,
        extra: json,
      },
      { requiredKeys: ['name', 'next'] },
    )
    .map((transition) => (transition.manual ? { ...transition, schedule: null } : transition) as WorkflowTransition)
  const stateObject = fc.record(
    { transitions: maybe(fc.uniqueArray(transition, { maxLength: 4, selector: ({ name }) => name })), annotations },
    { requiredKeys: [] },
  )
  return fc.record(
    {
      version: fc.constantFrom('1.0', '1.3', '9.9'),
      name: foreignName,
      desc: maybe(prose),
      initialState: state,
      active: maybe(fc.boolean()),
      criterion: maybe(tree),
      criterionAnnotations: annotations,
      annotations,
      states: fc
        .tuple(...names.map(() => stateObject))
        .map((all) => Object.fromEntries(names.map((name, at) => [name, all[at]!]))),
      more: json,
    },
    { requiredKeys: ['version', 'name', 'initialState', 'states'] },
  )
})

const foreign = fc.record(
  {
    importMode: maybe(fc.constantFrom('MERGE', 'REPLACE', 'ACTIVATE')),
    allowCycles: fc.boolean(),
    workflows: fc.uniqueArray(foreignWorkflow, { maxLength: 2, selector: ({ name }) => name }),
    about: json,
  },
  { requiredKeys: ['workflows'] },
)

/** JSON as text and back: what was not JSON to begin with (-0 in a value) is out of the way. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value).replaceAll('"__proto__"', '"proto"'))

test('a document that is imported and exported is the same document', () => {
  fc.assert(
    fc.property(foreign.map(plain), (document) => {
      const { machines } = importWorkflow(document)
      fc.pre(machines.length > 0)
      assert.equal(JSON.stringify(exportWorkflow(machines)), JSON.stringify(document))
    }),
    runs,
  )
})

test('an imported machine is sound, and so is what binds it', () => {
  fc.assert(
    fc.property(foreign.map(plain), (document) => {
      const imported = importWorkflow(document)
      for (const machine of imported.machines) {
        // Only what the platforms refuse as well: going round for ever without any condition.
        const faults = checkMachine(machine).filter(({ code }) => code !== 'free_cycle')
        assert.deepEqual(faults, [])
        const needed = imported.needed[machine.name]!
        imported.bind(machine, {
          processors: Object.fromEntries(needed.processors.map((name) => [name, () => {}])),
          criteria: Object.fromEntries(needed.criteria.map((name) => [name, () => true])),
        })
      }
    }),
    runs,
  )
})

test('some of the imported machines of an import, or all in another order, are wrapped anew', () => {
  const document = {
    importMode: 'REPLACE',
    note: 1,
    workflows: ['one', 'two'].map((name) => ({ version: '1.2', name, initialState: 'a', states: { a: { x: 1 } } })),
  }
  const { machines } = importWorkflow(document)
  const [one, two] = document.workflows
  assert.deepEqual(exportWorkflow(machines), document)
  assert.deepEqual(exportWorkflow(machines.toReversed()), { importMode: 'MERGE', workflows: [two, one] })
  assert.deepEqual(exportWorkflow(machines.slice(1), { importMode: 'ACTIVATE' }), {
    importMode: 'ACTIVATE',
    workflows: [two],
  })
})
