import type { Logger } from 'pino'
import { type Clock, sleep } from '../clock.ts'
import { isSluiceError, messageOf } from '../errors.ts'

const pauseMsFirst = 50
const pauseMsMax = 1_000

/**
 * Repeats the first call to a store until it is answered, for at most `waitMs`: a database server that starts together with this process needs
 * a moment. What is wrong with more than the moment (an address, a password) is told at once.
 */
export async function whenStoreAnswers<Result>(
  call: () => Promise<Result>,
  clock: Clock,
  log: Pick<Logger, 'warn'>,
  waitMs: number,
): Promise<Result> {
  const deadline = clock.now() + waitMs
  for (let pauseMs = pauseMsFirst; ; pauseMs = Math.min(pauseMsMax, pauseMs * 2)) {
    try {
      return await call()
    } catch (error) {
      if (!isPassing(error) || clock.now() + pauseMs > deadline) throw error
      if (pauseMs === pauseMsFirst) log.warn({ error: messageOf(error), waitMs }, 'the store does not answer yet')
      await sleep(clock, pauseMs)
    }
  }
}

/** The store says so: nothing is wrong with what was asked. */
function isPassing(error: unknown): boolean {
  return isSluiceError(error) && error.detail.passing === true
}
