import type { Clock } from '../clock.ts'
import { isSluiceError } from '../errors.ts'
import { outranTimeout } from '../lease.ts'
import type { Heart, HeartRequest, Store } from '../store.ts'

/** Renews the lease by the engine's own clock, for stores that bring no thread of their own. */
export function clockHeart(store: Store, clock: Clock, request: HeartRequest): Heart {
  const deadlines = new Map<number, { epoch: number; deadline: number }>()
  let worker: number | null = null
  let stopped = false
  let cancel = () => {}

  const beat = async () => {
    try {
      await store.renew({ id: worker, identity: request.identity, leaseMs: request.leaseMs })
      await dropLate()
    } catch (error) {
      if (isSluiceError(error, 'lease_lost') && !stopped) {
        stopped = true
        request.lost()
        return
      }
      // Anything else may pass: the lease decides how long that may take.
    }
    if (!stopped) cancel = clock.after(request.renewMs, () => void beat())
  }

  const dropLate = async () => {
    const now = store.time()
    const late = [...deadlines].filter(([, { deadline }]) => deadline <= now).map(([id, { epoch }]) => ({ id, epoch }))
    if (late.length === 0) return
    for (const { id } of late) deadlines.delete(id)
    await store.release({ kind: 'timed_out', leases: late, error: outranTimeout })
  }

  return {
    ready: Promise.resolve(),
    keep(id) {
      worker = id
      cancel = clock.after(request.renewMs, () => void beat())
    },
    watch(id, epoch, deadline) {
      deadlines.set(id, { epoch, deadline })
    },
    unwatch(id) {
      deadlines.delete(id)
    },
    async stop() {
      stopped = true
      cancel()
    },
  }
}
