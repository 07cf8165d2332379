import type { Change } from '../../control.ts'
import type { EntityId } from '../../entity.ts'
import type { Caller } from '../access.ts'
import { isSeen } from '../collections.ts'
import type { Origins } from '../origins.ts'
import type { Sieve } from './listener.ts'

export interface Wanted {
  readonly ids: readonly EntityId[] | undefined
  readonly machine: string | undefined
}

/** What of the feed a caller asked for and may hear; null if that is all of it. */
export function sieveOf(caller: Caller, { ids, machine }: Wanted, origins: Origins): Sieve | null {
  if (caller.collections === null && ids === undefined && machine === undefined) return null
  const named = ids && new Set(ids)
  const isHeard = async (id: EntityId): Promise<boolean> => {
    if (named && !named.has(id)) return false
    if (machine === undefined && caller.collections === null) return true
    const origin = await origins.of(id)
    return isSeen(caller, origin) && (machine === undefined || origin?.machine === machine)
  }
  return async (change: Change) => {
    const all = [...new Set([...change.events.map(({ entity }) => entity), ...change.births])]
    const heard = new Set<EntityId>()
    for (const id of all) if (await isHeard(id)) heard.add(id)
    if (heard.size === 0) return null
    const events = change.events.filter(({ entity }) => heard.has(entity))
    const births = change.births.filter((id) => heard.has(id))
    return { position: change.position, events, births }
  }
}
