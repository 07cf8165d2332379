import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../../clock.ts'
import { isSluiceError } from '../../errors.ts'
import { outranTimeout } from '../../lease.ts'
import type { LeaseProof } from '../../store.ts'
import { type FromThread, lookMs, type ToThread } from '../../thread-heart.ts'
import { WatchTable } from '../../watch-table.ts'
import { Database } from './database.ts'
import type { PlacedHeartData } from './heart-place.ts'
import { release, renew } from './leases.ts'
import { Ledger } from './ledger.ts'

/** The thread of a heart: renews the worker's lease and ends what outlasts its deadline. Its time is the machine's own. */
const data = workerData as PlacedHeartData
const clock = systemClock()
const database = new Database(data.file, { checked: true, cacheKib: 1_024 })
const ledger = new Ledger(database, clock, data.limits, () => {})
/** After a failed renewal the next one comes sooner: the lease runs out meanwhile. */
const retryMs = Math.min(500, data.renewMs)
/** How often the log is copied: each time costs two syncs of the disk. */
const copyMs = 200
let table = new WatchTable(data.watched)
/** Null: nobody has registered yet. */
let worker: number | null = null
let renewAt = Number.POSITIVE_INFINITY
let copyAt = clock.now() + copyMs
let cancel = () => {}
/** What this thread has ended and the other one has not yet taken note of: epochs by id. */
let ended = new Map<number, number>()

parentPort?.on('message', (message: ToThread) => {
  switch (message.kind) {
    case 'keep':
      worker = message.worker
      renewAt = clock.now() + data.renewMs
      return look()
    case 'look':
      return look()
    case 'grow':
      table = new WatchTable(message.watched)
      return look()
    case 'stop':
      return stop()
    default:
      return message satisfies never
  }
})
tell({ kind: 'ready' })
schedule(lookMs)

function look(): void {
  cancel()
  try {
    endOutlasted()
    if (clock.now() >= renewAt) {
      renew(ledger, { id: worker, identity: data.identity, leaseMs: data.leaseMs })
      renewAt = clock.now() + data.renewMs
    }
  } catch (error) {
    if (isSluiceError(error, 'lease_lost')) {
      tell({ kind: 'lost' })
      stop()
      return
    }
    // A full disk or a locked file may be over in a moment. If it is not, the lease runs out, and renewing says so.
    renewAt = clock.now() + retryMs
  }
  copyLog()
  schedule(Math.max(0, Math.min(lookMs, renewAt - clock.now())))
}

/** What the engine writes is copied from the log to the file here, beside its work, rather than in one of its commits. */
function copyLog(): void {
  if (clock.now() < copyAt) return
  copyAt = clock.now() + copyMs
  try {
    database.copyLog()
  } catch {
    // The writer does it itself when the log has grown long.
  }
}

function endOutlasted(): void {
  const now = ledger.time()
  const leases: LeaseProof[] = []
  for (let slot = 0; slot < table.size; slot += 1) {
    const watched = table.get(slot)
    if (watched && watched.deadline <= now) leases.push({ id: watched.id, epoch: watched.epoch })
  }
  const fresh = leases.filter(({ id, epoch }) => ended.get(id) !== epoch)
  if (fresh.length > 0) release(ledger, { kind: 'timed_out', leases: fresh, error: outranTimeout })
  ended = new Map(leases.map(({ id, epoch }) => [id, epoch]))
}

function schedule(delayMs: number): void {
  cancel = clock.after(delayMs, look)
}

function stop(): void {
  cancel()
  database.close()
  parentPort?.close()
}

function tell(message: FromThread): void {
  parentPort?.postMessage(message)
}
