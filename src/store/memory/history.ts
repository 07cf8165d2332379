import type { EntityId } from '../../entity.ts'
import type { MoveRecord } from '../../event.ts'
import type { EventPage, EventQuery } from '../../store.ts'
import { frozen } from './frozen.ts'

interface FeedEntry {
  readonly at: number
  readonly move: MoveRecord | null
  readonly birth: EntityId | null
}

/** One row per move by entity, and the feed of all moves and births in the order of their commits. */
export class History {
  readonly #moves = new Map<EntityId, MoveRecord[]>()
  #feed: FeedEntry[] = []
  /** How many entries were dropped before the first that is kept: positions grow for ever. */
  #dropped = 0
  /** How many entries at the head of the feed are too old to be shown. */
  #expired = 0
  readonly #feedMs: number

  constructor(feedMs: number) {
    this.#feedMs = feedMs
  }

  addMove(record: MoveRecord): void {
    const kept = frozen(record)
    const moves = this.#moves.get(record.entity)
    if (moves) moves.push(kept)
    else this.#moves.set(record.entity, [kept])
    this.#addToFeed({ at: record.at, move: kept, birth: null })
  }

  addBirth(entity: EntityId, at: number): void {
    this.#addToFeed({ at, move: null, birth: entity })
  }

  forget(entity: EntityId): void {
    this.#moves.delete(entity)
  }

  read(query: EventQuery, now: number, pageMax: number): EventPage {
    const limit = Math.max(0, Math.min(query.limit, pageMax))
    if ('entity' in query) {
      // Seq counts from 1 without a gap, so the row behind seq n stands at position n.
      const begin = Math.max(0, query.afterSeq)
      return {
        moves: (this.#moves.get(query.entity) ?? []).slice(begin, begin + limit),
        births: [],
        position: 0,
        missed: false,
      }
    }
    this.#expire(now)
    const begin = Math.max(this.#expired, query.after - this.#dropped)
    const entries = this.#feed.slice(begin, begin + limit)
    return {
      moves: entries.flatMap((entry) => entry.move ?? []),
      births: entries.flatMap((entry) => entry.birth ?? []),
      // Whoever asks from beyond the end goes on from the end: what comes next is not lost to him.
      position: this.#dropped + Math.min(begin, this.#feed.length) + entries.length,
      missed: Math.max(0, query.after) < this.#dropped + this.#expired,
    }
  }

  #addToFeed(entry: FeedEntry): void {
    this.#feed.push(entry)
    this.#expire(entry.at)
  }

  #expire(now: number): void {
    while (this.#expired < this.#feed.length && this.#feed[this.#expired]!.at < now - this.#feedMs) this.#expired += 1
    // Dropped in bulk, so that each entry is moved a constant number of times.
    if (this.#expired * 2 <= this.#feed.length) return
    this.#feed = this.#feed.slice(this.#expired)
    this.#dropped += this.#expired
    this.#expired = 0
  }
}
