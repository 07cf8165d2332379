import type { Entity, EntityId } from '../../entity.ts'
import type { Lane, LaneStatus } from '../../lane.ts'
import { Queue } from './queue.ts'

/** An entity and what the store alone knows of it. The entity itself is a frozen value, replaced whole. */
export interface Row {
  entity: Entity
  /** The lane that counts it. Null: it is staged, which is to be unseen and uncounted. */
  lane: LaneRow | null
  /** What its lane will watch, once it is published. */
  readonly watches: readonly string[]
  /** The standing order over its own lanes, also over those that do not exist yet. */
  order: LaneStatus
  /** Pools of which it has a unit for as long as its lease lasts. */
  leasePools: readonly string[]
  /** Where it waits, so that it can be taken out again. */
  place: { readonly queue: Queue; readonly order: number } | null
}

export interface LaneRow {
  lane: Lane
  /** Children that wait to run and could, if only this lane let them. */
  readonly aside: Queue
}

/** All rows, and the ways to find them. Rows under a parent include staged ones: readers pass over them. */
export class Rows {
  readonly #rows = new Map<EntityId, Row>()
  readonly #ids = new Queue()
  readonly #children = new Map<EntityId | null, Queue>()
  readonly #spawned = new Map<EntityId, Map<number, EntityId>>()
  readonly #owned = new Map<number, Set<EntityId>>()
  #latest = 0

  newId(): EntityId {
    this.#latest += 1
    return this.#latest
  }

  find(id: EntityId): Row | undefined {
    return this.#rows.get(id)
  }

  get(id: EntityId): Row {
    const row = this.#rows.get(id)
    if (!row) throw new Error(`Invariant broken: entity ${id} stands in an index, but has no row.`)
    return row
  }

  all(): Queue {
    return this.#ids
  }

  children(parent: EntityId | null): Queue {
    return this.#children.get(parent) ?? none
  }

  spawnedAt(source: EntityId, ordinal: number): Row | undefined {
    const id = this.#spawned.get(source)?.get(ordinal)
    return id === undefined ? undefined : this.#rows.get(id)
  }

  /** All that this entity spawned, by ordinal. */
  spawned(source: EntityId): readonly Row[] {
    const ordinals = this.#spawned.get(source)
    if (!ordinals) return []
    return [...ordinals].sort(([one], [other]) => one - other).map(([, id]) => this.get(id))
  }

  owned(worker: number): readonly Row[] {
    return [...(this.#owned.get(worker) ?? [])].map((id) => this.get(id))
  }

  ownedCount(worker: number): number {
    return this.#owned.get(worker)?.size ?? 0
  }

  add(row: Row): void {
    const { id, parent, source, ordinal } = row.entity
    this.#rows.set(id, row)
    this.#ids.add(id, id)
    let children = this.#children.get(parent)
    if (!children) {
      children = new Queue()
      this.#children.set(parent, children)
    }
    children.add(id, id)
    if (source === null || ordinal === null) return
    const ordinals = this.#spawned.get(source)
    if (ordinals) ordinals.set(ordinal, id)
    else this.#spawned.set(source, new Map([[ordinal, id]]))
  }

  remove(row: Row): void {
    const { id, parent, source, ordinal } = row.entity
    this.setOwner(row, null)
    this.#rows.delete(id)
    this.#ids.remove(id, id)
    const children = this.#children.get(parent)
    children?.remove(id, id)
    if (children?.size === 0) this.#children.delete(parent)
    if (source === null || ordinal === null) return
    const ordinals = this.#spawned.get(source)
    ordinals?.delete(ordinal)
    if (ordinals?.size === 0) this.#spawned.delete(source)
  }

  /** Keeps the index of owners; whoever calls it puts the owner into the entity. */
  setOwner(row: Row, owner: number | null): void {
    const { id, owner: before } = row.entity
    if (before === owner) return
    if (before !== null) {
      const owned = this.#owned.get(before)
      owned?.delete(id)
      if (owned?.size === 0) this.#owned.delete(before)
    }
    if (owner === null) return
    const owned = this.#owned.get(owner)
    if (owned) owned.add(id)
    else this.#owned.set(owner, new Set([id]))
  }
}

const none = new Queue()
