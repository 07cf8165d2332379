import type { Clock } from '../clock.ts'
import { systemClock } from '../clock.ts'
import type { Entity, EntityId, Wait } from '../entity.ts'
import type { WorkerIdentity } from '../lease.ts'
import type { Birth, ChildBirth, ClaimRun, MachineRow, Move } from '../store.ts'
import { nobody } from '../store.ts'
import type { Hop } from '../transition.ts'

/**
 * What a store is handed, with defaults that make a short test a whole story: parcels wait in `ready`, are claimed into
 * `working`, and end `done` or `failed`; a shipment is the parent of parcels. A test names only what it is about.
 */
export const parcelMachine: MachineRow = {
  name: 'parcel',
  version: 1,
  digest: 'parcel-1',
  labels: ['collection', 'owner'],
  declaration: '{"name":"parcel","version":1}',
}

export const shipmentMachine: MachineRow = {
  name: 'shipment',
  version: 1,
  digest: 'shipment-1',
  labels: ['collection'],
  declaration: '{"name":"shipment","version":1}',
}

/** A store knows no machine: these are the states that the builders take for settled unless a test says otherwise. */
export const settledStates: readonly string[] = ['done', 'failed', 'skipped']

/** Claimable from the beginning of time. */
export const runNow: Wait = { for: 'run', at: 0 }

export const waitForNothing: Wait = { for: 'nothing' }

export const waitForChildren: Wait = { for: 'children', at: null }

export function aBirth(changes: Partial<Birth> = {}): Birth {
  const state = changes.state ?? 'ready'
  const settled = changes.settled ?? settledStates.includes(state)
  return {
    machine: 'parcel',
    version: 1,
    state,
    settled,
    data: '{}',
    labels: [null, null],
    priority: 0,
    wait: settled ? waitForNothing : runNow,
    reason: null,
    sums: null,
    key: null,
    createdBy: null,
    ...changes,
  }
}

/** A child of `parent`, in its lane `parcels`. */
export function aChild(parent: Entity | EntityId, ordinal: number, changes: Partial<ChildBirth> = {}): ChildBirth {
  return {
    ...aBirth(changes),
    parent: typeof parent === 'number' ? parent : parent.id,
    lane: 'parcels',
    ordinal,
    watches: [],
    respawn: null,
    ...changes,
  }
}

export function someChildren(
  parent: Entity | EntityId,
  count: number,
  changes: Partial<ChildBirth> = {},
  from = 0,
): readonly ChildBirth[] {
  return Array.from({ length: count }, (_, index) => aChild(parent, from + index, changes))
}

export function hop(from: string, to: string, transition = `to_${to}`): Hop {
  return { transition, from, to }
}

/**
 * A move with the proof that `entity` shows: to `done`, unless `state` or `hops` say otherwise. Who holds a lease moves by
 * it; all others from outside.
 */
export function aMove(entity: Entity, changes: Partial<Move> = {}): Move {
  const state = changes.state ?? changes.hops?.at(-1)?.to ?? 'done'
  const settled = changes.settled ?? settledStates.includes(state)
  const wait = changes.keep ? null : settled ? waitForNothing : runNow
  return {
    id: entity.id,
    epoch: entity.epoch,
    seq: entity.seq,
    by: entity.owner === null ? 'outside' : 'lease',
    cause: entity.owner === null ? 'action' : 'done',
    hops: state === entity.state ? [] : [hop(entity.state, state)],
    state,
    settled,
    generation: entity.generation,
    data: null,
    labels: null,
    priority: null,
    wait,
    keep: false,
    attempts: 'reset',
    children: [],
    staging: 'none',
    spawned: 0,
    opens: [],
    shuts: [],
    lanes: null,
    read: null,
    takes: [],
    gives: [],
    holds: null,
    holdable: false,
    actor: nobody,
    ...changes,
  }
}

/** A change without hops that leaves a running processor alone: a priority, a look at the children. */
export function aChange(entity: Entity, changes: Partial<Move> = {}): Move {
  return aMove(entity, {
    by: 'aside',
    cause: 'change',
    hops: [],
    state: entity.state,
    settled: entity.settled,
    wait: null,
    attempts: 'stay',
    ...changes,
  })
}

/** What the holder of a lease writes while it goes on: its cursor, its progress, the children that it stages. */
export function aCheckpoint(entity: Entity, changes: Partial<Move> = {}): Move {
  return aChange(entity, { by: 'lease', cause: 'checkpoint', keep: true, ...changes })
}

/** Takes up parcels that wait in `ready` and leads them to `working`. */
export function aRun(changes: Partial<ClaimRun> = {}): ClaimRun {
  const state = changes.state ?? 'ready'
  return {
    machine: 'parcel',
    version: 1,
    state,
    edge: null,
    hops: state === 'working' ? [] : [hop(state, 'working', 'start')],
    holdable: false,
    limit: 1_000,
    pool: null,
    poolPer: null,
    ...changes,
  }
}

export function aWorker(changes: Partial<WorkerIdentity> = {}): WorkerIdentity {
  return {
    name: 'worker',
    host: 'host.example',
    pid: 1,
    program: '0.0.0',
    roles: [],
    machines: ['parcel@1'],
    ...changes,
  }
}

export interface ManualClock extends Clock {
  /** Lets time pass: timers fire in the order of their times, each seeing its own. */
  advance(durationMs: number): void
  /** Sets the time without firing anything, also to an earlier one: no machine's clock is to be trusted. */
  set(at: number): void
}

/** A clock that stands still until told otherwise, with chance drawn from a seed. */
export function manualClock(start = 1_000_000, seed = 1): ManualClock {
  const soon = systemClock().soon
  let now = start
  let order = 0
  let timers: { readonly at: number; readonly order: number; readonly callback: () => void }[] = []
  let chance = seed
  return {
    now: () => now,
    after(delayMs, callback) {
      order += 1
      const timer = { at: now + Math.max(0, delayMs), order, callback }
      timers.push(timer)
      return () => {
        timers = timers.filter((other) => other !== timer)
      }
    },
    soon,
    random() {
      // mulberry32: small, and good enough for jitter.
      chance = (chance + 0x6d2b79f5) | 0
      let mixed = Math.imul(chance ^ (chance >>> 15), 1 | chance)
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
    },
    advance(durationMs) {
      const end = now + durationMs
      for (;;) {
        const next = timers.filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at || a.order - b.order)[0]
        if (!next) break
        timers = timers.filter((timer) => timer !== next)
        now = Math.max(now, next.at)
        next.callback()
      }
      now = end
    },
    set(at) {
      now = at
    },
  }
}
