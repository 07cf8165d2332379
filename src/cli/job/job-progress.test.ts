import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JobView } from 'sluice/chunked'
import type { Clock } from '../../clock.ts'
import type { Terminal } from '../terminal.ts'
import { JobProgress } from './job-progress.ts'

const sentence = 'chunked_job 7 waits for its children: 4 wait for room in work: 2 of 2 are taken (3, 4).'

function viewOf(settled: number, state = 'in_progress'): JobView {
  const step = { kind: 'step', gated: false, failed: 0, records: 0, errors: 0, warnings: 0, chunks: {} } as const
  const unknown = { since: null, ratePerSecond: null, etaMs: null, percent: 0, weight: null }
  const phase = settled === 100 ? 'complete' : 'running'
  return {
    ...{ id: 7, definition: 'sum', version: 2, state, percent: settled, sentence },
    chunks: { total: 100, settled, failed: 0 },
    steps: [
      { ...step, ...unknown, id: 'work', phase, total: 100, settled },
      { ...step, ...unknown, id: 'end', phase: 'waiting', total: 0, settled: 0 },
    ],
  } as unknown as JobView
}

function stage(isTty: boolean) {
  const said: string[] = []
  let now = 0
  const terminal: Terminal = {
    isTty,
    columns: 80,
    isRead: isTty,
    out: () => assert.fail(),
    err: (text) => said.push(text),
  }
  const progress = new JobProgress({ terminal, clock: { now: () => now } as Clock })
  const at = (time: number, view: JobView, waitsFor: string | null = null) => {
    now = time
    progress.show(view, waitsFor)
  }
  return { said, progress, at }
}

test('elsewhere than on a terminal a plain line comes when something has changed, and every few seconds', () => {
  const { said, at } = stage(false)
  for (let time = 0; time < 12_000; time += 100) at(time, viewOf(Math.floor(time / 200)))
  at(12_000, viewOf(100))
  at(12_100, viewOf(100))
  at(12_200, viewOf(100, 'completed'), 'and its handler is called')
  assert.deepEqual(
    said.map((line) => line.replace(/, \d+ chunks\/s.*/, '')),
    [
      'Job 7 (sum@2) is in progress.\n',
      '  work running: 0 %, 0 of 100 chunks\n',
      ...[10, 20, 30, 40, 50].map((done) => `  work running: ${done} %, ${done} of 100 chunks\n`),
      '  work complete: 100 chunks\n',
      'Job 7 (sum@2) is completed, and its handler is called.\n',
    ],
  )
})

test('on a terminal there is a line for the job and one for each step', () => {
  const { said, progress, at } = stage(true)
  at(0, viewOf(50))
  const lines = said
    .join('')
    .replaceAll(/\p{Cc}\[\d*[AJK]|\r/gu, '')
    .split('\n')
  assert.deepEqual(lines, [
    'Job 7 (sum@2) is in progress, 50 %.',
    `  work  ${'█'.repeat(5)}${'░'.repeat(5)}  50 %, 50 of 100 chunks`,
    `  end   ${'░'.repeat(10)}  waiting`,
    '',
  ])
  progress.clear()
  assert.equal(said.at(-1), '\r\x1b[3A\x1b[0J')
})

test('a job in which nothing has settled for long says what its chunks wait for, until one settles', () => {
  const { said, at } = stage(false)
  const told = () => said.filter((line) => line === `  ${sentence}\n`).length
  for (let time = 0; time < 10_000; time += 500) at(time, viewOf(1))
  assert.equal(told(), 0)
  at(10_000, viewOf(1))
  at(10_500, viewOf(1))
  assert.equal(told(), 1)
  for (let time = 11_000; time < 60_000; time += 500) at(time, viewOf(1))
  const later = told()
  assert.ok(later > 5 && later < 25, `told ${later} times`)
  for (let time = 60_000; time < 69_000; time += 500) at(time, viewOf(2))
  assert.equal(told(), later)

  const painted = stage(true)
  painted.at(0, viewOf(1))
  painted.at(11_000, viewOf(1))
  assert.match(painted.said.at(-1) ?? '', /chunked_job 7 waits for its children/)
  painted.at(12_000, viewOf(2))
  assert.doesNotMatch(painted.said.at(-1) ?? '', /waits for its children/)
})
