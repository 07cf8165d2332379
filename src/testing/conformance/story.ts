import assert from 'node:assert/strict'
import type { Clock } from '../../clock.ts'
import type { Entity, EntityId } from '../../entity.ts'
import type { MoveRecord } from '../../event.ts'
import type { HoldScope } from '../../hold.ts'
import type { Lane } from '../../lane.ts'
import type { Worker } from '../../lease.ts'
import type { Limits } from '../../limits.ts'
import type { Pool } from '../../pool.ts'
import type { Birth, ChildBirth, ClaimRun, Move, Store, Verdict } from '../../store.ts'
import type { ManualClock } from '../builders.ts'
import {
  aBirth,
  aMove,
  aRun,
  aWorker,
  manualClock,
  parcelMachine,
  shipmentMachine,
  someChildren,
  waitForChildren,
} from '../builders.ts'

/** A store under test, empty, and what can be done to it from outside. */
export interface Harness {
  readonly store: Store
  /**
   * A second handle on the same data, as a second process would open it; the first stays in use. `clock` is the second
   * process's own. A store that lives in one process gives itself.
   */
  reopen?(clock?: Clock): Promise<Store>
  /** How many rows were written so far, for the tests that count them. */
  written?(): number
  /** Makes a lane lie: writes these figures over its own, behind the store's back, as a fault would. */
  damage?(lane: Lane): Promise<void>
  /** Ends every handle and removes the data. */
  close(): Promise<void>
}

export interface OpenOptions {
  readonly clock: Clock
  readonly limits?: Partial<Limits>
}

export type Open = (options: OpenOptions) => Promise<Harness>

/** Registers one test, given an empty store. `limits` are those that the test is about. */
export type Tell = (title: string, body: (story: Story) => Promise<void>, limits?: Partial<Limits>) => void

/** One heading of the store contract. */
export type Chapter = (tell: Tell) => void

export const leaseMs = 30_000

/** An empty store with two machines defined, and the steps that nearly every test takes. */
export class Story {
  readonly clock: ManualClock
  readonly harness: Harness
  #operations = 0

  private constructor(clock: ManualClock, harness: Harness) {
    this.clock = clock
    this.harness = harness
  }

  static async begin(open: Open, limits: Partial<Limits> = {}): Promise<Story> {
    const clock = manualClock()
    const harness = await open({ clock, limits })
    await harness.store.migrate()
    await harness.store.define([parcelMachine, shipmentMachine])
    return new Story(clock, harness)
  }

  get store(): Store {
    return this.harness.store
  }

  /** A second process on the same data; null where there can be none. */
  async reopen(clock: Clock = this.clock): Promise<Store> {
    return (await this.harness.reopen?.(clock)) ?? this.harness.store
  }

  operation(): string {
    this.#operations += 1
    return `operation-${this.#operations}`
  }

  async create(changes: Partial<Birth> = {}): Promise<Entity> {
    return (await this.createMany(1, changes))[0]!
  }

  async createMany(count: number, changes: Partial<Birth> = {}): Promise<readonly Entity[]> {
    const births = Array.from({ length: count }, () => aBirth(changes))
    const verdicts = await this.store.create(this.operation(), births)
    return Promise.all(
      verdicts.map((verdict) => {
        assert.equal(verdict.kind, 'saved', `created: ${JSON.stringify(verdict)}`)
        return this.get(verdict.kind === 'saved' ? verdict.id : 0)
      }),
    )
  }

  /** A shipment that waits for its parcels, and the parcels. */
  async createParent(
    children: number,
    changes: Partial<ChildBirth> = {},
    move: Partial<Move> = {},
  ): Promise<{ parent: Entity; children: readonly Entity[] }> {
    const born = await this.create({ machine: 'shipment', state: 'open', labels: [null], wait: { for: 'nothing' } })
    const parent = await this.saved(
      aMove(born, {
        state: 'filled',
        wait: waitForChildren,
        children: someChildren(born, children, changes),
        ...move,
      }),
    )
    return { parent, children: await this.children(parent.id) }
  }

  async register(name = 'worker', duration = leaseMs, store = this.store): Promise<Worker> {
    return store.renew({ id: null, identity: aWorker({ name }), leaseMs: duration })
  }

  async claim(worker: Worker, limit = 1_000, run: Partial<ClaimRun> = {}): Promise<readonly Entity[]> {
    return (await this.claimResult(worker, limit, run)).entities
  }

  async claimResult(worker: Worker, limit = 1_000, run: Partial<ClaimRun> = {}) {
    return this.store.claim({ worker: worker.id, runs: [aRun(run)], limit, bytes: 2 ** 30 })
  }

  /** Claims what must be the only one that the limit lets through. */
  async claimOne(worker: Worker, run: Partial<ClaimRun> = {}): Promise<Entity> {
    const entities = await this.claim(worker, 1, run)
    assert.equal(entities.length, 1, 'there was one to claim')
    return entities[0]!
  }

  /** A parcel that a worker has begun. */
  async createClaimed(changes: Partial<Birth> = {}): Promise<{ entity: Entity; worker: Worker }> {
    await this.create(changes)
    const worker = await this.register()
    return { entity: await this.claimOne(worker), worker }
  }

  async verdict(move: Move): Promise<Verdict> {
    return (await this.verdicts(move))[0]!
  }

  async verdicts(...moves: readonly Move[]): Promise<readonly Verdict[]> {
    return this.store.commit(this.operation(), moves)
  }

  async kinds(...moves: readonly Move[]): Promise<readonly Verdict['kind'][]> {
    return (await this.verdicts(...moves)).map((verdict) => verdict.kind)
  }

  async kind(move: Move): Promise<Verdict['kind']> {
    return (await this.verdict(move)).kind
  }

  /** Commits a move that must be saved, and reads the entity again. */
  async saved(move: Move): Promise<Entity> {
    assert.deepEqual(await this.verdict(move), { kind: 'saved' })
    return this.get(move.id)
  }

  async find(id: EntityId): Promise<Entity | null> {
    return (await this.store.get([id]))[0] ?? null
  }

  async get(id: EntityId): Promise<Entity> {
    const entity = await this.find(id)
    assert.ok(entity, `entity ${id} is there`)
    return entity
  }

  async children(parent: EntityId): Promise<readonly Entity[]> {
    return (await this.store.list({ parent, limit: 1_000 })).entities
  }

  async lane(parent: EntityId | null, name = 'parcels'): Promise<Lane> {
    const lane = (await this.store.lanes([parent])).find((other) => other.name === name)
    assert.ok(lane, `lane ${name} of ${parent} is there`)
    return lane
  }

  async history(id: EntityId): Promise<readonly MoveRecord[]> {
    return (await this.store.events({ entity: id, afterSeq: 0, limit: 1_000 })).moves
  }

  async pool(name: string): Promise<Pool> {
    return (await this.store.pools([name]))[0] ?? { name, ceiling: 0, taken: 0, holders: [] }
  }

  /** Sets a hold and returns its id. */
  async hold(scope: HoldScope, until: number | null = null, reason = 'audit'): Promise<number> {
    const before = new Set((await this.store.holds()).map((hold) => hold.id))
    const holds = await this.store.holds({ set: scope, reason, owner: 'olga', until })
    const made = holds.find((hold) => !before.has(hold.id))
    assert.ok(made, 'the new hold is among the standing ones')
    return made.id
  }

  /** The worker's process dies: its lease runs out and the sweeper finds it. */
  async dies(worker: Worker): Promise<readonly EntityId[]> {
    const live = (await this.store.workers()).find((other) => other.id === worker.id)
    if (live) this.clock.advance(live.expiresAt - this.store.time())
    return this.store.release({ kind: 'dead' })
  }

  /** Everything that a reader can see of these entities: what must be the same before and after a change that was not saved. */
  async picture(...ids: readonly EntityId[]): Promise<unknown> {
    const entities = await this.store.get(ids)
    const list = await this.store.list({ limit: 1_000 })
    const lanes = await this.store.lanes([null, ...ids])
    const histories = await Promise.all(ids.map((id) => this.history(id)))
    const pools = await this.store.pools(['disk', 'key:taken'])
    return { entities, list, lanes, histories, pools }
  }
}

export const idsOf = (entities: readonly Entity[]): readonly EntityId[] => entities.map((entity) => entity.id)

/** Ids in growing order, for answers whose order is not promised. */
export const sorted = (ids: readonly EntityId[]): readonly EntityId[] => [...ids].sort((a, b) => a - b)

export const lost = { name: 'SluiceError', code: 'lease_lost' }

export const conflict = { name: 'SluiceError', code: 'conflict' }
