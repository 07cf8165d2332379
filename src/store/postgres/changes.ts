import type { EntityId } from '../../entity.ts'

/**
 * What one operation changed, as runs: so many entities in a row made the move of this number. 0: they were born. -1: they
 * were staged and published; some of the row may have been dropped before.
 */
export type Change = [seq: number, first: EntityId, count: number]

/** What is told to those who follow the feed. */
export class Changes {
  #changes: Change[] = []

  moved(entity: EntityId, seq: number): void {
    const last = this.#changes.at(-1)
    if (last && last[0] === seq && last[1] + last[2] === entity) last[2] += 1
    else this.#changes.push([seq, entity, 1])
  }

  born(entity: EntityId): void {
    this.moved(entity, 0)
  }

  /** Children that a source had staged are seen from now on: so many ids in a row, less those that were dropped. */
  published(first: EntityId, count: number): void {
    this.#changes.push([-1, first, count])
  }

  get isEmpty(): boolean {
    return this.#changes.length === 0
  }

  text(): string {
    return JSON.stringify(this.#changes)
  }
}
