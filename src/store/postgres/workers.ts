import { SluiceError } from '../../errors.ts'
import type { Worker, WorkerIdentity } from '../../lease.ts'
import type { Renewal } from '../../store.ts'
import { heldIds, ownerOfHeld } from './claimed.ts'
import type { Row, Session } from './database.ts'
import type { Desk } from './desk.ts'

/**
 * What a worker holds: looked up by its claims, which name all that it was given. Some of it may be done, or be another's by now.
 * An entity that somebody has leased is never cold.
 */
const leasesOf = (worker: string) =>
  `(SELECT count(DISTINCT held.id) FROM claimed CROSS JOIN LATERAL ${heldIds} held
    WHERE claimed.worker = ${worker} AND ${ownerOfHeld} = ${worker})`

const columns = `id, identity, started_at, renewed_at, expires_at, ${leasesOf('worker.id')}`

/** Once a lease has run out it is never revived: somebody may already have what its worker held. */
export function leaseLost(worker: number): SluiceError {
  return new SluiceError(
    'lease_lost',
    `The lease of worker ${worker} has run out. Drop what it holds and register anew.`,
    { worker },
  )
}

/** Whether a worker can have this number at all. */
export function isWorkerId(id: number): boolean {
  return Number.isInteger(id) && id > 0 && id < 2 ** 31
}

export async function renew(desk: Desk, { id, identity, leaseMs }: Renewal): Promise<Worker> {
  const { name, host, pid, program, roles, machines } = identity
  const text = JSON.stringify({ name, host, pid, program, roles, machines })
  // What no number of a worker can be is nobody's.
  if (id !== null && !isWorkerId(id)) throw leaseLost(id)
  return desk.write(async (session, { now }) => {
    const expiresAt = Math.ceil(now + leaseMs)
    const row =
      id === null
        ? session.one(
            `INSERT INTO worker (id, identity, started_at, renewed_at, expires_at)
             VALUES (nextval('worker_id'), $1, $2, $2, $3) RETURNING id, identity, started_at, renewed_at, expires_at, 0`,
            [text, now, expiresAt],
          )
        : session.one(
            `UPDATE worker SET identity = $2, renewed_at = $3, expires_at = $4 WHERE id = $1 AND expires_at > $3 RETURNING ${columns}`,
            [id, text, now, expiresAt],
          )
    noteTime(session, now)
    const found = await row
    if (!found) throw leaseLost(id ?? 0)
    return workerOf(found)
  })
}

export function workers(desk: Desk): Promise<readonly Worker[]> {
  return desk.read(async (session, { now }) => {
    const rows = await session.all(`SELECT ${columns} FROM worker WHERE expires_at > $1 ORDER BY id`, [now])
    return rows.map(workerOf)
  })
}

/** Notes the time for all processes, so that it does not step back when another server's clock is asked. */
export function noteTime(session: Session, now: number): void {
  session.send("UPDATE counter SET value = $1 WHERE name = 'time' AND value < $1", [now])
}

function workerOf([id, identity, startedAt, renewedAt, expiresAt, leases]: Row): Worker {
  return {
    id: id as number,
    ...(JSON.parse(identity as string) as WorkerIdentity),
    startedAt: startedAt as number,
    renewedAt: renewedAt as number,
    expiresAt: expiresAt as number,
    leases: leases as number,
  }
}
