import type { Worker as Thread } from 'node:worker_threads'
import type { EntityId } from './entity.ts'
import type { Heart, HeartRequest } from './store.ts'
import { WatchTable } from './watch-table.ts'

/**
 * keep: from now on the lease of this worker is renewed. look: a deadline came in that may be earlier than the thread would look again.
 * grow: the table has moved.
 */
export type ToThread =
  | { readonly kind: 'keep'; readonly worker: number }
  | { readonly kind: 'look' }
  | { readonly kind: 'grow'; readonly watched: SharedArrayBuffer }
  | { readonly kind: 'stop' }
/** ready: it could renew a lease, were there one. */
export type FromThread = { readonly kind: 'ready' } | { readonly kind: 'lost' }

/** What the thread of every heart is started with, beside its place. */
export interface HeartData {
  readonly identity: HeartRequest['identity']
  readonly leaseMs: number
  readonly renewMs: number
  readonly watched: SharedArrayBuffer
}

/** The thread looks at its table this often; a deadline that is nearer is announced. */
export const lookMs = 100
const slotsFirst = 4_096

/**
 * Renews a worker's lease from a thread with a connection of its own, so that a busy event loop keeps its lease, and ends the
 * leases of runs that outlast their deadline even when the loop is blocked by one of them. This is the half that the engine holds.
 */
export function threadHeart(start: (data: HeartData) => Thread, time: () => number, request: HeartRequest): Heart {
  const { identity, leaseMs, renewMs } = request
  let table = WatchTable.ofSize(slotsFirst)
  const slots = new Map<EntityId, number>()
  const free: number[] = []
  let used = 0
  const thread = start({ identity, leaseMs, renewMs, watched: table.buffer })
  let stopping: Promise<void> | null = null
  let isLost = false
  const ready = Promise.withResolvers<void>()
  const lost = () => {
    ready.resolve()
    if (stopping || isLost) return
    isLost = true
    request.lost()
  }
  thread.on('message', (message: FromThread) => {
    if (message.kind === 'lost') return lost()
    ready.resolve()
    // Somebody waits until it is ready; after that a heart alone keeps no process alive.
    if (!stopping) thread.unref()
  })
  // Without its thread the lease will run out: better to say so now.
  thread.on('error', lost)
  thread.on('exit', lost)
  const tell = (message: ToThread) => thread.postMessage(message)

  return {
    ready: ready.promise,

    keep: (worker) => tell({ kind: 'keep', worker }),

    watch(id, epoch, deadline) {
      const slot = slots.get(id) ?? free.pop() ?? used++
      if (slot >= table.size) grow()
      slots.set(id, slot)
      table.set(slot, id, epoch, deadline)
      if (deadline < time() + lookMs) tell({ kind: 'look' })
    },

    unwatch(id) {
      const slot = slots.get(id)
      if (slot === undefined) return
      slots.delete(id)
      free.push(slot)
      table.set(slot, 0, 0, 0)
    },

    stop() {
      stopping ??= ended()
      return stopping
    },
  }

  async function ended(): Promise<void> {
    if (thread.threadId < 0) return
    const exited = new Promise<void>((resolve) => thread.once('exit', () => resolve()))
    tell({ kind: 'stop' })
    thread.ref()
    await exited
  }

  function grow(): void {
    const larger = WatchTable.ofSize(table.size * 2)
    for (let slot = 0; slot < table.size; slot += 1) {
      const watched = table.get(slot)
      if (watched) larger.set(slot, watched.id, watched.epoch, watched.deadline)
    }
    table = larger
    tell({ kind: 'grow', watched: table.buffer })
  }
}
