import { forReducer } from './book.ts'
import { checkAtRest } from './rest.ts'
import type { ToldHistory } from './told-history.ts'

export const claimed = ['queue ready → queued', 'start queued → in_progress']
export const gateClaimed = ['open_gate gate_waiting → ready', ...claimed]
export const completed = ['complete in_progress → completed']
export const item = (run: number, index: number) => ({ run, index })

/** A history that is as it should be, up to a last move that each case tells in its own way. */
export type Case = readonly [title: string, expected: RegExp, tell: (history: ToldHistory) => readonly string[]]

export const badHistories: readonly Case[] = [
  [
    'a gate opens while a chunk of the step before is open',
    /^A1 gates: The gate of two opened, and chunk 2 of one is in_progress/,
    (history) => {
      const job = history.job()
      history.chunk(job, 'one', 'in_progress')
      history.chunk(job, 'two', 'gate_waiting')
      return history.move(job, 'children', ['advance in_progress → in_progress'], {
        data: { currentStep: 'two' },
        move: { opens: ['two'] },
      })
    },
  ],
  [
    'a gate opens that is not the current step’s',
    /^A1 gates: The gate of three opened, and the current step is two/,
    (history) => {
      const job = history.job()
      history.chunk(job, 'one', 'completed')
      history.chunk(job, 'two', 'gate_waiting')
      return history.move(job, 'children', ['advance in_progress → in_progress'], {
        data: { currentStep: 'two' },
        move: { opens: ['three'] },
      })
    },
  ],
  [
    'the current step moves, and its gate stays shut',
    /^A1 gates: Its step is two, whose gate was not opened/,
    (history) => {
      const job = history.job()
      history.chunk(job, 'one', 'completed')
      history.chunk(job, 'two', 'gate_waiting')
      return history.move(job, 'children', ['advance in_progress → in_progress'], { data: { currentStep: 'two' } })
    },
  ],
  [
    'the current step goes back',
    /^A1 gates: Its step went from two back to one/,
    (history) => {
      const job = history.job('in_progress', { currentStep: 'two' })
      history.chunk(job, 'one', 'failed')
      return history.move(job, 'children', ['advance in_progress → in_progress'], { data: { currentStep: 'one' } })
    },
  ],
  [
    'a chunk behind a gate is started before its step is the current one',
    /^A1 gates: It was started, and the current step is one/,
    (history) => {
      const job = history.job()
      history.chunk(job, 'one', 'completed')
      return history.move(history.chunk(job, 'two', 'gate_waiting'), 'claim', gateClaimed)
    },
  ],
  [
    'a rerun leaves later gates open',
    /^A1 gates: It runs again from one, and the gate of two is not shut/,
    (history) => {
      const job = history.job('failed', { currentStep: 'three' })
      history.chunk(job, 'one', 'ready')
      return history.move(job, 'action', ['rerun failed → in_progress'], {
        generation: 1,
        data: { currentStep: 'one' },
        move: { shuts: ['three'] },
      })
    },
  ],
  [
    'a rerun goes on with a step whose gate was never opened',
    /^A1 gates: Its step is two, whose gate was not opened/,
    (history) => {
      const job = history.job('failed')
      history.chunk(job, 'one', 'completed')
      history.chunk(job, 'two', 'gate_waiting')
      return history.move(job, 'action', ['rerun failed → in_progress'], {
        generation: 1,
        data: { currentStep: 'two' },
        move: { shuts: ['three'] },
      })
    },
  ],
  [
    'a chunk is queued and forgotten',
    /^A2 queue: It was queued, and not started/,
    (history) => history.move(history.chunk(history.job(), 'one', 'ready'), 'claim', [claimed[0]!]),
  ],
  [
    'a chunk is looked at before its time',
    /^A3 polls: It was looked at again at 1000, before 1001/,
    (history) => {
      const chunk = history.chunk(history.job(), 'one', 'poll_waiting', { nextPollTimestamp: 1_001 })
      return history.move(chunk, 'claim', ['poll_again poll_waiting → ready', ...claimed])
    },
  ],
  [
    'a poll counts as an error',
    /^A3 polls: A poll raised its errors from 0 to 1/,
    (history) =>
      history.move(
        history.chunk(history.job(), 'one', 'in_progress'),
        'poll',
        ['poll_later in_progress → poll_waiting'],
        {
          data: { errorCount: 1, pollAttempts: 1, nextPollTimestamp: 2_000, pollDeadline: 3_000 },
        },
      ),
  ],
  [
    'a chunk polls beyond its deadline',
    /^A3 polls: Its next look is at 2000, and its deadline is 1999/,
    (history) =>
      history.move(
        history.chunk(history.job(), 'one', 'in_progress'),
        'poll',
        ['poll_later in_progress → poll_waiting'],
        {
          data: { pollAttempts: 1, nextPollTimestamp: 2_000, pollDeadline: 1_999 },
        },
      ),
  ],
  [
    'a deadline is put off',
    /^A3 polls: Its deadline went from 2000 to 3000/,
    (history) => {
      const data = { pollAttempts: 1, nextPollTimestamp: 1_000, pollDeadline: 2_000 }
      const chunk = history.chunk(history.job(), 'one', 'in_progress', data)
      return history.move(chunk, 'poll', ['poll_later in_progress → poll_waiting'], {
        data: { pollAttempts: 2, nextPollTimestamp: 1_500, pollDeadline: 3_000 },
      })
    },
  ],
  [
    'an error is not counted',
    /^A4 errors: Its errors went from 0 to 0/,
    (history) =>
      history.move(history.chunk(history.job(), 'one', 'in_progress'), 'retry', ['try_again in_progress → error'], {
        data: { errorCount: 0 },
      }),
  ],
  [
    'a chunk fails before its attempts are spent',
    /^A4 errors: It failed \(thrown\) at attempt 2 of 3/,
    (history) => {
      const job = history.job()
      const chunk = history.chunk(job, 'one', 'in_progress', {}, { attempts: 2 })
      return history.move(chunk, 'fail', ['fail in_progress → failed'], {
        data: { errorCount: 1 },
        move: { reason: 'thrown' },
      })
    },
  ],
  [
    'a chunk is tried again after its last attempt',
    /^A4 errors: It is tried again after 3 of 3 attempts/,
    (history) => {
      const chunk = history.chunk(history.job(), 'one', 'in_progress', {}, { attempts: 3 })
      return history.move(chunk, 'retry', ['try_again in_progress → error'], { data: { errorCount: 1 } })
    },
  ],
  [
    'an output appears twice',
    /^A5 outputs: It brought forth two: 0\.0,0\.0; the runs that succeeded gave out two: 0\.0/,
    (history) => {
      const job = history.job()
      const chunk = history.chunk(job, 'one', 'in_progress')
      succeed(history, chunk.id, ['two'])
      for (const ordinal of [0, 1])
        history.chunk(job, 'two', 'gate_waiting', { data: item(0, 0) }, { source: chunk.id, ordinal })
      return history.move(chunk, 'done', completed)
    },
  ],
  [
    'an output is lost',
    /^A5 outputs: It brought forth \(none\); the runs that succeeded gave out → reducer: 0\.0/,
    (history) => {
      const chunk = history.chunk(history.job(), 'three', 'in_progress')
      succeed(history, chunk.id, [forReducer])
      return history.move(chunk, 'done', completed)
    },
  ],
  [
    'outputs of a run that did not succeed appear',
    /^A5 outputs: It brought forth two: 0\.0; the runs that succeeded gave out nothing, for there is none/,
    (history) => {
      const job = history.job()
      const chunk = history.chunk(job, 'one', 'in_progress')
      history.book.give(history.book.begin(chunk.id, 'key', null), 'two', item(0, 0))
      history.chunk(job, 'two', 'gate_waiting', { data: item(0, 0) }, { source: chunk.id, ordinal: 0 })
      return history.move(chunk, 'done', completed)
    },
  ],
  [
    'outputs appear before their chunk is completed',
    /^A5 outputs: It is there, and chunk 2, which gave it out, is error/,
    (history) => {
      const job = history.job()
      const chunk = history.chunk(job, 'one', 'error')
      return history.row(history.chunk(job, 'two', 'gate_waiting', {}, { source: chunk.id, ordinal: 0 }))
    },
  ],
  [
    'a chunk is removed while its job runs',
    /^A6 retention: It is being removed, and its job is in_progress/,
    (history) => {
      const job = history.job()
      const chunk = history.chunk(job, 'one', 'completed')
      history.model.purging.add(job.id)
      return history.row(chunk)
    },
  ],
  [
    'a job completes with an open chunk',
    /^A7 outcome: It took complete; .*the first open step is two/,
    (history) => {
      const job = history.job('in_progress', {}, { reducer: null })
      history.chunk(job, 'two', 'error')
      return history.move(job, 'children', ['complete in_progress → completed'])
    },
  ],
  [
    'a job completes in spite of a failure',
    /^A7 outcome: It took complete; failures are beyond {"failures":0}/,
    (history) => {
      const job = history.job('in_progress', {}, { reducer: null })
      history.chunk(job, 'one', 'failed')
      return history.move(job, 'children', ['complete in_progress → completed'])
    },
  ],
  [
    'a job fails for what it tolerates',
    /^A7 outcome: It took fail_on_chunks; failures are not beyond {"percent":50}/,
    (history) => {
      const job = history.job('in_progress', {}, { tolerance: { percent: 50 } })
      history.chunk(job, 'one', 'failed')
      history.chunk(job, 'one', 'completed')
      return history.move(job, 'children', ['fail_on_chunks in_progress → failed'])
    },
  ],
  [
    'a chunk is open under a completed job',
    /^A7 outcome: It is ready, and its job is completed/,
    (history) => {
      const job = history.job('completed')
      return history.row(history.chunk(job, 'one', 'ready'))
    },
  ],
  [
    'a job reduces twice in one generation',
    /^A8 reducer: It reduces twice in generation 0/,
    (history) => {
      const job = history.job('errored')
      history.chunk(job, 'one', 'completed')
      history.move(job, 'children', ['finalize errored → finalize'])
      job.state = 'errored'
      return history.move(job, 'children', ['finalize errored → finalize'])
    },
  ],
  [
    'a job has two reducers',
    /^A8 reducer: It has 2 REDUCER chunks/,
    (history) => {
      const job = history.job('finalize')
      history.chunk(job, 'reduce', 'completed', { kind: 'REDUCER', report: 1 })
      history.chunk(job, 'reduce', 'in_progress', { kind: 'REDUCER' })
      return history.move(job, 'children', ['report finalize → completed'], { data: { report: 1 } })
    },
  ],
  [
    'a reducer takes something in twice',
    /^A8 reducer: It took in .*0,"index":0},{"run":0,"index":0}.*; the last step gave out \[{"run":0,"index":0}\]/,
    (history) => {
      const job = history.job('finalize', { currentStep: 'reduce' })
      history.chunk(job, 'three', 'completed', { output: [item(0, 0)] }, { ordinal: 0 })
      const reducer = history.chunk(job, 'reduce', 'in_progress', { kind: 'REDUCER' })
      return history.move(reducer, 'done', completed, { data: { report: [item(0, 0), item(0, 0)] } })
    },
  ],
  [
    'a reducer leaves a chunk out',
    /^A8 reducer: It took in \[\]; the last step gave out \[{"run":0,"index":0}\]/,
    (history) => {
      const job = history.job('finalize', { currentStep: 'reduce' })
      history.chunk(job, 'three', 'completed', { output: [item(0, 0)] }, { ordinal: 0 })
      const reducer = history.chunk(job, 'reduce', 'in_progress', { kind: 'REDUCER' })
      return history.move(reducer, 'done', completed, { data: { report: [] } })
    },
  ],
  [
    'a job has another report than its reducer made',
    /^A8 reducer: Its report is 2; the reducer's is 1/,
    (history) => {
      const job = history.job('finalize')
      history.chunk(job, 'reduce', 'completed', { kind: 'REDUCER', report: 1 })
      return history.move(job, 'children', ['report finalize → completed'], { data: { report: 2 } })
    },
  ],
  [
    'a chunk is started under a failed job',
    /^A9 ended: It was started, and its job is failed/,
    (history) => history.move(history.chunk(history.job('failed'), 'one', 'ready'), 'claim', claimed),
  ],
  [
    'a chunk of a cancelled job is moved by whoever had it',
    /^A9 ended: It was moved by its lease after its job was cancelled/,
    (history) => {
      const chunk = history.chunk(history.job('cancelled'), 'one', 'in_progress')
      succeed(history, chunk.id, [])
      return history.move(chunk, 'done', completed)
    },
  ],
  [
    'an errored job is in progress again',
    /^A9 ended: It was errored, and is in progress/,
    (history) => history.move(history.job('errored'), 'children', ['mend errored → in_progress']),
  ],
  [
    'more chunks of a step run than may',
    /^A10 limits: 2 of told@1\/one run at once; 1 may/,
    (history) => {
      const job = history.job()
      history.chunk(job, 'one', 'in_progress', { limit: 'told@1/one' }, { owner: 1 })
      return history.row(history.chunk(job, 'one', 'in_progress', { limit: 'told@1/one' }, { owner: 2 }))
    },
  ],
  [
    'a job ends and asks for no handler',
    /^A11 handlers: It entered cancelled and asked for nothing instead of notify_cancelled/,
    (history) => {
      const job = history.job('in_progress', {}, { tells: { completed: false, failed: true } })
      return history.move(job, 'action', ['cancel in_progress → cancelled'])
    },
  ],
  [
    'an end is told with another key',
    /^A11 handlers: The end of job 7 was told with the key 7:1:x instead of 7:1:notify_failed/,
    (history) => {
      history.book.told({ id: 7, generation: 1, state: 'failed' }, '7:1:x')
      return history.complaints
    },
  ],
  [
    'an end is told to nobody',
    /^A11 handlers: The end of job 1 as completed in generation 0 was told to nobody/,
    (history) => {
      const job = history.job('finalize', {}, { tells: { completed: true, failed: false } })
      history.chunk(job, 'reduce', 'completed', { kind: 'REDUCER', report: null })
      const request = {
        edge: 'notify_completed',
        actor: null,
        role: null,
        reason: null,
        requestId: null,
        input: null,
        read: null,
      }
      history.move(job, 'children', ['report finalize → completed'], { move: { request } })
      return atRest(history)
    },
  ],
  [
    'a gate is never opened',
    /^A7 outcome: chunked_job 1: It is in_progress, 1 chunks of two wait at its gate, and nobody will open it/,
    (history) => {
      const job = history.job()
      history.chunk(job, 'one', 'completed')
      history.chunk(job, 'two', 'gate_waiting')
      return atRest(history)
    },
  ],
  [
    'a job stays behind when all its chunks have ended',
    /^A7 outcome: chunked_job 1: It is in_progress, and no chunk of it is open/,
    (history) => {
      const job = history.job()
      history.chunk(job, 'one', 'completed')
      history.row(job, { wait: { for: 'children', at: null } })
      return atRest(history)
    },
  ],
]

/** A run of this chunk that gave one thing to each of these, and succeeded. */
export function succeed({ book }: ToldHistory, chunk: number, lanes: readonly string[]): void {
  const run = book.begin(chunk, `key of ${chunk}`, null)
  for (const lane of lanes) book.give(run, lane, item(run.id, 0))
  run.hasSucceeded = true
}

export function atRest(history: ToldHistory): readonly string[] {
  checkAtRest(history.model, history.book, (invariant, message) => history.complaints.push(`${invariant}: ${message}`))
  return history.complaints
}
