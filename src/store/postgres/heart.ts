import { Worker } from 'node:worker_threads'
import type { EntityId } from '../../entity.ts'
import type { Limits } from '../../limits.ts'
import type { Heart, HeartRequest } from '../../store.ts'
import { WatchTable } from '../../watch-table.ts'
import { type FromThread, type HeartData, type HeartPlace, lookMs, type ToThread } from './heart-message.ts'

const slotsFirst = 4_096
/**
 * Renews a worker's lease from a thread with a connection of its own, so that a busy event loop keeps its lease, and ends the
 * leases of runs that outlast their deadline even when the loop is blocked by one of them.
 */
export function startHeart(place: HeartPlace, limits: Limits, time: () => number, request: HeartRequest): Heart {
  const { worker, identity, leaseMs, renewMs } = request
  let table = WatchTable.ofSize(slotsFirst)
  const slots = new Map<EntityId, number>()
  const free: number[] = []
  let used = 0
  const data: HeartData = { ...place, limits, worker, identity, leaseMs, renewMs, watched: table.buffer }
  const here = import.meta.url
  const thread = new Worker(
    here.endsWith('.ts') ? new URL('./heart-thread.ts', here) : new URL('./heart-thread.js', here),
    {
      workerData: data,
      // It holds a few rows at a time; without a limit its heap would grow as large as that of a whole process.
      resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 4 },
    },
  )
  // A heart alone keeps no process alive.
  thread.unref()
  let stopped = false
  let isLost = false
  const lost = () => {
    if (stopped || isLost) return
    isLost = true
    request.lost()
  }
  thread.on('message', (message: FromThread) => {
    if (message.kind === 'lost') lost()
  })
  // Without its thread the lease will run out: better to say so now.
  thread.on('error', lost)
  thread.on('exit', lost)
  const tell = (message: ToThread) => thread.postMessage(message)

  return {
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

    async stop() {
      if (stopped) return
      stopped = true
      if (thread.threadId < 0) return
      const exited = new Promise<void>((resolve) => thread.once('exit', () => resolve()))
      tell({ kind: 'stop' })
      thread.ref()
      await exited
    },
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
