import type { Entity, EntityId } from '../../entity.ts'
import type { MoveRecord } from '../../event.ts'
import type { Hold } from '../../hold.ts'
import type { Lane } from '../../lane.ts'
import type { Worker } from '../../lease.ts'
import type { Pool } from '../../pool.ts'
import type { Drift, Due, Store } from '../../store.ts'
import { poolNames } from './player.ts'

/** Everything that anybody can see of a store at one moment. */
export interface Observation {
  readonly time: number
  readonly entities: readonly Entity[]
  readonly lanes: readonly Lane[]
  readonly drift: readonly Drift[]
  readonly holds: readonly Hold[]
  readonly pools: readonly Pool[]
  readonly workers: readonly Worker[]
  readonly due: Due
  /** What the feed told since the last look. */
  readonly moves: readonly MoveRecord[]
  readonly births: readonly EntityId[]
}

/** Looks at a store again and again, reading the feed on from where it was. */
export class Observer {
  readonly #store: Store
  #position = 0

  constructor(store: Store) {
    this.#store = store
  }

  async look(): Promise<Observation> {
    const store = this.#store
    const entities = await this.#everything()
    const parents = [null, ...entities.map((entity) => entity.id)]
    const { moves, births } = await this.#feed()
    return {
      time: store.time(),
      entities,
      lanes: [...(await store.lanes(parents))].sort(byParentAndName),
      drift: await store.recount(parents, null),
      holds: [...(await store.holds())].sort((a, b) => a.id - b.id),
      pools: [...(await store.pools(poolNames))].sort((a, b) => (a.name < b.name ? -1 : 1)),
      workers: [...(await store.workers())].sort((a, b) => a.id - b.id),
      due: await store.due(1_000),
      moves,
      births,
    }
  }

  async #everything(): Promise<readonly Entity[]> {
    const entities: Entity[] = []
    let page = await this.#store.list({ limit: 100 })
    for (;;) {
      entities.push(...page.entities)
      if (page.next === null) return entities
      page = await this.#store.list({ limit: 100, after: page.next })
    }
  }

  async #feed(): Promise<{ moves: readonly MoveRecord[]; births: readonly EntityId[] }> {
    const moves: MoveRecord[] = []
    const births: EntityId[] = []
    for (;;) {
      const page = await this.#store.events({ after: this.#position, limit: 100 })
      if (page.moves.length + page.births.length === 0) return { moves, births }
      moves.push(...page.moves)
      births.push(...page.births)
      this.#position = page.position
    }
  }
}

function byParentAndName(a: Lane, b: Lane): number {
  return (a.parent ?? 0) - (b.parent ?? 0) || (a.name < b.name ? -1 : 1)
}
