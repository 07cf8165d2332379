import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertMachine, checkMachine } from './check-machine.ts'
import { defineMachine, type Machine } from './machine.ts'

// Machines that are sound. One broken machine for each fault is in machine-fault.test.ts.

const chunk = defineMachine({
  name: 'chunked_chunk',
  version: 1,
  parent: 'chunked_job',
  initial: ['ready', 'gate_waiting', 'poll_waiting'],
  settled: ['completed', 'failed'],
  final: ['completed'],
  states: {
    ready: 'May be queued.',
    gate_waiting: 'Its step is gated; the step before is not complete.',
    poll_waiting: 'Asked to be run again later.',
    queued: 'Given to a worker.',
    in_progress: 'Its step runs.',
    error: 'Failed, and will be tried again.',
    failed: 'Failed for good.',
    completed: 'Done.',
  },
  transitions: {
    open_gate: { from: 'gate_waiting', to: 'ready', on: 'gate' },
    poll_again: { from: 'poll_waiting', to: 'ready', on: 'time' },
    queue: { from: 'ready', to: 'queued', on: 'claim' },
    start: { from: ['queued', 'error'], to: 'in_progress', on: 'claim' },
    complete: { from: 'in_progress', to: 'completed', on: 'done', processor: 'step' },
    try_again: { from: 'in_progress', to: 'error', on: 'retry' },
    poll_later: { from: 'in_progress', to: 'poll_waiting', on: 'poll' },
    fail: { from: 'in_progress', to: 'failed', on: 'fail' },
  },
})

const job = defineMachine({
  name: 'chunked_job',
  version: 1,
  initial: ['queued'],
  settled: ['completed', 'failed', 'cancelled'],
  final: ['completed', 'failed', 'cancelled'],
  states: {
    queued: 'No chunk has been received.',
    in_progress: 'Chunks run.',
    errored: 'Chunks run, and one was tried again.',
    finalize: 'The reducer runs.',
    completed: { purpose: 'All chunks are completed.', title: 'COMPLETED', retentionMs: 86_400_000 },
    failed: 'A chunk failed.',
    cancelled: 'A person ended it.',
  },
  transitions: {
    start: { from: 'queued', to: 'in_progress', on: 'children', when: 'anyStarted' },
    fail_job: {
      from: ['in_progress', 'errored', 'finalize'],
      to: 'failed',
      on: 'children',
      when: 'anyFailed',
      children: 'rest',
    },
    open_step: { from: 'in_progress', to: 'in_progress', on: 'children', when: 'stepComplete', assign: 'openNextStep' },
    note_errors: { from: 'in_progress', to: 'errored', on: 'children', when: 'anyErrored' },
    open_step_again: { from: 'errored', to: 'errored', on: 'children', when: 'stepComplete', assign: 'openNextStep' },
    reduce: {
      from: ['in_progress', 'errored'],
      to: 'finalize',
      on: 'children',
      when: 'hasReducer',
      assign: 'spawnReducer',
    },
    complete: { from: ['in_progress', 'errored', 'finalize'], to: 'completed', on: 'children' },
    cancel: {
      from: ['queued', 'in_progress', 'errored', 'finalize'],
      to: 'cancelled',
      on: 'action',
      children: 'stop',
      warning: 'Running chunks are stopped.',
    },
  },
  watches: ['in_progress', 'error', 'failed'],
})

/** As STYLE.md shows it. */
const upload = defineMachine({
  name: 'upload',
  version: 1,
  initial: ['uploaded'],
  settled: ['validated', 'failed'],
  final: ['validated'],
  states: { uploaded: 'File stored.', validated: 'File readable.', failed: 'Needs attention.' },
  transitions: {
    validate_file: { from: 'uploaded', to: 'validated', on: 'done', processor: 'readFile', ensure: 'valid' },
    fail: { from: 'uploaded', to: 'failed', on: 'fail', assign: 'recordFailure' },
    mark_failed: { from: 'uploaded', to: 'failed', on: 'action', assign: 'recordFailure' },
    retry_batch: { from: 'failed', to: 'uploaded', on: 'action', when: 'retryable' },
  },
})

const uploadBatch = defineMachine({
  name: 'upload_batch',
  version: 1,
  initial: ['initial_state'],
  settled: ['completed', 'partially_completed', 'failed'],
  final: ['completed'],
  states: {
    initial_state: 'New.',
    uploaded: 'The file is stored.',
    validated: 'The file is readable.',
    extracting: 'Items are made from the file.',
    processing: 'Items run.',
    completed: 'No item failed.',
    partially_completed: 'Some items failed.',
    failed: 'Needs attention.',
  },
  transitions: {
    auto_upload: { from: 'initial_state', to: 'uploaded', on: 'done', processor: 'UploadBatchInit', inline: true },
    validate_file: {
      from: 'uploaded',
      to: 'validated',
      on: 'done',
      processor: 'UploadBatchValidation',
      ensure: 'valid',
    },
    start_extraction: { from: 'validated', to: 'extracting', on: 'claim' },
    start_processing: {
      from: 'extracting',
      to: 'processing',
      on: 'done',
      processor: 'UploadBatchExtraction',
      ensure: 'extracted',
    },
    complete_batch: {
      from: 'processing',
      to: 'completed',
      on: 'children',
      processor: 'UploadBatchCompletion',
      when: 'noneFailed',
    },
    fail_batch: { from: 'processing', to: 'failed', on: 'children', when: 'allFailed', assign: 'recordFailure' },
    partial_completion: {
      from: 'processing',
      to: 'partially_completed',
      on: 'children',
      processor: 'UploadBatchPartialCompletion',
    },
    fail: {
      from: ['initial_state', 'uploaded', 'extracting', 'processing'],
      to: 'failed',
      on: 'fail',
      assign: 'recordFailure',
    },
    mark_failed: {
      from: ['uploaded', 'validated', 'extracting', 'processing'],
      to: 'failed',
      on: 'action',
      assign: 'recordFailure',
    },
    retry_batch: { from: 'failed', to: 'uploaded', on: 'action', when: 'retryable', assign: 'reset' },
    retry_failed_items: {
      from: 'partially_completed',
      to: 'processing',
      on: 'action',
      processor: 'UploadBatchRetryFailedItems',
    },
    retry_failed: { from: 'partially_completed', to: 'partially_completed', on: 'fail' },
  },
  labels: ['owner'],
  policies: {
    UploadBatchExtraction: { timeoutMs: 3_600_000, concurrency: 4, concurrencyPer: { label: 'owner', max: 1 } },
  },
})

const ingestJob = defineMachine({
  name: 'ingest_job',
  version: 1,
  parent: 'ingest_batch',
  initial: ['pending', 'failed'],
  settled: ['completed', 'failed', 'deleted'],
  final: ['completed', 'deleted'],
  states: {
    pending: 'Not begun.',
    held: { purpose: 'Its collection is held.', holdable: false },
    estimating: 'Its size is asked for.',
    downloading: 'Its files are fetched.',
    recording: 'The inventory is told.',
    completed: 'Done.',
    failed: 'A person must look.',
    deleted: 'Given up.',
  },
  transitions: {
    hold: { from: 'pending', to: 'held', on: 'done', when: 'isHeld' },
    begin: { from: 'pending', to: 'estimating', on: 'done' },
    release: { from: 'held', to: 'pending', on: 'action' },
    estimate: { from: 'estimating', to: 'downloading', on: 'done', processor: 'estimate' },
    download: { from: 'downloading', to: 'recording', on: 'done', processor: 'download' },
    record: { from: 'recording', to: 'completed', on: 'done', processor: 'record' },
    fail: { from: ['estimating', 'downloading', 'recording'], to: 'failed', on: 'fail' },
    resume_recording: { from: 'failed', to: 'recording', on: 'action', action: 'resume', when: 'hasFiles' },
    resume_downloading: { from: 'failed', to: 'downloading', on: 'action', action: 'resume', when: 'hasSize' },
    resume_estimating: { from: 'failed', to: 'estimating', on: 'action', action: 'resume' },
    delete: { from: ['held', 'failed'], to: 'deleted', on: 'action', role: 'admin' },
  },
  respawn: 'resume_estimating',
})

for (const machine of [chunk, job, upload, uploadBatch, ingestJob] as readonly Machine[]) {
  test(`${machine.name} is sound`, () => {
    assert.deepEqual(checkMachine(machine), [])
    assertMachine(machine)
  })
}
