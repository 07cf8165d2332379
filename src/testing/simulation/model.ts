import type { Entity, EntityId } from '../../entity.ts'
import type { MoveRecord } from '../../event.ts'
import { isSettled, type Machine } from '../../machine.ts'

/** What is known of one entity: told by the feed of births and moves alone, beside what its row last said. */
export interface Known {
  readonly id: EntityId
  readonly machine: Machine
  readonly parent: EntityId | null
  readonly lane: string
  readonly source: EntityId | null
  readonly ordinal: number | null
  /** When it appeared: what was staged was made earlier. */
  readonly seenAt: number
  state: string
  seq: number
  generation: number
  settled: boolean
  /** Of the last move. */
  epoch: number
  /** Every epoch that was given out, and to whom. */
  readonly issued: Map<number, string>
  /** The generation in which it was settled last; -1: in none. */
  settledIn: number
  /** Where it waited when it was last claimed by a move, and the epoch of that. */
  claimed: { readonly from: string; readonly epoch: number } | null
  /** How often it was tried again since it last got anywhere. */
  retries: number
  /** As the store showed it last. */
  row: Entity
}

/** One lane as it must be, counted from births and moves. */
export interface Tally {
  readonly counts: Map<string, number>
  total: number
  open: number
  /** How often the parent must have been woken, at least. */
  wakes: number
  readonly entered: Set<string>
}

export interface KnownWorker {
  readonly id: number
  readonly owner: string
  expiresAt: number
}

/**
 * The second book: everything that the store should hold, written down from the order of its commits, by other code than
 * its own. Whatever the store says is compared with this.
 */
export class Model {
  readonly #machines: ReadonlyMap<string, Machine>
  readonly #known = new Map<EntityId, Known>()
  readonly #ids: EntityId[] = []
  readonly #children = new Map<EntityId, Set<EntityId>>()
  readonly #spawned = new Map<EntityId, Map<number, EntityId>>()
  readonly #lanes = new Map<EntityId | null, Map<string, Tally>>()
  /** What a source wrote in checkpoints and has not published: unseen so far. */
  readonly staged = new Map<EntityId, Set<number>>()
  /** Gates that some parent's move has opened, as `parent/lane`, and when. */
  readonly opened = new Map<string, number>()
  /** When parents last ordered their children to go on. */
  readonly goingSince = new Map<EntityId, number>()
  /** What parents ordered over their children, where it is not to go on. */
  readonly #orders = new Map<EntityId, 'rest' | 'stop'>()
  readonly workers = new Map<number, KnownWorker>()
  readonly purged = new Set<EntityId>()
  /** Roots of which a part may be gone already. */
  readonly purging = new Set<EntityId>()
  /** How often each request of a person stands in the history of an entity, as `request of id`. */
  readonly requests = new Map<string, number>()
  /** The joins that were passed, by entity, edge and generation. */
  readonly joins = new Set<string>()

  constructor(machines: readonly Machine[]) {
    this.#machines = new Map(machines.map((machine) => [machine.name, machine]))
  }

  get all(): Iterable<Known> {
    return this.#known.values()
  }

  get size(): number {
    return this.#known.size
  }

  machine(name: string): Machine | undefined {
    return this.#machines.get(name)
  }

  find(id: EntityId): Known | undefined {
    return this.#known.get(id)
  }

  /** One of those that there ever were; undefined where that one is gone. */
  pick(random: { below(end: number): number }): Known | undefined {
    return this.#ids.length === 0 ? undefined : this.#known.get(this.#ids[random.below(this.#ids.length)]!)
  }

  childrenOf(parent: EntityId): readonly Known[] {
    return [...(this.#children.get(parent) ?? [])].flatMap((id) => this.#known.get(id) ?? [])
  }

  spawnedBy(source: EntityId): ReadonlyMap<number, EntityId> {
    return this.#spawned.get(source) ?? none
  }

  tally(parent: EntityId | null, lane: string): Tally | undefined {
    return this.#lanes.get(parent)?.get(lane)
  }

  lanesOf(parent: EntityId | null): ReadonlyMap<string, Tally> {
    return this.#lanes.get(parent) ?? noTallies
  }

  isPurging(known: Known): boolean {
    if (this.purging.size === 0) return false
    for (let above: Known | undefined = known; above; ) {
      if (this.purging.has(above.id)) return true
      above = above.parent === null ? undefined : this.#known.get(above.parent)
    }
    return false
  }

  /** What its parent ordered over all its children. */
  orderOver(known: Known): 'go' | 'rest' | 'stop' {
    return (known.parent !== null && this.#orders.get(known.parent)) || 'go'
  }

  order(parent: EntityId, order: 'go' | 'rest' | 'stop', at: number): void {
    if (order !== 'go') this.#orders.set(parent, order)
    else {
      this.goingSince.set(parent, at)
      this.#orders.delete(parent)
      for (const tally of this.lanesOf(parent).values()) tally.entered.clear()
    }
  }

  /** An entity was born, and is seen from now on. */
  bear(row: Entity, machine: Machine, seenAt: number = row.createdAt): Known {
    const { id, parent, lane, source, ordinal, born } = row
    const settled = isSettled(machine, born)
    const known: Known = {
      id,
      machine,
      parent,
      lane,
      source,
      ordinal,
      seenAt,
      row,
      settled,
      state: born,
      seq: 0,
      generation: 0,
      epoch: 0,
      issued: new Map(),
      settledIn: settled ? 0 : -1,
      claimed: null,
      retries: 0,
    }
    this.#known.set(id, known)
    this.#ids.push(id)
    if (parent !== null) setOf(this.#children, parent).add(id)
    if (source !== null && ordinal !== null) {
      const ordinals = this.#spawned.get(source)
      if (ordinals) ordinals.set(ordinal, id)
      else this.#spawned.set(source, new Map([[ordinal, id]]))
      this.staged.get(source)?.delete(ordinal)
    }
    const tally = this.#tallyOf(known)
    const wasEmpty = tally.open === 0
    this.#count(tally, known, 1)
    this.#wake(tally, known, wasEmpty, settled)
    return known
  }

  /** A move was made. */
  apply(known: Known, record: MoveRecord): void {
    const tally = this.#tallyOf(known)
    const wasEmpty = tally.open === 0
    this.#count(tally, known, -1)
    const wasSettled = known.settled
    if (record.cause === 'claim') known.claimed = { from: known.state, epoch: record.epoch }
    known.state = record.hops.at(-1)!.to
    known.settled = isSettled(known.machine, known.state)
    known.seq = record.seq
    known.generation = record.generation
    known.epoch = record.epoch
    if (known.settled && (!wasSettled || known.settledIn !== record.generation)) known.settledIn = record.generation
    this.#count(tally, known, 1)
    this.#wake(tally, known, wasEmpty, false)
    if (record.requestId !== null && record.cause !== 'respawn') {
      const request = `${record.requestId} of ${known.id}`
      this.requests.set(request, (this.requests.get(request) ?? 0) + 1)
    }
  }

  /** Retention took it. A lane goes with its parent; the lane of the roots goes on without this one. */
  forget(known: Known): void {
    if (known.parent === null) this.#count(this.#tallyOf(known), known, -1)
    this.#known.delete(known.id)
    this.purged.add(known.id)
    this.purging.delete(known.id)
    if (known.parent !== null) this.#children.get(known.parent)?.delete(known.id)
    this.#children.delete(known.id)
    this.#spawned.delete(known.id)
    this.#lanes.delete(known.id)
    this.staged.delete(known.id)
  }

  #tallyOf({ parent, lane }: Known): Tally {
    let lanes = this.#lanes.get(parent)
    if (!lanes) {
      lanes = new Map()
      this.#lanes.set(parent, lanes)
    }
    let tally = lanes.get(lane)
    if (!tally) {
      tally = { counts: new Map(), total: 0, open: 0, wakes: 0, entered: new Set() }
      lanes.set(lane, tally)
    }
    return tally
  }

  #count(tally: Tally, known: Known, times: number): void {
    const count = (tally.counts.get(known.state) ?? 0) + times
    if (count === 0) tally.counts.delete(known.state)
    else tally.counts.set(known.state, count)
    tally.total += times
    if (!known.settled) tally.open += times
  }

  /** The last open child settled, or the first one opened; a watched state was first entered; a child was born settled among none. */
  #wake(tally: Tally, known: Known, wasEmpty: boolean, bornSettled: boolean): void {
    const isEmpty = tally.open === 0
    if (wasEmpty !== isEmpty || (bornSettled && isEmpty)) tally.wakes += 1
    const counter = known.parent === null ? undefined : this.#known.get(known.parent)
    if (!counter?.machine.watches.includes(known.state) || tally.entered.has(known.state)) return
    tally.entered.add(known.state)
    tally.wakes += 1
  }
}

const none: ReadonlyMap<number, EntityId> = new Map()
const noTallies: ReadonlyMap<string, Tally> = new Map()

function setOf<K, V>(sets: Map<K, Set<V>>, key: K): Set<V> {
  let set = sets.get(key)
  if (!set) {
    set = new Set()
    sets.set(key, set)
  }
  return set
}
