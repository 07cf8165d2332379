import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JobView } from 'sluice/chunked'
import { type Circumstances, exitOfState, reportOf, resultOf } from './report.ts'

const step = { kind: 'step', gated: false, phase: 'complete', errors: 0, warnings: 0, chunks: {}, since: null } as const
const view: JobView = {
  id: 7,
  definition: 'nightly',
  version: 2,
  state: 'completed',
  generation: 0,
  parameters: {},
  attachments: [],
  startedBy: 'ada',
  collection: null,
  createTime: 1_000,
  startTime: 2_000,
  endTime: 12_000,
  currentStep: null,
  percent: 100,
  trouble: null,
  etaMs: 0,
  chunks: { total: 11, settled: 11, failed: 0 },
  records: 1_000,
  recordsPerSecond: 100,
  errorCount: 0,
  warningCount: 0,
  errorMessage: null,
  reasons: {},
  steps: [
    {
      ...step,
      ...{ id: 'work', total: 11, settled: 11, failed: 0, records: 1_000 },
      ...{ ratePerSecond: null, etaMs: 0, percent: 100, weight: null },
    },
  ],
  report: null,
  rerun: null,
  handler: null,
  sentence: '',
  purged: false,
}
const place = { jobs: ['./my jobs.ts'] }
const fresh = { existing: false, workedMs: 5_000, recordsBefore: 0, samples: [], peakRssMiB: 100 }
const told = (changes: Partial<JobView>, samples: Circumstances['samples'] = []) => {
  const changed = { ...view, ...changes }
  return reportOf(changed, resultOf(changed, { ...fresh, samples }), place, false)
}

test('the exit status tells the state', () => {
  assert.deepEqual(['completed', 'cancelled', 'failed', 'in_progress', 'queued'].map(exitOfState), [0, 1, 2, 2, 2])
})

test('the speed is that of this command: what was done before it does not count', () => {
  assert.equal(resultOf(view, fresh).recordsPerSecond, 200)
  assert.equal(resultOf(view, { ...fresh, recordsBefore: 900 }).recordsPerSecond, 20)
  assert.deepEqual(resultOf(view, { ...fresh, workedMs: null }).recordsPerSecond, 100)
  assert.equal(resultOf({ ...view, startTime: null, endTime: null }, { ...fresh, workedMs: null }).seconds, 0)
})

test('a completed job has nothing to do next', () => {
  assert.equal(
    told({}),
    'Job 7 (nightly@2) is completed.\nIt took 5.0 s, 200 records/s and at most 100 MiB of memory.\n\n' +
      '  step  chunks  failed  records  errors  warnings\n  work      11       0    1,000       0         0\n',
  )
})

test('a failed job says why, and the commands work where they are typed', () => {
  const text = told({
    state: 'failed',
    errorMessage: '2 of 11 chunks failed: bad \x1b[2Jnumber',
    chunks: { total: 11, settled: 11, failed: 2 },
    reasons: { 'bad number': 1, other: 5 },
    generation: 1,
    handler: { key: 'k', at: 1, error: 'refused' },
  })
  assert.match(text, /\nWhy it failed\n {2}2 of 11 chunks failed: bad \\x1b\[2Jnumber\n/)
  assert.match(text, /\nWhy chunks failed\n {2}5 {2}other\n {2}1 {2}bad number\n/)
  assert.match(text, /It was run again once\.\n {2}Its handler failed in all attempts: refused\n/)
  assert.match(text, /sluice job chunks 7 --state failed +to see/)
  assert.match(text, /sluice job rerun 7 --jobs '\.\/my jobs\.ts' +to run/)
})

test('a reason comes with an example, and programs have it, too', () => {
  const sample = { chunk: 9, step: 'work', reason: 'bad number', message: 'It was 3.' }
  const text = told({ state: 'failed', reasons: { 'bad number': 2, other: 1 } }, [sample])
  assert.match(text, /\n {2}2 {2}bad number {2}e\.g\. chunk 9: It was 3\.\n {2}1 {2}other\n/)
  assert.deepEqual(resultOf(view, { ...fresh, samples: [sample] }).failures, [sample])
})

test('tolerated failures are told of', () => {
  const text = told({ chunks: { total: 11, settled: 11, failed: 2 } })
  assert.match(text, /2 failed chunks are within what the job tolerates\./)
})
