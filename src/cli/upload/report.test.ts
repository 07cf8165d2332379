import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { UploadBatchView } from 'sluice/upload'
import { stepOf } from './finish.ts'
import { commandFor, exitOfState, refusalResult, reportOf, resultOf } from './report.ts'

const view: UploadBatchView = {
  id: 12,
  state: 'partially_completed',
  fileName: 'items.json',
  fileSize: 440_000_000,
  contentType: 'application/json',
  fileMd5Hash: 'd41d8cd98f00b204e9800998ecf8427e',
  sha256: 'e3b0',
  uploadedBy: 'ada',
  collection: null,
  uploadedAt: 1_700_000_000_000,
  processingStartedAt: 1_700_000_001_000,
  processingCompletedAt: 1_700_000_020_000,
  estimatedCompletionTime: null,
  totalItemsInFile: 1_000_000,
  itemsProcessed: 979_900,
  itemsErrored: 10_100,
  itemsSkipped: 10_000,
  itemsPending: 0,
  percent: 100,
  ratePerSecond: null,
  trouble: null,
  etaMs: null,
  reasons: {},
  resultSummary: null,
  errorSummary: {
    total: 10_100,
    byReason: [
      {
        reason: 'missing id',
        count: 10_000,
        samples: [{ itemIndex: 17, hnId: null, message: 'The item has no id.\x1b[2J' }],
      },
      { reason: 'null', count: 100, samples: [] },
    ],
  },
  failure: null,
  stackTrace: null,
  retryCount: 0,
  lastRetryAt: null,
  itemRetry: null,
  notification: null,
  attention: [],
  retry: null,
  work: null,
  sentence: 'It waits for a person.',
}
const place = {}
const fresh = { existing: false, workedMs: 20_000, peakRssMiB: 180 }

test('the result for programs has exactly the promised fields', () => {
  assert.deepEqual(resultOf(view, fresh), {
    batchId: 12,
    state: 'partially_completed',
    existing: false,
    total: 1_000_000,
    completed: 979_900,
    failed: 10_100,
    skipped: 10_000,
    pending: 0,
    itemsPerSecond: 50_000,
    seconds: 20,
    peakRssMiB: 180,
  })
  const keys = Object.keys(refusalResult('It is too big.', 60))
  assert.deepEqual(keys, [...Object.keys(resultOf(view, fresh)), 'error'])
})

test('of a batch that was there before, the time it took then is told', () => {
  const { seconds, itemsPerSecond } = resultOf(view, { existing: true, workedMs: null, peakRssMiB: 60 })
  assert.deepEqual({ seconds, itemsPerSecond }, { seconds: 20, itemsPerSecond: 50_000 })
  const open = resultOf({ ...view, processingCompletedAt: null }, { existing: true, workedMs: null, peakRssMiB: 60 })
  assert.equal(open.itemsPerSecond, 0)
})

test('the exit status follows the state', () => {
  assert.deepEqual(['completed', 'partially_completed', 'failed', 'processing'].map(exitOfState), [0, 1, 2, 2])
})

test('the report tells counts, reasons with examples, and the commands to go on with', () => {
  assert.equal(
    reportOf(view, resultOf(view, fresh), { ...place, store: 'my store.db' }),
    `Batch 12 (items.json) is partially completed.
It took 20.0 s, 50,000 items/s and at most 180 MiB of memory.

  total      1,000,000
  completed    979,900
  failed        10,100
  skipped       10,000

Why items failed
  10,000  missing id  e.g. item 17: The item has no id.\\x1b[2J
     100  null

What to do next
  sluice upload errors 12 --store 'my store.db'  to see what failed
  sluice upload retry 12 --store 'my store.db'   to try the failed items again
`,
  )
})

test('a failed batch says why, and a completed one only its counts', () => {
  const failure = {
    reason: 'file is empty',
    error: 'It has 0 bytes.',
    processor: null,
    attempt: 1,
    state: 'uploaded',
    failedAt: 0,
    actor: null,
    report: '',
  }
  const failed = { ...view, state: 'failed', itemsErrored: 0, errorSummary: null, failure }
  const text = reportOf(failed, resultOf(failed, fresh), place)
  assert.match(text, /\nWhy it failed\n {2}file is empty: It has 0 bytes\.\n/)
  assert.match(text, /\nWhat to do next\n {2}sluice upload retry 12 {2}to try the whole batch again\n$/)
  assert.equal(resultOf(failed, fresh).error, 'file is empty: It has 0 bytes.')
  const good = { ...view, state: 'completed', itemsErrored: 0, errorSummary: null }
  assert.match(reportOf(good, resultOf(good, fresh), place), /skipped {7}10,000\n$/)
})

test('what people should know besides is noted', () => {
  const resultSummary = {
    total: 1,
    completed: 1,
    failed: 0,
    skipped: 0,
    merged: 1_500,
    unresolvedLinks: 2,
    seconds: 1,
    itemsPerSecond: 1,
  }
  const error = 'The webhook at example.org answered with status 503.'
  const notification = { sent: false, waiting: true, error, attempts: 3, at: 0 }
  const text = reportOf({ ...view, resultSummary, notification }, resultOf(view, fresh), place)
  assert.match(
    text,
    /\nNotes\n {2}1,500 items were newer.*\n {2}2 items name a parent.*\n {2}The notification has not been sent yet after 3 attempts: .*503\. Another/,
  )
  const attention = ['The notification was not sent: it fails. The action notify sends it again.']
  const given = reportOf({ ...view, attention }, resultOf(view, fresh), place)
  assert.match(given, /\nNeeds attention\n {2}The notification was not sent: it fails\..*\n/)
  assert.match(given, /sluice upload notify 12 --notify FILE +to send the notification again\n/)
})

test('a retry is advised only where it can help', () => {
  const action = 'retry_batch'
  const next = (retry: UploadBatchView['retry']) =>
    reportOf({ ...view, state: 'failed', retry }, resultOf(view, fresh), { ...place, folder: '/data' }).split(
      'What to do next\n',
    )[1]
  assert.match(next({ action, refusal: null, instead: null })!, /sluice upload retry 12 --folder \/data/)
  for (const [instead, line] of [
    ['mended_file', /sluice upload run FILE --folder \/data +with a mended file; a retry cannot help: it is empty\n/],
    ['json_content_type', /sluice upload run FILE --content-type application\/json --folder \/data +if it is JSON\n/],
    ['new_batch', /sluice upload run FILE --force --folder \/data +to begin a new batch .* refused: it is empty\n/],
  ] as const) {
    const said = next({ action, refusal: 'it is empty', instead })!
    assert.match(said, line)
    assert.doesNotMatch(said, /upload retry/)
  }
})

test('commands name the place only where it is not the default', () => {
  assert.equal(commandFor(place, 'upload', 'show', '1'), 'sluice upload show 1')
  assert.equal(commandFor({ ...place, folder: '/data' }, 'upload', 'show', '1'), 'sluice upload show 1 --folder /data')
})

test('the states of a batch are phases to wait through', () => {
  const at = (changes: Partial<UploadBatchView>) => stepOf({ ...view, ...changes })
  assert.deepEqual(at({ state: 'initial_state' }), {
    phase: 'validating',
    done: 0,
    total: null,
    unit: 'bytes',
    trouble: null,
  })
  assert.deepEqual(at({ state: 'uploaded', work: { validated: 5, of: 10 } }), {
    phase: 'validating',
    done: 5,
    total: 10,
    unit: 'bytes',
    trouble: null,
  })
  assert.deepEqual(at({ state: 'extracting', work: { extracted: 7, of: 10 } }), {
    phase: 'extracting',
    done: 7,
    total: 1_000_000,
    unit: 'items',
    trouble: null,
  })
  const { phase, done, etaMs } = at({
    state: 'processing',
    itemsProcessed: 5,
    itemsErrored: 1,
    itemsSkipped: 1,
    etaMs: 9,
  })
  assert.deepEqual({ phase, done, etaMs }, { phase: 'processing', done: 7, etaMs: 9 })
})
