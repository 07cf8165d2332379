import type { Entity, EntityId, Wait } from '../../entity.ts'
import { SluiceError } from '../../errors.ts'
import type { Worker } from '../../lease.ts'
import type { Release, Renewal } from '../../store.ts'
import { afterDeath } from '../../suspicion.ts'
import { frozen } from './frozen.ts'
import type { Memory, WorkerRow } from './memory.ts'
import type { Row } from './rows.ts'

/** The worker, if its lease stands. Once expired it is never revived: somebody may already have what it held. */
export function liveWorker(memory: Memory, id: number, now: number): WorkerRow {
  const worker = memory.workers.get(id)
  if (worker && now < worker.expiresAt) return worker
  throw new SluiceError('lease_lost', `The lease of worker ${id} has run out. Drop what it holds and register anew.`, {
    worker: id,
  })
}

export function renew(memory: Memory, { id, identity, leaseMs }: Renewal, now: number): Worker {
  const known = id === null ? null : liveWorker(memory, id, now)
  const { name, host, pid, program, roles, machines } = identity
  const worker: WorkerRow = frozen({
    id: known?.id ?? memory.newWorkerId(),
    ...{ name, host, pid, program, roles, machines },
    startedAt: known?.startedAt ?? now,
    renewedAt: now,
    expiresAt: now + leaseMs,
  })
  memory.workers.set(worker.id, worker)
  return withLeases(memory, worker)
}

export function workers(memory: Memory, now: number): readonly Worker[] {
  return [...memory.workers.values()]
    .filter((worker) => now < worker.expiresAt)
    .map((worker) => withLeases(memory, worker))
}

/** Ends leases without a move. The attempt is given back, unless it is what went wrong. */
export function release(memory: Memory, release: Release, now: number): readonly EntityId[] {
  switch (release.kind) {
    case 'give_back': {
      const rows = provenLeases(memory, release.leases).filter((row) => row.entity.owner === release.worker)
      return rows.map((row) => giveBack(memory, row, now))
    }
    case 'all_but': {
      const keep = new Set(release.keep)
      const rows = memory.rows.owned(release.worker).filter((row) => !keep.has(row.entity.id))
      return rows.map((row) => giveBack(memory, row, now))
    }
    case 'timed_out':
      return provenLeases(memory, release.leases).map((row) =>
        endLease(memory, row, { error: release.error, wait: timedOut(row.entity.wait) }, now),
      )
    case 'retire': {
      const ids = memory.rows.owned(release.worker).map((row) => giveBack(memory, row, now))
      memory.workers.delete(release.worker)
      return ids
    }
    case 'dead':
      return [...memory.workers.values()]
        .filter((worker) => now >= worker.expiresAt)
        .flatMap((worker) => bury(memory, worker, now))
    default:
      return release satisfies never
  }
}

function bury(memory: Memory, worker: WorkerRow, now: number): readonly EntityId[] {
  const held = memory.rows.owned(worker.id)
  memory.workers.delete(worker.id)
  return held.map((row) => endLease(memory, row, afterDeath(row.entity, held.length), now))
}

function provenLeases(memory: Memory, leases: readonly { id: EntityId; epoch: number }[]): readonly Row[] {
  return leases.flatMap(({ id, epoch }) => {
    const row = memory.rows.find(id)
    return row && row.entity.owner !== null && row.entity.epoch === epoch ? [row] : []
  })
}

function giveBack(memory: Memory, row: Row, now: number): EntityId {
  return endLease(memory, row, { attempts: Math.max(0, row.entity.attempts - 1) }, now)
}

function endLease(
  memory: Memory,
  row: Row,
  changes: Partial<Pick<Entity, 'attempts' | 'suspect' | 'error' | 'wait'>>,
  now: number,
): EntityId {
  memory.replace(row, { ...changes, owner: null, epoch: row.entity.epoch + 1 }, now)
  memory.hint('ended')
  return row.entity.id
}

/** Whoever has a lease waits to run: the next claim knows why that lease ended. */
function timedOut(wait: Wait): Wait {
  return wait.for === 'run' ? frozen({ ...wait, timedOut: true }) : wait
}

function withLeases(memory: Memory, worker: WorkerRow): Worker {
  return Object.freeze({ ...worker, leases: memory.rows.ownedCount(worker.id) })
}
