import { writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { Entity } from '../../src/entity.ts'
import type { MoveRecord } from '../../src/event.ts'
import type { Lane } from '../../src/lane.ts'
import type { Worker } from '../../src/lease.ts'
import type { Pool } from '../../src/pool.ts'
import type { Drift, Store, Tombstone } from '../../src/store.ts'
import type { Note } from './journal.ts'

/** All that is known at the end: what the processes said, and what the store has. The checker sees nothing else. */
export interface Evidence extends StoreDump {
  readonly notes: readonly Note[]
}

export interface StoreDump {
  readonly entities: readonly Entity[]
  /** Moves of each living entity, by seq. */
  readonly histories: Readonly<Record<number, readonly MoveRecord[]>>
  /** All moves in the order of their commits. */
  readonly feed: readonly MoveRecord[]
  readonly lanes: readonly Lane[]
  /** What the store's own recount says. */
  readonly drifts: readonly Drift[]
  readonly tombstones: readonly Tombstone[]
  readonly pools: readonly Pool[]
  readonly workers: readonly Worker[]
  /** The lines of SQLite's own check of the file. */
  readonly integrity: readonly string[]
}

const pageSize = 1_000

/** Reads the whole store through its port. `ids` are those that may have become tombstones. */
export async function dumpStore(
  store: Store,
  ids: readonly number[],
  pools: readonly string[],
): Promise<Omit<StoreDump, 'integrity'>> {
  const entities = await allEntities(store)
  const parents = [null, ...new Set(entities.flatMap(({ parent }) => parent ?? []))]
  const histories: Record<number, readonly MoveRecord[]> = {}
  for (const { id } of entities) histories[id] = await historyOf(store, id)
  return {
    entities,
    histories,
    feed: await wholeFeed(store),
    lanes: await store.lanes(parents),
    drifts: await store.recount(parents, null),
    tombstones: (await store.tombstones(ids)).filter((tombstone) => tombstone !== null),
    pools: await store.pools(pools),
    workers: await store.workers(),
  }
}

async function allEntities(store: Store): Promise<readonly Entity[]> {
  const entities: Entity[] = []
  for (let after: number | null = 0; after !== null; ) {
    const page = await store.list({ after, limit: pageSize })
    entities.push(...page.entities)
    after = page.next
  }
  return entities
}

async function historyOf(store: Store, entity: number): Promise<readonly MoveRecord[]> {
  const moves: MoveRecord[] = []
  for (;;) {
    const page = await store.events({ entity, afterSeq: moves.at(-1)?.seq ?? 0, limit: pageSize })
    moves.push(...page.moves)
    if (page.moves.length < pageSize) return moves
  }
}

async function wholeFeed(store: Store): Promise<readonly MoveRecord[]> {
  const moves: MoveRecord[] = []
  for (let after = 0; ; ) {
    const page = await store.events({ after, limit: pageSize })
    moves.push(...page.moves)
    if (page.position === after) return moves
    after = page.position
  }
}

/** What SQLite itself says of the file, through a connection that the store knows nothing of. */
export function integrityOf(file: string): readonly string[] {
  const connection = new DatabaseSync(file, { readOnly: true })
  try {
    return connection
      .prepare('PRAGMA integrity_check')
      .all()
      .map((row) => String(Object.values(row)[0]))
  } finally {
    connection.close()
  }
}

export function writeDump(path: string, dump: StoreDump): void {
  writeFileSync(path, JSON.stringify(dump))
}
