import type { Transfer } from '../../src/transfer.ts'
import type { Place } from './place.ts'

/** What whoever was killed would say. */
export const killed = new Error('killed')

/**
 * Two places whose transfers die together after so many calls, as one process would: what was called last has done its work, and nothing is
 * called any more. Reading has no effect, so it does not count.
 */
export function dying(places: readonly [Place, Place], calls: number): [Place, Place] {
  let left = calls
  const mortal = (transfer: Transfer): Transfer =>
    new Proxy(transfer, {
      get(_, name: keyof Transfer) {
        const call = transfer[name].bind(transfer) as (...given: unknown[]) => Promise<unknown>
        if (name === 'close' || name === 'reading') return call
        return async (...given: unknown[]) => {
          if (left === 0) throw killed
          left -= 1
          return call(...given)
        }
      },
    })
  return places.map((place) => ({ ...place, transfer: () => mortal(place.transfer()) })) as [Place, Place]
}
