import type { EntityId } from '../../entity.ts'
import type { ChildBirth, Move } from '../../store.ts'
import type { LaneRow } from './lanes.ts'
import type { Ledger } from './ledger.ts'
import { Nursery } from './nursery.ts'
import { appear } from './spawn.ts'

/**
 * Children that many moves of one commit spawn, each a few of them: numbered and counted as their moves come, written together. Only
 * of sources that have spawned nothing before, so that nothing has to be looked for among what exists.
 */
export class Brood {
  readonly #ledger: Ledger
  readonly #now: number
  readonly #nursery: Nursery
  readonly #lanes = new Map<string, LaneRow>()
  #last: EntityId | null = null
  #taken = 0

  constructor(ledger: Ledger, now: number) {
    this.#ledger = ledger
    this.#now = now
    this.#nursery = new Nursery(ledger, now)
  }

  bear(source: EntityId, births: readonly ChildBirth[]): void {
    for (const birth of births) appear(this.#ledger, this.#nursery, source, birth, this.#next(), this.#lanes, this.#now)
  }

  /** Before anybody else takes numbers, or reads what was born. */
  flush(): void {
    this.#nursery.flush()
    if (this.#taken > 0) this.#ledger.database.take('entity', this.#taken)
    this.#last = null
    this.#taken = 0
  }

  #next(): EntityId {
    this.#last ??= this.#ledger.database.number("SELECT value FROM counter WHERE name = 'entity'") ?? 0
    this.#taken += 1
    return this.#last + this.#taken
  }
}

/** Which of these moves spawn, though their source has spawned before: their children may exist. */
export function spawnedBefore({ database }: Ledger, moves: readonly Move[]): ReadonlySet<EntityId> {
  const sources: EntityId[] = []
  for (const move of moves) if (move.children.length > 0) sources.push(move.id)
  if (sources.length === 0) return none
  const found = database.all(
    'SELECT value FROM json_each(?) WHERE EXISTS (SELECT 1 FROM entity WHERE source = value)',
    JSON.stringify(sources),
  )
  return found.length === 0 ? none : new Set(found.map(([id]) => id as number))
}

const none: ReadonlySet<EntityId> = new Set()
