import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkMachine, type Edge } from 'sluice'
import { uploadBatch } from './batch-machine.ts'
import { earlierBatch, earlierItem } from './earlier-version.ts'
import { uploadItem } from './item-machine.ts'

/** The completion notification, which the requirement sends in the processor, is asked for in the same commit. */
const asks = 'askForNotification'

/** As the functional requirement lists them: processors, criteria, and whether a person asks for it. */
const required: Readonly<Record<string, readonly [processors: string[], criteria: string[], manual: boolean]>> = {
  auto_upload: [['UploadBatchInitProcessor'], [], false],
  validate_file: [['UploadBatchValidationProcessor'], ['UploadBatchValidCriterion'], false],
  // Its processor runs in the state that it leads to, as the first one of the next transition.
  start_extraction: [[], [], false],
  start_processing: [
    ['UploadBatchExtractionProcessor', 'UploadBatchProcessingProcessor'],
    ['UploadBatchExtractionCompleteCriterion'],
    false,
  ],
  complete_batch: [['UploadBatchCompletionProcessor', asks], ['UploadBatchAllItemsCompleteCriterion'], false],
  partial_completion: [
    ['UploadBatchPartialCompletionProcessor', asks],
    ['UploadBatchSomeItemsCompleteCriterion'],
    false,
  ],
  mark_failed: [['UploadBatchFailureProcessor'], [], true],
  retry_batch: [['UploadBatchRetryProcessor'], ['UploadBatchRetryableCriterion'], true],
  retry_failed_items: [['UploadBatchRetryFailedItemsProcessor'], [], true],
}

function workOf({ processor, then = [], assign }: Edge): readonly string[] {
  return [processor, ...then, assign].filter((name) => name !== undefined)
}

test('every transition of the requirement has its processors, its criteria and its cause', () => {
  for (const [name, [processors, criteria, manual]] of Object.entries(required)) {
    const edges = uploadBatch.edges.filter((edge) => edge.name === name)
    assert.ok(edges.length > 0, name)
    for (const edge of edges) {
      assert.deepEqual(workOf(edge), processors, name)
      assert.deepEqual([...edge.when, ...edge.ensure], criteria, name)
      assert.equal(edge.on === 'action', manual, name)
    }
  }
})

test('the machines are sound, and all that they name has a purpose', () => {
  for (const machine of [uploadBatch, uploadItem, earlierBatch, earlierItem]) {
    assert.deepEqual(checkMachine(machine), [])
    for (const edge of machine.edges) {
      assert.ok(edge.purpose, `${machine.name}: ${edge.name} has no purpose`)
      for (const name of [...workOf(edge), ...edge.when, ...edge.ensure]) {
        assert.ok(machine.purposes[name], `${machine.name}: ${name} has no purpose`)
      }
    }
  }
})

test('version 1 is what it was: a store that holds its batches takes it', () => {
  assert.deepEqual(
    [earlierBatch.digest, earlierItem.digest],
    [
      '8a2634d3534b5d2e0afd633d20435df635a3584cc77ca2b93591b9c4f1c35a5d',
      '76fe55410eb0088bd0bcda9bfd4d560626a4ed50cee86fac4b3432543a090932',
    ],
  )
})
