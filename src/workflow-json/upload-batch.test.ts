import assert from 'node:assert/strict'
import { test } from 'node:test'
import { done } from 'sluice'
import { testKit } from 'sluice/testing'
import { exportWorkflow, importWorkflow, lintWorkflow } from 'sluice/workflow-json'
import { checkMachine } from '../check-machine.ts'

/** The UploadBatch workflow as its platform has it, letter for letter in what it means: also where it cannot work. */
const config = (responseTimeoutMs: number, retryPolicy = 'FIXED') => ({
  attachEntity: true,
  calculationNodesTags: 'cyoda_application',
  responseTimeoutMs,
  retryPolicy,
})
const runs = (name: string, executionMode: string, ms: number, retryPolicy?: string) => [
  { name: `UploadBatch${name}Processor`, executionMode, config: config(ms, retryPolicy) },
]
const judges = (name: string, ms = 3_000) => ({
  type: 'function',
  function: { name: `UploadBatch${name}Criterion`, config: config(ms) },
})
const mark_failed = { name: 'mark_failed', next: 'failed', manual: true, processors: runs('Failure', 'SYNC', 3_000) }

const uploadBatch = {
  version: '1.0',
  name: 'UploadBatch',
  desc: 'Bulk uploads of items from JSON files',
  initialState: 'initial_state',
  active: true,
  states: {
    initial_state: {
      transitions: [{ name: 'auto_upload', next: 'uploaded', manual: false, processors: runs('Init', 'SYNC', 5_000) }],
    },
    uploaded: {
      transitions: [
        {
          name: 'validate_file',
          next: 'validated',
          manual: false,
          processors: runs('Validation', 'SYNC', 10_000),
          criterion: judges('Valid'),
        },
        mark_failed,
      ],
    },
    validated: {
      transitions: [
        {
          name: 'start_extraction',
          next: 'extracting',
          manual: false,
          processors: runs('Extraction', 'ASYNC_NEW_TX', 30_000, 'EXPONENTIAL'),
        },
        mark_failed,
      ],
    },
    extracting: {
      transitions: [
        {
          name: 'start_processing',
          next: 'processing',
          manual: false,
          processors: runs('Processing', 'ASYNC_SAME_TX', 15_000, 'LINEAR'),
          criterion: judges('ExtractionComplete'),
        },
        mark_failed,
      ],
    },
    processing: {
      transitions: [
        {
          name: 'complete_batch',
          next: 'completed',
          manual: false,
          processors: runs('Completion', 'SYNC', 5_000),
          criterion: judges('AllItemsComplete', 5_000),
        },
        {
          name: 'partial_completion',
          next: 'partially_completed',
          manual: false,
          processors: runs('PartialCompletion', 'SYNC', 5_000),
          criterion: judges('SomeItemsComplete', 5_000),
        },
        mark_failed,
      ],
    },
    completed: { transitions: [] },
    partially_completed: {
      transitions: [
        {
          name: 'retry_failed_items',
          next: 'processing',
          manual: true,
          processors: runs('RetryFailedItems', 'ASYNC_NEW_TX', 10_000, 'EXPONENTIAL'),
        },
      ],
    },
    failed: {
      transitions: [
        {
          name: 'retry_batch',
          next: 'uploaded',
          manual: true,
          processors: runs('Retry', 'SYNC', 5_000),
          criterion: judges('Retryable'),
        },
      ],
    },
  },
}

test('the lint names the gaps, with their states and transitions', () => {
  const found = (wanted: string) =>
    lintWorkflow(uploadBatch)
      .filter(({ code }) => code === wanted)
      .map(({ state, transition }) => [state, transition].filter((name) => name !== undefined).join(' '))
  // G1: the count that the criterion asks for is set by the processor after it.
  assert.deepEqual(found('criterion-before-processor'), [
    'uploaded validate_file',
    'extracting start_processing',
    'processing complete_batch',
    'processing partial_completion',
  ])
  // G4, G5: all failed, or one skipped, and neither criterion holds.
  assert.deepEqual(found('criteria-not-exhaustive'), ['uploaded', 'extracting', 'processing'])
  // G3: items that settle later do not wake the batch.
  assert.deepEqual(found('no-wake-up'), ['uploaded', 'extracting', 'processing'])
  assert.deepEqual(found('async-new-tx-result-discarded'), [
    'validated start_extraction',
    'partially_completed retry_failed_items',
  ])
  assert.deepEqual(found('unknown-retry-policy'), [
    'validated start_extraction',
    'extracting start_processing',
    'partially_completed retry_failed_items',
  ])
  assert.deepEqual(found('schema-version-unknown'), [''])
  const processing = lintWorkflow(uploadBatch).find(
    ({ code, state }) => code === 'criteria-not-exhaustive' && state === 'processing',
  )
  assert.equal(
    processing?.message,
    'Workflow UploadBatch, state processing: the criteria of complete_batch, partial_completion can all be false, and then what remains is mark_failed, which a person or a timer must take; add a last transition without criterion, or a timer.',
  )
  assert.equal(processing.path, '$.workflows[0].states.processing')
})

test('it is imported as a sound machine, and comes out as it was', () => {
  const { machines, documents } = importWorkflow(uploadBatch)
  const [machine] = machines
  assert.ok(machine)
  assert.deepEqual(checkMachine(machine), [])
  assert.equal(machine.name, 'upload_batch')
  assert.deepEqual(machine.settled, ['completed', 'partially_completed', 'failed'])
  assert.deepEqual(machine.final, ['completed'])
  assert.deepEqual(documents, [uploadBatch])
  assert.deepEqual(exportWorkflow(machines).workflows, [uploadBatch])
  assert.equal(machine.policies.UploadBatchExtractionProcessor?.timeoutMs, 30_000)
  const edges = machine.edges.map(({ from, name, to, on }) => `${from} ${name} ${to} [${on}]`)
  for (const edge of [
    'uploaded validate_file validated [done]',
    'uploaded mark_failed failed [action]',
    'processing mark_failed failed [action]',
    'processing choose_complete_batch complete_batch_running [done]',
    'complete_batch_running complete_batch completed [done]',
    'failed retry_batch uploaded [action]',
    'uploaded fail failed [fail]',
    'complete_batch_running fail failed [fail]',
  ]) {
    assert.ok(edges.includes(edge), `${edge} in\n${edges.join('\n')}`)
  }
})

test('taken literally it stops where the facts say, and goes on when it is written', async () => {
  interface Batch {
    readonly totalItemsInFile?: number
    readonly processingCompletedAt?: number
    readonly errored?: number
  }
  const imported = importWorkflow(uploadBatch)
  const { processors, criteria } = imported.needed.upload_batch!
  const upload = imported.bind('upload_batch', {
    processors: {
      ...Object.fromEntries(processors.map((name) => [name, () => {}])),
      UploadBatchValidationProcessor: ({ data }) => done({ ...(data as Batch), totalItemsInFile: 3 }),
      UploadBatchExtractionProcessor: ({ data }) => done({ ...(data as Batch), processingCompletedAt: 1 }),
    },
    criteria: {
      ...Object.fromEntries(criteria.map((name) => [name, () => true])),
      UploadBatchValidCriterion: ({ data }) => ((data as Batch).totalItemsInFile ?? 0) > 0 || 'no items counted',
      UploadBatchAllItemsCompleteCriterion: ({ data }) => (data as Batch).errored === 0,
      UploadBatchSomeItemsCompleteCriterion: ({ data }) => (data as Batch).errored === 1,
    },
  })
  const kit = testKit({ implementations: [upload] })
  const { id } = await kit.control.submit('upload_batch', {})
  const state = async () => {
    await kit.drain()
    return (await kit.control.get(id)).state
  }
  assert.equal(await state(), 'uploaded')
  await kit.control.act(id, 'update', { input: { totalItemsInFile: 3 } })
  assert.equal(await state(), 'processing')
  await kit.control.act(id, 'update', { input: { totalItemsInFile: 3, errored: 1 } })
  assert.equal(await state(), 'partially_completed')
  await kit.control.act(id, 'retry_failed_items')
  assert.equal(await state(), 'partially_completed')
  await kit.stop()
})
