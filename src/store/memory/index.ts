import { type Clock, systemClock } from '../../clock.ts'
import { defaultLimits, type Limits } from '../../limits.ts'
import type { Signal, Store } from '../../store.ts'
import { checkClaim, claim, select } from './claim.ts'
import { checkCommit, commit } from './commit.ts'
import { checkCreate, create } from './create.ts'
import { due } from './due.ts'
import { footprintOfClaim, footprintOfCommit, footprintOfCreate } from './footprint.ts'
import { release, renew, workers } from './leases.ts'
import { list } from './list.ts'
import { Memory } from './memory.ts'
import { purge } from './purge.ts'
import { recount } from './recount.ts'
import { Transactions } from './transactions.ts'

export interface MemoryStoreOptions {
  readonly clock?: Clock
  readonly limits?: Partial<Limits>
  /** Awaited wherever a database would let another transaction in: a simulation thereby chooses the interleaving. */
  readonly yields?: () => Promise<void>
}

/**
 * The executable specification of docs/concepts/store.md: everything is kept in this process and gone with it. Several
 * engines may share one, and it outlives them.
 */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  const memory = new Memory(options.clock ?? systemClock(), { ...defaultLimits, ...options.limits })
  const transactions = new Transactions(options.yields)
  const listeners = new Set<(signal: Signal) => void>()

  /** What was changed is there for all before anybody is told. A listener's fault is its own, never the committer's. */
  function told<Answer>(answer: Answer): Answer {
    const signal = memory.takeHints()
    if (signal) for (const listener of listeners) queueMicrotask(() => listener(signal))
    return answer
  }

  return {
    async migrate() {},

    async define(machines) {
      for (const machine of machines) memory.define(machine)
    },

    time: () => memory.time(),

    async create(operation, births) {
      checkCreate(memory, births)
      return transactions.run(footprintOfCreate(operation, births), () => told(create(memory, operation, births)))
    },

    async get(ids) {
      return ids.map((id) => {
        const row = memory.rows.find(id)
        return row?.lane ? memory.read(row) : null
      })
    },

    async list(filter) {
      return list(memory, filter)
    },

    async claim(request) {
      checkClaim(request)
      if (!options.yields) return told(claim(memory, request, memory.time(), () => true))
      const picks = select(memory, request, memory.time(), (id) => !transactions.isLocked(id))
      const rows = picks.map(({ row }) => row)
      const locked = new Set(rows.map((row) => row.entity.id))
      return transactions.run(footprintOfClaim(rows), () =>
        // Lanes may have shut and pools filled meanwhile: what was chosen is judged again.
        told(claim(memory, request, memory.time(), (id) => locked.has(id))),
      )
    },

    async commit(operation, moves) {
      checkCommit(memory, moves)
      return transactions.run(footprintOfCommit(memory, operation, moves), () => told(commit(memory, operation, moves)))
    },

    async renew(renewal) {
      return renew(memory, renewal, memory.time())
    },

    async release(order) {
      return told(release(memory, order, memory.time()))
    },

    async due(limit, machines) {
      return due(memory, limit, machines, memory.time())
    },

    async lanes(parents) {
      return [...new Set(parents)].flatMap((parent) => memory.lanes.of(parent).map(({ lane }) => lane))
    },

    async recount(parents, mend) {
      return told(recount(memory, parents, mend, memory.time()))
    },

    async events(query) {
      return memory.history.read(query, memory.time(), memory.limits.pageMax)
    },

    async holds(change) {
      if (change && 'past' in change) return told(memory.holds.past(change.past, memory.time()))
      if (change) memory.holds.change(change, memory.time())
      // What was held may be claimable now.
      if (change && 'lift' in change) memory.hint('work')
      return told(memory.holds.standing(memory.time()))
    },

    async pools(names) {
      return memory.pools.read(names)
    },

    async workers() {
      return workers(memory, memory.time())
    },

    async purge(root, limit) {
      return told(purge(memory, root, limit, memory.time()))
    },

    async tombstones(ids) {
      return ids.map((id) => memory.tombstones.get(id) ?? null)
    },

    signals(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },

    // Other engines may share it: it ends when nobody holds it any more.
    async close() {},
  }
}
