import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { defineMachine, type Machine } from '../machine.ts'
import type { Workflow, WorkflowImport, WorkflowTransition } from './document.ts'
import { exportWorkflow, importWorkflow, lintWorkflow } from './index.ts'

const batch = defineMachine({
  name: 'batch',
  version: 2,
  initial: ['uploaded', 'polled'],
  settled: ['completed', 'failed'],
  final: ['completed'],
  states: {
    uploaded: { purpose: 'File stored.', title: 'UPLOADED' },
    polled: 'Asked again later.',
    running: 'Items run.',
    completed: { purpose: 'Done.', retentionMs: 1_000, holdable: false, outcome: 'success' },
    failed: { purpose: 'Needs attention.', outcome: 'failure' },
  },
  transitions: {
    validate: {
      from: 'uploaded',
      to: 'running',
      on: 'done',
      processor: ['read', 'count'],
      when: 'recent',
      ensure: ['valid', 'notEmpty'],
      purpose: 'Reads the file.',
    },
    refuse: { from: 'uploaded', to: 'failed', on: 'done', processor: ['read', 'count'] },
    ask_later: { from: 'uploaded', to: 'polled', on: 'poll' },
    ask_again: { from: 'polled', to: 'uploaded', on: 'time' },
    fail: { from: ['uploaded', 'running'], to: 'failed', on: 'fail', assign: 'recordFailure' },
    some_failed: { from: 'running', to: 'failed', on: 'children', when: 'anyFailed', children: 'rest' },
    complete: { from: 'running', to: 'completed', on: 'children', processor: 'notify' },
    give_up: { from: 'running', to: 'failed', on: 'time', afterMs: 60_000 },
    mark_failed: {
      from: ['uploaded', 'running'],
      to: 'failed',
      on: 'action',
      action: 'cancel',
      children: 'stop',
      role: 'admin',
      warning: 'It cannot be taken back.',
    },
  },
  labels: ['owner'],
  policies: { read: { attemptsMax: 1, timeoutMs: 5_000, role: 'readers' } },
  purposes: { read: 'Reads.', valid: 'It is valid.', recordFailure: 'Notes why.' },
  data: z.object({ owner: z.string() }),
})

const exported = exportWorkflow([batch])
const workflow = exported.workflows[0]!

function transition(state: string, name: string): WorkflowTransition {
  return workflow.states[state]?.transitions?.find((transition) => transition.name === name) ?? assert.fail(name)
}

function noteOf({ annotations }: Pick<WorkflowTransition, 'annotations'>): { readonly why?: string } {
  return annotations?.sluice ?? {}
}

test('a machine as a workflow', () => {
  assert.equal(exported.importMode, 'MERGE')
  assert.deepEqual(
    [workflow.version, workflow.name, workflow.initialState, workflow.active],
    ['1.3', 'batch', 'uploaded', true],
  )
  assert.deepEqual(workflow.states.uploaded?.annotations, { displayName: 'UPLOADED', description: 'File stored.' })
  assert.deepEqual(workflow.states.completed, {
    transitions: [],
    annotations: {
      displayName: 'completed',
      description: 'Done.',
      sluice: { retentionMs: 1_000, holdable: false, outcome: 'success' },
    },
  })
  const config = { attachEntity: true, calculationNodesTags: 'sluice' }
  const asked = (name: string) => ({ type: 'function', function: { name, config } })
  assert.deepEqual(transition('uploaded', 'validate'), {
    name: 'validate',
    next: 'running',
    manual: false,
    disabled: false,
    criterion: { type: 'group', operator: 'AND', conditions: [asked('recent'), asked('valid'), asked('notEmpty')] },
    criterionAnnotations: { description: 'It is valid.' },
    processors: [
      {
        type: 'externalized',
        name: 'read',
        executionMode: 'SYNC',
        config: { attachEntity: true, calculationNodesTags: 'readers', responseTimeoutMs: 5_000, retryPolicy: 'NONE' },
        annotations: { description: 'Reads.' },
      },
      {
        type: 'externalized',
        name: 'count',
        executionMode: 'SYNC',
        config: { ...config, responseTimeoutMs: 600_000, retryPolicy: 'FIXED' },
      },
    ],
    annotations: { description: 'Reads the file.', sluice: { position: 0, on: 'done', ensure: ['valid', 'notEmpty'] } },
  })
  assert.deepEqual(transition('running', 'some_failed').criterion, asked('anyFailed'))
  assert.deepEqual(transition('running', 'give_up').schedule, { delayMs: 60_000 })
  assert.deepEqual(transition('uploaded', 'mark_failed').annotations, {
    sluice: {
      position: 9,
      on: 'action',
      action: 'cancel',
      children: 'stop',
      role: 'admin',
      warning: 'It cannot be taken back.',
    },
  })
})

test('what a platform would take at once is disabled, and says why', () => {
  const said = Object.entries(workflow.states).flatMap(([state, { transitions }]) =>
    (transitions ?? []).map(({ name, manual, disabled, annotations }) => {
      const { why } = noteOf({ annotations })
      assert.equal(disabled, why !== undefined)
      return `${state} ${name}: ${manual ? 'manual' : 'automatic'}${disabled ? ', disabled' : ''}`
    }),
  )
  assert.deepEqual(said, [
    'uploaded validate: automatic',
    'uploaded refuse: automatic',
    'uploaded ask_later: automatic, disabled',
    'uploaded fail: automatic, disabled',
    'uploaded mark_failed: manual',
    'polled ask_again: automatic, disabled',
    'running fail: automatic, disabled',
    'running some_failed: automatic',
    'running complete: automatic, disabled',
    'running give_up: automatic',
    'running mark_failed: manual',
  ])
  assert.equal(
    noteOf(transition('uploaded', 'fail')).why,
    'Taken when the work has failed for good; taken at once if it were enabled.',
  )
})

test('claims go on at once where there are no workers; gates stay shut', () => {
  const chunk = defineMachine({
    name: 'chunk',
    version: 1,
    parent: 'batch',
    initial: ['gated'],
    settled: ['done', 'failed'],
    final: ['done', 'failed'],
    states: { gated: '', ready: '', running: '', done: '', failed: '' },
    transitions: {
      open: { from: 'gated', to: 'ready', on: 'gate' },
      start: { from: 'ready', to: 'running', on: 'claim' },
      end: { from: 'running', to: 'done', on: 'done', processor: 'work' },
      again: { from: 'running', to: 'ready', on: 'retry' },
      fail: { from: 'running', to: 'failed', on: 'fail' },
    },
  })
  const [{ states }] = exportWorkflow([chunk]).workflows as [Workflow]
  const disabled = Object.values(states).flatMap(({ transitions }) =>
    (transitions ?? []).map((transition) => [transition.name, transition.disabled]),
  )
  assert.deepEqual(Object.fromEntries(disabled), { open: true, start: false, end: false, again: true, fail: true })
})

test('it comes back as the machine it was, but for its schema', () => {
  assert.deepEqual(importWorkflow(JSON.stringify(exported)).machines, [{ ...batch, schema: null }])
})

test('one that was exported and comes back is not linted: it runs here as it was declared', () => {
  const { warnings } = importWorkflow(exported)
  assert.deepEqual(warnings, [])
})

test('options', () => {
  const { importMode, workflows } = exportWorkflow([batch], {
    importMode: 'REPLACE',
    executionMode: 'COMMIT_BEFORE_DISPATCH',
    calculationNodesTags: 'here',
  })
  assert.equal(importMode, 'REPLACE')
  const [first] = workflows[0]?.states.uploaded?.transitions ?? []
  assert.deepEqual(
    first?.processors?.map(({ executionMode, config }) => [executionMode, config?.calculationNodesTags]),
    [
      ['COMMIT_BEFORE_DISPATCH', 'readers'],
      ['COMMIT_BEFORE_DISPATCH', 'here'],
    ],
  )
})

test('what cannot be written is refused', () => {
  const changed = (changes: Partial<Machine>) => () => exportWorkflow([{ ...batch, ...changes }])
  assert.throws(changed({ initial: [] }), /has no initial state/)
  assert.throws(
    () => exportWorkflow([batch, { ...batch, version: 3 }]),
    /workflows\[1\]\.name: expected each workflow name once/,
  )
  assert.throws(
    changed({ states: { ...batch.states, failed: { ...batch.states.failed!, purpose: 'x'.repeat(70_000) } } }),
    /annotations at \$\.workflows\[0\]\.states\.failed\.annotations would take \d+ bytes, expected at most 65536/,
  )
  assert.throws(
    changed({ edges: batch.edges.map((edge) => ({ ...edge, afterMs: Number.POSITIVE_INFINITY })) }),
    /expected a finite number, found Infinity/,
  )
  assert.throws(changed({ edges: [...batch.edges, batch.edges[0]!] }), /expected each transition name once in a state/)
})

test('the lint of an export says what will not work there', () => {
  const codes = lintWorkflow(exported).map(({ code, transition }) => `${code} ${transition}`)
  assert.ok(codes.includes('criterion-before-processor validate'))
  assert.ok(!lintWorkflow(exported).some(({ severity }) => severity === 'error'))
})

// ---- An export that was edited elsewhere ----

type Editable = { -readonly [K in keyof WorkflowTransition]: WorkflowTransition[K] }

function edited(change: (find: (state: string, name: string) => Editable, document: WorkflowImport) => void) {
  const document = JSON.parse(JSON.stringify(exported)) as WorkflowImport
  change(
    (state, name) => document.workflows[0]!.states[state]!.transitions!.find((one) => one.name === name)! as Editable,
    document,
  )
  const imported = importWorkflow(document)
  assert.deepEqual(exportWorkflow(imported.machines), document)
  return {
    ...imported,
    machine: imported.machines[0]!,
    edge: (from: string, name: string) =>
      imported.machines[0]!.edges.find((edge) => edge.from === from && edge.name === name),
  }
}

test('an edit of what the schema says counts', () => {
  const { edge, machine } = edited((find) => {
    find('running', 'give_up').schedule = { delayMs: 5 }
    find('uploaded', 'mark_failed').next = 'completed'
    find('uploaded', 'validate').processors = [{ name: 'read', config: { responseTimeoutMs: 7, retryPolicy: 'FIXED' } }]
  })
  assert.equal(edge('running', 'give_up')?.afterMs, 5)
  assert.deepEqual(
    [machine.policies.read?.timeoutMs, machine.policies.read?.attemptsMax, machine.policies.read?.role],
    [7, 4, 'readers'],
  )
  assert.equal(edge('uploaded', 'mark_failed')?.to, 'completed')
  const other = machine.edges.find(({ from, action }) => from === 'running' && action === 'cancel')
  assert.deepEqual([other?.name, other?.to, other?.warning], ['mark_failed_2', 'failed', 'It cannot be taken back.'])
})

test('a transition that was made manual, disabled or added is so', () => {
  const { edge, warnings, needed } = edited((find, document) => {
    find('running', 'some_failed').manual = true
    find('running', 'give_up').disabled = true
    find('uploaded', 'refuse').criterion = { type: 'simple', jsonPath: '$.size', operation: 'IS_CHANGED' }
    find('uploaded', 'validate').criterion = { type: 'simple', jsonPath: '$.size', operation: 'GREATER_THAN', value: 0 }
    const transitions = document.workflows[0]!.states.failed!.transitions as WorkflowTransition[]
    transitions.push({ name: 'reopen', next: 'uploaded', manual: true })
  })
  assert.equal(edge('running', 'some_failed')?.on, 'action')
  assert.equal(edge('running', 'give_up'), undefined)
  assert.ok(warnings.some(({ code, transition }) => code === 'transition-left-out' && transition === 'give_up'))
  assert.deepEqual(
    [edge('uploaded', 'validate')?.when, edge('uploaded', 'validate')?.ensure],
    [['uploaded.validate'], []],
  )
  assert.ok(!needed.batch?.criteria.includes('uploaded.validate'))
  assert.ok(needed.batch?.criteria.includes('uploaded.refuse'))
  assert.match(warnings.find(({ code }) => code === 'criterion-to-bind')?.message ?? '', /uploaded\.refuse/)
  assert.equal(edge('failed', 'reopen')?.on, 'action')
})

test('notes that cannot be read are refused with their place', () => {
  const broken = (sluice: object) => () =>
    importWorkflow({ ...workflow, annotations: { sluice: { ...(workflow.annotations?.sluice as object), ...sluice } } })
  assert.throws(broken({ format: 2 }), /\$\.workflows\[0\]\.annotations\.sluice\.format: expected format 1.*; found 2/)
  assert.throws(broken({ settled: 'failed' }), /sluice\.settled: .*; found "failed"/)
  assert.throws(broken({ colour: 1 }), /colour/)
})
