import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../../clock.ts'
import { isSluiceError } from '../../errors.ts'
import { outranTimeout } from '../../lease.ts'
import type { LeaseProof, Signal } from '../../store.ts'
import { type FromThread, lookMs, type ToThread } from '../../thread-heart.ts'
import { WatchTable } from '../../watch-table.ts'
import { aheadOf } from './clock-difference.ts'
import { Database } from './database.ts'
import { Desk } from './desk.ts'
import type { PlacedHeartData } from './heart-place.ts'
import { release } from './leases.ts'
import { notification } from './signals.ts'
import { renew } from './workers.ts'

/**
 * The thread of a heart: renews the worker's lease and ends what outlasts its deadline, by the server's clock. A connection that is lost,
 * or does not answer, is made again until the lease has run out.
 */
const data = workerData as PlacedHeartData
const clock = systemClock()
/** After a failed renewal the next one comes sooner: the lease runs out meanwhile. */
const retryMs = Math.min(500, data.renewMs)
/** Whoever has not answered for so long will not: others are asked anew, over another connection. */
const patienceMs = Math.max(1_000, Math.min(data.renewMs, data.leaseMs / 4))
/** How often the server's clock is looked at. */
const clockMs = 10_000
/** One renews while another one may wait for a row that somebody has locked. */
const connectionsMax = 2
/** A connection that does not even end is left to the operating system. */
const farewellMs = 1_000

let desk = opened()
let table = new WatchTable(data.watched)
/** Null: nobody has registered yet. */
let worker: number | null = null
let renewAt = Number.POSITIVE_INFINITY
let expiresAt = Number.POSITIVE_INFINITY
let clockAt = Number.NEGATIVE_INFINITY
let renewing: Attempt | null = null
let ending: Attempt | null = null
let cancel = () => {}
let isReady = false
let isStopping = false
/** What this thread has ended and the other one has not yet taken note of: epochs by id. */
let ended = new Map<number, number>()

/** Something that was asked of the server; once given up, its answer does not matter. */
interface Attempt {
  readonly since: number
}

parentPort?.on('message', (message: ToThread) => {
  switch (message.kind) {
    case 'keep':
      worker = message.worker
      renewAt = clock.now() + data.renewMs
      expiresAt = clock.now() + data.leaseMs
      return look()
    case 'look':
      return look()
    case 'grow':
      table = new WatchTable(message.watched)
      return look()
    case 'stop':
      void stop()
      return
    default:
      return message satisfies never
  }
})
look()

function look(): void {
  cancel()
  if (isStopping) return
  const now = clock.now()
  if (now >= expiresAt) {
    loseLease()
    return
  }
  if ([renewing, ending].some((attempt) => attempt !== null && now - attempt.since >= patienceMs)) reconnect()
  if (!renewing && (now >= renewAt || clockAt === Number.NEGATIVE_INFINITY)) void keepLease()
  if (!ending) void endOutlasted()
  cancel = clock.after(renewing ? lookMs : Math.max(0, Math.min(lookMs, renewAt - clock.now())), look)
}

async function keepLease(): Promise<void> {
  const attempt: Attempt = { since: clock.now() }
  renewing = attempt
  try {
    await lookAtClock()
    if (worker !== null && attempt.since >= renewAt) {
      await renew(desk, { id: worker, identity: data.identity, leaseMs: data.leaseMs })
      if (renewing !== attempt) return
      // Counted from before it was asked: the server's lease lasts a little longer.
      expiresAt = attempt.since + data.leaseMs
      renewAt = attempt.since + data.renewMs
    }
  } catch (error) {
    if (renewing !== attempt) return
    if (isSluiceError(error, 'lease_lost')) {
      loseLease()
      return
    }
    // A server that restarts is back in a moment. If it is not, the lease runs out.
    if (worker !== null) renewAt = clock.now() + retryMs
  }
  if (renewing !== attempt) return
  renewing = null
  sayReady()
}

async function lookAtClock(): Promise<void> {
  const begun = clock.now()
  if (begun - clockAt < clockMs) return
  const aheadMs = await aheadOf(desk.database, clock)
  if (aheadMs !== null) desk.setAhead(aheadMs)
  clockAt = begun
}

async function endOutlasted(): Promise<void> {
  const leases = outlasted()
  const fresh = leases.filter(({ id, epoch }) => ended.get(id) !== epoch)
  if (fresh.length === 0) {
    ended = new Map(leases.map(({ id, epoch }) => [id, epoch]))
    return
  }
  const attempt: Attempt = { since: clock.now() }
  ending = attempt
  try {
    await release(desk, { kind: 'timed_out', leases: fresh, error: outranTimeout })
    ended = new Map(leases.map(({ id, epoch }) => [id, epoch]))
  } catch {
    // They are still in the table, and found at the next look.
  }
  if (ending === attempt) ending = null
}

function outlasted(): readonly LeaseProof[] {
  // Before the server's clock was looked at nobody's time is over.
  if (clockAt === Number.NEGATIVE_INFINITY) return []
  const now = desk.time()
  const leases: LeaseProof[] = []
  for (let slot = 0; slot < table.size; slot += 1) {
    const watched = table.get(slot)
    if (watched && watched.deadline <= now) leases.push({ id: watched.id, epoch: watched.epoch })
  }
  return leases
}

function opened(): Desk {
  const database = new Database(data.url, data.schema, connectionsMax, clock, data.leaseMs)
  return new Desk(database, data.schema, clock, data.limits, (signal) => tellOthers(database, signal))
}

/** The other thread hears of it as other processes do: it has a connection that listens, and this one has none. */
function tellOthers(database: Database, signal: Signal): void {
  const { sql, values } = notification(data.schema, signal)
  database.single((session) => session.all(sql, values)).catch(() => {})
}

function reconnect(): void {
  desk.database.close().catch(() => {})
  desk = opened()
  renewing = null
  ending = null
  // Whoever registers is told by the server itself what is wrong.
  sayReady()
  clockAt = Number.NEGATIVE_INFINITY
}

function loseLease(): void {
  tell({ kind: 'lost' })
  void stop()
}

function sayReady(): void {
  if (!isReady) tell({ kind: 'ready' })
  isReady = true
}

function tell(message: FromThread): void {
  parentPort?.postMessage(message)
}

async function stop(): Promise<void> {
  if (isStopping) return
  isStopping = true
  cancel()
  const patience = new Promise<void>((resolve) => clock.after(farewellMs, resolve))
  await Promise.race([desk.database.close().catch(() => {}), patience])
  parentPort?.close()
  process.exit()
}
