import { type Clock, sleep } from '../clock.ts'
import { SluiceError } from '../errors.ts'
import type { Worker } from '../lease.ts'
import type { Store } from '../store.ts'
import type { Watcher } from './watcher.ts'

/** How often it is looked again whether workers are gone. */
const lookMs = 250
const namedMax = 10

/**
 * Nobody works on the store any more. Workers that ended in order are gone from its list; those that died are found when their leases have
 * run out, and what they held is released as any sweeper would do it.
 */
export async function quieten(store: Store, clock: Clock, waitMs: number, watcher: Watcher): Promise<void> {
  const begun = clock.now()
  for (;;) {
    watcher.signal?.throwIfAborted()
    const alive = await store.workers()
    if (alive.length === 0) break
    const waited = clock.now() - begun
    if (waited >= waitMs) throw busy(alive, store.time(), waitMs)
    watcher.onProgress({ phase: 'waiting', section: null, done: Math.min(waited, waitMs), total: waitMs })
    await sleep(clock, Math.min(lookMs, waitMs - waited), watcher.signal)
  }
  await store.release({ kind: 'dead' })
}

function busy(alive: readonly Worker[], now: number, waitMs: number): SluiceError {
  const named = alive.slice(0, namedMax).map(({ name, host, pid }) => `${name} (${host}, process ${pid})`)
  const more = alive.length > namedMax ? ` and ${alive.length - namedMax} more` : ''
  const leftMs = Math.max(...alive.map(({ expiresAt }) => expiresAt)) - now
  const waited = waitMs > 0 ? ` after ${waitMs} ms` : ''
  return new SluiceError(
    'conflict',
    `Workers are at work on the source${waited}: ${named.join(', ')}${more}. Stop them; if one is dead already, wait for its lease: --wait ${Math.max(1_000, Math.ceil(leftMs / 1_000) * 1_000)}.`,
    { workers: alive.length },
  )
}
