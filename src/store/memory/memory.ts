import type { Clock } from '../../clock.ts'
import { type Entity, type EntityId, rootLane } from '../../entity.ts'
import { SluiceError } from '../../errors.ts'
import type { MoveRecord } from '../../event.ts'
import type { Worker } from '../../lease.ts'
import type { Limits } from '../../limits.ts'
import { keyPool } from '../../pool.ts'
import type { Birth, ChildBirth, MachineRow, Signal, Tombstone } from '../../store.ts'
import { frozen } from './frozen.ts'
import { History } from './history.ts'
import { Holds } from './holds.ts'
import { Lanes } from './lanes.ts'
import { Operations } from './operations.ts'
import { Pools } from './pools.ts'
import { type Row, Rows } from './rows.ts'
import { Waiting } from './waiting.ts'

/** A worker as it registered; how many leases it has is counted when somebody asks. */
export type WorkerRow = Omit<Worker, 'leases'>

/** Everything that the store keeps, and the few ways in which rows change. Which change is right is decided by the verbs. */
export class Memory {
  readonly limits: Limits
  readonly rows = new Rows()
  readonly pools = new Pools()
  readonly holds = new Holds()
  readonly waiting: Waiting
  readonly lanes: Lanes
  readonly history: History
  readonly operations: Operations
  readonly workers = new Map<number, WorkerRow>()
  readonly tombstones = new Map<EntityId, Tombstone>()
  /** Roots that are being purged: nothing of their trees is claimed or committed any more. */
  readonly purging = new Set<EntityId>()
  /** States that staged children watch, by source and lane. */
  readonly stagedWatches = new Map<EntityId, Map<string, readonly string[]>>()
  readonly #clock: Clock
  readonly #machines = new Map<string, MachineRow>()
  readonly #labels = new Map<string, { readonly version: number; readonly names: readonly string[] }>()
  #hints: Record<keyof Signal, boolean> = { work: false, due: false, ended: false }
  #latestTime = 0
  #latestWorker = 0

  constructor(clock: Clock, limits: Limits) {
    this.#clock = clock
    this.limits = limits
    this.waiting = new Waiting(this.rows, limits.ageingMs)
    this.lanes = new Lanes(this.rows, this.waiting, limits.reasonsMax, (hint) => this.hint(hint))
    this.history = new History(limits.operationMs)
    this.operations = new Operations(limits.operationMs)
  }

  time(): number {
    this.#latestTime = Math.max(this.#latestTime, this.#clock.now())
    return this.#latestTime
  }

  newWorkerId(): number {
    this.#latestWorker += 1
    return this.#latestWorker
  }

  define(machine: MachineRow): void {
    const { name, version, digest, labels } = machine
    const key = rootLane(name, version)
    const known = this.#machines.get(key)
    if (known && known.digest !== digest) {
      throw new SluiceError(
        'conflict',
        `Machine ${name} version ${version} is already known with another definition. Give the changed one a new version.`,
        { machine: name, version, known: known.digest, given: digest },
      )
    }
    this.#machines.set(key, frozen(machine))
    const latest = this.#labels.get(name)
    if (!latest || latest.version <= version) this.#labels.set(name, { version, names: [...labels] })
  }

  readonly labelNames = (machine: string): readonly string[] => this.#labels.get(machine)?.names ?? []

  /** As a reader sees it. */
  read(row: Row): Entity {
    return row.lane?.lane.status === 'stopped' ? Object.freeze({ ...row.entity, stopped: true }) : row.entity
  }

  isPurging(entity: Entity): boolean {
    if (this.purging.size === 0) return false
    for (let above: Entity | undefined = entity; above; ) {
      if (this.purging.has(above.id)) return true
      above = above.parent === null ? undefined : this.rows.find(above.parent)?.entity
    }
    return false
  }

  /** Stores a new entity. It is unseen until it is published. */
  bear(birth: Birth | ChildBirth, source: EntityId | null, now: number): Row {
    const id = this.rows.newId()
    const child = 'ordinal' in birth ? birth : null
    const entity: Entity = Object.freeze({
      id,
      machine: birth.machine,
      version: birth.version,
      state: birth.state,
      born: birth.state,
      seq: 0,
      epoch: 0,
      generation: 0,
      settled: birth.settled,
      attempts: 0,
      suspect: 0,
      parent: child?.parent ?? null,
      lane: child?.lane ?? rootLane(birth.machine, birth.version),
      source,
      ordinal: child?.ordinal ?? null,
      labels: frozen(birth.labels),
      priority: birth.priority,
      data: birth.data,
      wait: frozen(birth.wait),
      request: null,
      owner: null,
      stopped: false,
      spawned: 0,
      checkpoint: null,
      progress: null,
      reason: birth.reason,
      sums: frozen(birth.sums),
      error: null,
      key: birth.key,
      createdAt: now,
      createdBy: birth.createdBy,
      changedAt: now,
    })
    const watches = frozen(child?.watches ?? [])
    const row: Row = { entity, lane: null, watches, order: 'going', leasePools: [], place: null }
    this.rows.add(row)
    if (birth.key !== null) this.pools.take(keyPool(birth.key), id, 1, 1)
    return row
  }

  /** The entity is seen and counted from now on. */
  publish(row: Row, now: number, watches: readonly string[] = row.watches): void {
    const lane = this.lanes.makeFor(row.entity, watches, now)
    row.lane = lane
    this.replace(row, { reason: this.lanes.reasonIn(lane, row.entity.reason) }, now)
    this.lanes.count(lane, null, row.entity, now)
    this.history.addBirth(row.entity.id, now)
    this.#hintOfWait(row)
  }

  /** The one place where a stored entity changes: its indexes change with it. */
  replace(row: Row, changes: Partial<Entity>, now: number): void {
    const before = row.entity
    const after: Entity = Object.freeze({ ...before, ...changes })
    this.rows.setOwner(row, after.owner)
    row.entity = after
    this.waiting.file(row, now)
    if (before.wait.for === 'children' || after.wait.for === 'children') this.lanes.judge(row)
    if (before.owner !== null && after.owner === null) this.#endLease(row)
    if (after.owner === null && (changes.wait || before.owner !== null)) this.#hintOfWait(row)
  }

  /** Gone as if it had never been, its own lanes included. What its lane counted is the caller's affair. */
  remove(row: Row): void {
    const { id, key, parent } = row.entity
    this.waiting.take(row)
    this.lanes.remove(id)
    this.rows.remove(row)
    this.stagedWatches.delete(id)
    this.history.forget(id)
    // A purged root's key stays taken, so that the same submission is never run twice.
    if (this.pools.giveAllBut(parent === null && key !== null ? keyPool(key) : null, id)) this.hint('work')
  }

  record(record: MoveRecord): void {
    this.history.addMove(record)
  }

  hint(hint: keyof Signal): void {
    this.#hints[hint] = true
  }

  /** What there is to look at since the last time that somebody asked. */
  takeHints(): Signal | null {
    const hints = this.#hints
    this.#hints = { work: false, due: false, ended: false }
    return hints.work || hints.due || hints.ended ? hints : null
  }

  #endLease(row: Row): void {
    for (const pool of row.leasePools) if (this.pools.give(pool, row.entity.id)) this.hint('work')
    row.leasePools = []
  }

  #hintOfWait(row: Row): void {
    const { wait } = row.entity
    if (wait.for === 'run') this.hint('work')
    else if (wait.for !== 'nothing' && wait.at !== null) this.hint('due')
  }
}
