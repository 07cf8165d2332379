import { join } from 'node:path'
import { sleep } from '../../src/clock.ts'
import { SluiceError } from '../../src/errors.ts'
import type { Stage } from '../../src/testing/simulation/index.ts'
import { Clerk } from '../../workflows/upload/desk/clerk.ts'
import type { Desk } from '../../workflows/upload/desk/desk.ts'
import { type PlacedItem, placesOf } from '../../workflows/upload/desk/places.ts'
import type { Cursor } from '../../workflows/upload/files/file-fault.ts'
import { defaultUploadLimits } from '../../workflows/upload/settings.ts'

/**
 * The desk of one process without its thread: the real clerk, the real files and the real catalogue, which all processes share. Questions take
 * time, answers are lost, and the process dies between what the catalogue has written and what the store is told of it.
 */
export class SimulatedDesk implements Desk {
  readonly clerk: Clerk
  readonly #stage: Stage
  /** How often a question is not answered, on a day with errors. */
  readonly #lossRate: number

  constructor(stage: Stage, folder: string, catalogue: string, lossRate: number) {
    this.#stage = stage
    this.#lossRate = lossRate
    const { itemBytesMax, depthMax } = defaultUploadLimits
    const settings = { folder, catalogue, textIndex: false, itemBytesMax, depthMax }
    this.clerk = new Clerk(
      settings,
      (sha256) => join(folder, sha256),
      () => stage.clock.now(),
    )
  }

  check(sha256: string) {
    return this.#ask(() => {
      const checking = this.clerk.check(sha256)
      try {
        while (checking.step()) {}
        return checking.result()
      } finally {
        checking.close()
      }
    })
  }

  elements(sha256: string, cursor: Cursor | null, limit: number) {
    return this.#ask(() => {
      while (this.clerk.catchUp(sha256, cursor)) {}
      const group = this.clerk.elements(sha256, cursor, limit)
      return { ...group, fault: group.fault?.message ?? null }
    })
  }

  numberOf(sha256: string) {
    return this.#ask(() => this.clerk.catalogue.fileNumber(sha256))
  }

  load(items: readonly PlacedItem[]) {
    return this.#ask(() => this.clerk.load(placesOf(items)))
  }

  compare(items: readonly PlacedItem[]) {
    return this.#ask(() => this.clerk.compare(placesOf(items)))
  }

  known(items: readonly PlacedItem[]) {
    return this.#ask(() => this.clerk.known(placesOf(items)))
  }

  index(items: readonly PlacedItem[]) {
    return this.#ask(() => this.clerk.index(placesOf(items)))
  }

  unresolved(batch: number) {
    return this.#ask(() => this.clerk.catalogue.unresolved(batch))
  }

  async stop(): Promise<void> {}

  async #ask<Answer>(work: () => Answer): Promise<Answer> {
    const { random, clock, faults, crash } = this.#stage
    const { rates } = faults
    if (random.chance(0.3)) await sleep(clock, random.between(1, 60))
    if (rates.error > 0 && random.chance(this.#lossRate)) throw lostThread()
    this.clerk.begin()
    const answer = work()
    if (rates.crash > 0 && random.chance(0.004)) {
      faults.count('crash')
      await crash()
    }
    if (rates.error > 0 && random.chance(this.#lossRate)) throw lostThread()
    if (faults.hangs()) await sleep(clock, 3_000)
    else if (random.chance(0.2)) await sleep(clock, random.between(1, 60))
    return answer
  }
}

function lostThread(): SluiceError {
  return new SluiceError('internal', 'The thread of the upload family ended.')
}
