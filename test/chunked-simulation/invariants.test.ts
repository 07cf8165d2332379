import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { atRest, badHistories, claimed, completed, gateClaimed, item, succeed } from './bad-histories.ts'
import { forReducer } from './book.ts'
import { ToldHistory } from './told-history.ts'

describe('the checker of the chunked family', () => {
  for (const [title, expected, tell] of badHistories) {
    test(`finds: ${title}`, () => {
      // One bad move may break several promises: the first one that is named must be the one that the case is about.
      assert.match(tell(new ToldHistory())[0] ?? 'nothing', expected)
    })
  }

  test('has nothing to say against a history that is as it should be', () => {
    const history = new ToldHistory()
    const job = history.job('in_progress', {}, { tells: { completed: true, failed: true } })
    const first = history.chunk(job, 'one', 'ready', {}, { source: job.id, ordinal: 0 })
    history.move(first, 'claim', claimed)
    history.move(first, 'poll', ['poll_later in_progress → poll_waiting'], {
      data: { pollAttempts: 1, nextPollTimestamp: 1_100, pollDeadline: 1_200 },
    })
    history.move(first, 'claim', ['poll_again poll_waiting → ready', ...claimed], { at: 1_100 })
    history.move(first, 'retry', ['try_again in_progress → error'], { data: { errorCount: 1 } })
    history.move(first, 'claim', ['start error → in_progress'])
    succeed(history, first.id, ['three'])
    const third = history.chunk(job, 'three', 'gate_waiting', { data: [item(0, 0)] }, { source: first.id, ordinal: 0 })
    history.move(first, 'done', completed)
    history.move(job, 'children', ['advance in_progress → in_progress'], {
      data: { currentStep: 'three' },
      move: { opens: ['three'] },
    })
    history.move(third, 'claim', gateClaimed)
    succeed(history, third.id, [forReducer])
    history.move(third, 'done', completed, { data: { output: [item(1, 0)] } })
    history.move(job, 'children', ['finalize in_progress → finalize'], { data: { currentStep: 'reduce' } })
    const reducer = history.chunk(job, 'reduce', 'ready', { kind: 'REDUCER' }, { source: job.id, ordinal: 1 })
    history.move(reducer, 'claim', claimed)
    history.move(reducer, 'done', completed, { data: { report: [item(1, 0)] } })
    const request = {
      edge: 'notify_completed',
      actor: null,
      role: null,
      reason: null,
      requestId: null,
      input: null,
      read: null,
    }
    history.move(job, 'children', ['report finalize → completed'], {
      data: { report: [item(1, 0)], currentStep: null },
      move: { request },
    })
    history.book.told({ id: job.id, generation: 0, state: 'completed' }, `${job.id}:0:notify_completed`)
    assert.deepEqual(atRest(history), [])
  })
})
