import { type Clock, systemClock } from '../../clock.ts'
import { defaultLimits, type Limits } from '../../limits.ts'
import type { HeartRequest, Store } from '../../store.ts'
import { refuseMarked, type Transfer } from '../../transfer.ts'
import { checkClaim, claim } from './claim.ts'
import { commit } from './commit.ts'
import { create } from './create.ts'
import { Database } from './database.ts'
import { due } from './due.ts'
import { startHeart } from './heart.ts'
import { release, renew, workers } from './leases.ts'
import { Ledger } from './ledger.ts'
import { list } from './list.ts'
import { purge, tombstones } from './purge.ts'
import { recount } from './recount.ts'
import { Signals } from './signals.ts'
import { SqliteTransfer } from './transfer.ts'
import { marksOf } from './transfer-mark.ts'

export interface SqliteStoreOptions {
  /** The database file. It is made if it is not there; its folder must be. */
  readonly file: string
  /**
   * For tests that make time themselves. A store that is handed a clock has no heart: that runs in a thread of its own, by the
   * machine's clock, and the two would not agree.
   */
  readonly clock?: Clock
  readonly limits?: Partial<Limits>
  /** How large the file may grow, in pages; without it, as large as the disk allows. */
  readonly pagesMax?: number
}

export interface SqliteStore extends Store {
  /** Rows that this handle has written since it was opened: what an order costs can be counted. */
  rowsWritten(): number
}

/**
 * A store in one file of this machine, durable against power loss. One process writes at full speed; a second one on the
 * same file is correct, not fast. Opening checks the file and refuses what is damaged, of another program or newer.
 */
export function sqliteStore(options: SqliteStoreOptions): SqliteStore {
  const { file, clock = systemClock() } = options
  const limits: Limits = { ...defaultLimits, ...options.limits }
  const database = new Database(file)
  if (options.pagesMax !== undefined) database.limitPages(options.pagesMax)
  const signals = new Signals(clock, () => database.version())
  const ledger = new Ledger(database, clock, limits, (signal) => signals.tell(signal))
  const hearts = new Set<{ stop(): Promise<void> }>()
  if (database.hasTables()) ledger.read(() => {})

  return {
    async migrate() {
      refuseMarked(marksOf(database), file)
      database.migrate()
      ledger.read(() => {})
    },

    async define(machines) {
      ledger.write(() => {
        for (const machine of machines) ledger.dictionary.define(machine)
      })
    },

    time: () => ledger.time(),

    async create(operation, births) {
      return create(ledger, operation, births)
    },

    async get(ids) {
      return ledger.read(() => {
        const rows = ledger.rows(ids)
        return ids.map((id) => {
          const row = rows.get(id)
          return row ? ledger.entity(row) : null
        })
      })
    },

    async list(filter) {
      return list(ledger, filter)
    },

    async claim(request) {
      checkClaim(request)
      for (;;) {
        const { again, ...result } = claim(ledger, request)
        if (!again) return result
        // Many rows are being put aside: others have their turn between the groups.
        await new Promise<void>((resolve) => clock.soon(resolve))
      }
    },

    async commit(operation, moves) {
      return commit(ledger, operation, moves)
    },

    async renew(renewal) {
      return renew(ledger, renewal)
    },

    async release(order) {
      return release(ledger, order)
    },

    async due(limit, machines) {
      return due(ledger, limit, machines)
    },

    async lanes(parents) {
      return ledger.read(() => [...new Set(parents)].flatMap((parent) => ledger.lanes.shown(parent)))
    },

    async recount(parents, mend) {
      return recount(ledger, parents, mend)
    },

    async events(query) {
      return ledger.read((now) => ledger.feed.read(query, now, limits.pageMax))
    },

    async holds(change) {
      if (change && 'past' in change) return ledger.read((now) => ledger.holds.past(change.past, now))
      if (!change) return ledger.read((now) => ledger.holds.standing(now))
      return ledger.write((now) => {
        ledger.holds.change(change, now)
        ledger.noteTime(now)
        // What was held may be claimable now.
        if ('lift' in change) ledger.hint('work')
        return ledger.holds.standing(now)
      })
    },

    async pools(names) {
      return ledger.read(() => ledger.pools.read(names))
    },

    async workers() {
      return workers(ledger)
    },

    async purge(root, limit) {
      return purge(ledger, root, limit)
    },

    async tombstones(ids) {
      return tombstones(ledger, ids)
    },

    signals: (listener) => signals.listen(listener),

    ...(options.clock === undefined && {
      heart(request: HeartRequest) {
        const lost = () => {
          hearts.delete(heart)
          request.lost()
        }
        const heart = startHeart({ file, limits }, () => ledger.time(), { ...request, lost })
        hearts.add(heart)
        return heart
      },
    }),

    rowsWritten: () => database.rowsWritten(),

    async close() {
      signals.stop()
      await Promise.all([...hearts].map((heart) => heart.stop()))
      if (!database.isOpen()) return
      try {
        if (database.hasTables()) ledger.write((now) => ledger.noteTime(now))
      } catch {
        // The disk is full or the file is gone: all that was acknowledged is in it, and each commit notes the time as well.
      } finally {
        database.close()
      }
    },
  }
}

/** The file as a whole, for `sluice move`. */
export function sqliteTransfer(options: Pick<SqliteStoreOptions, 'file' | 'limits'>): Transfer {
  return new SqliteTransfer(options.file, systemClock(), { ...defaultLimits, ...options.limits })
}
