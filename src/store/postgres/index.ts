import { type Clock, systemClock } from '../../clock.ts'
import type { EntityId } from '../../entity.ts'
import { defaultLimits, type Limits } from '../../limits.ts'
import type { HeartRequest, Store } from '../../store.ts'
import { refuseMarked, type Transfer } from '../../transfer.ts'
import { claim } from './claim.ts'
import { aheadOf } from './clock-difference.ts'
import { commit } from './commit.ts'
import { create } from './create.ts'
import { answerMsDefault, checkSchema, Database } from './database.ts'
import { Desk } from './desk.ts'
import { due } from './due.ts'
import { events, prune } from './feed.ts'
import { startHeart } from './heart.ts'
import { holds } from './holds.ts'
import { release } from './leases.ts'
import { list } from './list.ts'
import { type MigrationPlan, migrate, plan } from './migrate.ts'
import { pools } from './pools-reading.ts'
import { purge } from './purge.ts'
import { get, lanes, tombstones } from './reading.ts'
import { recount } from './recount.ts'
import { Signals } from './signals.ts'
import { PostgresTransfer } from './transfer.ts'
import { marksOf } from './transfer-mark.ts'
import { renew, workers } from './workers.ts'

export { examine, type Finding } from './examine.ts'
export type { MigrationPlan } from './migrate.ts'

export interface PostgresStoreOptions {
  /** postgres://user:password@host:port/database */
  readonly url: string
  /** Every table lives in it. Without it the address may name one (`?schema=name`); otherwise it is `sluice`. */
  readonly schema?: string
  /**
   * For tests that make time themselves. A store that is handed a clock has no heart: that runs in a thread of its own, by the
   * server's clock, and the two would not agree.
   */
  readonly clock?: Clock
  readonly limits?: Partial<Limits>
  /** Two more are used beside these: one listens, one renews leases. */
  readonly connectionsMax?: number
}

export interface PostgresStore extends Store {
  /** Rows that this handle has written since it was opened: what an order costs can be counted. */
  rowsWritten(): number
}

export const defaultSchema = 'sluice'
const connectionsMaxDefault = 6
/** How often old operations are removed, and the server's clock is looked at. */
const upkeepMs = 1_000
const clockCheckMs = 10_000
/** How long an index over a large table, or a recount of millions of rows, may take. */
const patienceMs = 60 * 60 * 1_000

/** A store on a PostgreSQL server, for any number of processes on any number of hosts. It connects when it is first used. */
export function postgresStore(options: PostgresStoreOptions): PostgresStore {
  const { url, schema = schemaIn(url), clock = systemClock(), connectionsMax = connectionsMaxDefault } = options
  const limits: Limits = { ...defaultLimits, ...options.limits }
  // What comes later than a lease lasts is worth nothing to whoever holds one.
  const answerMs = Math.min(answerMsDefault, limits.leaseMs)
  const database = new Database(url, checkSchema(schema), connectionsMax, clock, answerMs)
  const signals = new Signals(database, schema, clock)
  const desk = new Desk(database, schema, clock, limits, (signal, born) => {
    if (signal.work) comes(born ?? null)
    signals.tell(signal, born)
  })
  desk.handover.giveBack = (worker, lease) => release(desk, { kind: 'give_back', worker, leases: [lease] })
  const hearts = new Set<{ stop(): Promise<void> }>()
  const hasOwnClock = options.clock !== undefined
  let checkedAt = Number.NEGATIVE_INFINITY
  let upkeptAt = Number.NEGATIVE_INFINITY

  /** Somebody may have come into a line, anywhere in it. */
  function comes(born: EntityId | null): void {
    desk.floors.forgetAll()
    desk.handover.heard(born)
  }

  async function lookAtClock(): Promise<void> {
    if (hasOwnClock || clock.now() - checkedAt < clockCheckMs) return
    checkedAt = clock.now()
    const aheadMs = await aheadOf(database, clock)
    if (aheadMs !== null) desk.setAhead(aheadMs)
  }

  /** For what may take long, and is done seldom: over a connection of its own, with patience. */
  async function patiently<Result>(work: (patient: Desk) => Promise<Result>): Promise<Result> {
    const own = new Database(url, checkSchema(schema), 1, clock, patienceMs)
    try {
      return await work(new Desk(own, schema, clock, limits, desk.tell))
    } finally {
      await own.close()
    }
  }

  async function upkeep(): Promise<void> {
    await lookAtClock()
    if (clock.now() - upkeptAt < upkeepMs) return
    upkeptAt = clock.now()
    await prune(desk)
  }

  return {
    async migrate() {
      refuseMarked(await marksOf(database), `${database.where}, schema ${schema}`)
      await patiently((patient) => migrate(patient.database, schema))
      await lookAtClock()
      await desk.dictionary.learn({})
      await desk.read(async () => {})
    },

    define: (machines) => desk.dictionary.define(machines),
    time: () => desk.time(),
    create: (operation, births) => create(desk, operation, births),
    get: (ids) => get(desk, ids),
    list: (filter) => list(desk, filter),

    async claim(request) {
      signals.newcomers.claiming()
      const result = await claim(desk, request)
      signals.newcomers.claimed(result.entities)
      return result
    },

    commit: (operation, moves) => commit(desk, operation, moves),

    async renew(renewal) {
      await lookAtClock()
      return renew(desk, renewal)
    },

    async release(order) {
      // What was just given to it is among those that it does not know of.
      if (order.kind === 'all_but' || order.kind === 'retire') desk.handover.forget(order.worker)
      const ids = await release(desk, order)
      desk.handover.ended(ids)
      return ids
    },

    async due(limit, machines) {
      await upkeep()
      return due(desk, limit, machines)
    },

    lanes: (parents) => lanes(desk, parents),
    recount: (parents, mend) => patiently((patient) => recount(patient, parents, mend)),
    // Somebody's transaction is still open below what was asked for: those who follow look again soon.
    events: (query) => events(desk, query, () => signals.again()),
    holds: (change) => holds(desk, change),
    pools: (names) => pools(desk, names),
    workers: () => workers(desk),
    purge: (root, limit) => purge(desk, root, limit),
    tombstones: (ids) => tombstones(desk, ids),
    signals(listener) {
      desk.floors.isKept = true
      return signals.listen((signal) => {
        if (signal.work) comes(null)
        listener(signal)
      })
    },

    ...(!hasOwnClock && {
      heart(request: HeartRequest) {
        const lost = () => {
          hearts.delete(heart)
          request.lost()
        }
        const heart = startHeart({ url, schema, limits }, () => desk.time(), { ...request, lost })
        hearts.add(heart)
        return heart
      },
    }),

    rowsWritten: () => database.rowsWritten(),

    async close() {
      await Promise.all([...hearts].map((heart) => heart.stop()))
      desk.handover.stop()
      await signals.stop()
      await database.close()
    },
  }
}

function schemaIn(url: string): string {
  return (URL.canParse(url) ? new URL(url).searchParams.get('schema') : null) ?? defaultSchema
}

/** What `migrate()` would do, without doing it. */
export async function planMigration({
  url,
  schema = schemaIn(url),
}: Pick<PostgresStoreOptions, 'url' | 'schema'>): Promise<MigrationPlan> {
  const database = new Database(url, checkSchema(schema), 1, systemClock())
  try {
    return await plan(database, schema)
  } finally {
    await database.close()
  }
}

/** The schema as a whole, for `sluice move`. */
export function postgresTransfer(options: Pick<PostgresStoreOptions, 'url' | 'schema' | 'limits'>): Transfer {
  const limits: Limits = { ...defaultLimits, ...options.limits }
  return new PostgresTransfer(options.url, checkSchema(options.schema ?? defaultSchema), systemClock(), limits)
}
