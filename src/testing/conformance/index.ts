import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { commit } from './commit.ts'
import { create } from './create.ts'
import { history } from './history.ts'
import { holds } from './holds.ts'
import { lanes } from './lanes.ts'
import { lease } from './lease.ts'
import { lines } from './lines.ts'
import { listing } from './listing.ts'
import { pools } from './pools.ts'
import { processes } from './processes.ts'
import { proof } from './proof.ts'
import { retention } from './retention.ts'
import { signals } from './signals.ts'
import { spawning } from './spawning.ts'
import type { Chapter, Open, Tell } from './story.ts'
import { Story } from './story.ts'
import { suspects } from './suspects.ts'
import { time } from './time.ts'
import { waiting } from './waiting.ts'

export type { DifferentialOptions } from './differential.ts'
export { differential } from './differential.ts'
export type { Harness, Open, OpenOptions } from './story.ts'

/** One chapter for each heading of the store contract, docs/concepts/store.md. */
const chapters: Readonly<Record<string, Chapter>> = {
  Proof: proof,
  Commit: commit,
  Lease: lease,
  'Attempts and suspects': suspects,
  'What waits, and in which order': waiting,
  'Lanes and wake-ups': lanes,
  Lines: lines,
  Spawning: spawning,
  Holds: holds,
  Pools: pools,
  Retention: retention,
  'History and feed': history,
  Time: time,
  Signals: signals,
  'Several processes': processes,
  'Creating and defining': create,
  'Getting and listing': listing,
}

/** No test takes nearly as long; one that hangs must not hang the whole run. */
const timeout = 60_000

/**
 * Registers the whole suite for one store. `exceptions` names tests that this store does not pass, as `heading: title`, each
 * with its reason: they are skipped and shown. One that names no test is itself a failure, so that the list stays true.
 */
export function conformance(name: string, open: Open, exceptions: Readonly<Record<string, string>> = {}): void {
  describe(`${name} store`, () => {
    const told = new Set<string>()
    for (const [heading, chapter] of Object.entries(chapters)) {
      describe(heading, () => {
        const tell: Tell = (title, body, limits) => {
          const full = `${heading}: ${title}`
          told.add(full)
          test(title, { timeout, skip: exceptions[full] ?? false }, async () => {
            const story = await Story.begin(open, limits)
            try {
              await body(story)
            } finally {
              await story.harness.close()
            }
          })
        }
        chapter(tell)
      })
    }
    describe('Random work', () => {
      test('keeps every invariant after every step', { timeout }, async () => {
        // fast-check is loaded only where it is used: the rest of the test kit does without.
        const { checkInvariants } = await import('./property.ts')
        await checkInvariants(open)
      })
    })
    test('every exception names a test', () => {
      assert.deepEqual(
        Object.keys(exceptions).filter((exception) => !told.has(exception)),
        [],
      )
    })
  })
}
