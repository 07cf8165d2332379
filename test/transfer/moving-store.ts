import type { Clock } from '../../src/clock.ts'
import type { Store } from '../../src/store.ts'
import type { Open } from '../../src/testing/index.ts'
import { carry, type Place } from './place.ts'

/** No store has positions beyond: so each place has its own. */
const span = 2 ** 45

export interface MovingStore {
  readonly open: Open
  /** How often it was moved so far. */
  moves(): number
}

/**
 * A store that is moved elsewhere whenever all of its workers have died, from one kind to the next and round again. Whoever uses it must not
 * notice. Only whoever follows the feed has to start anew: that is done here for him, for he had read it to its end.
 */
export function movingStore(makers: readonly ((limits: object) => Promise<Place>)[]): MovingStore {
  let moves = 0
  const open: Open = async ({ clock: given, limits = {} }) => {
    const clock = monotonic(given)
    const places = [await makers[0]!(limits)]
    let current = places[0]!.store(clock)
    /** Where the feed was when the store came here. */
    let begin = 0

    const moveOn = async (): Promise<void> => {
      const next = await makers[places.length % makers.length]!(limits)
      await current.close()
      await carry(places.at(-1)!, next, undefined, { storeClock: clock })
      places.push(next)
      current = next.store(clock)
      await current.migrate()
      begin = (await current.events({ after: Number.MAX_SAFE_INTEGER, limit: 1 })).position
      moves += 1
    }

    const own: Partial<Store> = {
      async release(order) {
        const ids = await current.release(order)
        if (order.kind === 'dead' && (await current.workers()).length === 0) await moveOn()
        return ids
      },
      async events(query) {
        if ('entity' in query) return current.events(query)
        const here = places.length - 1
        const [place, position] = [Math.floor(query.after / span), query.after % span]
        const page = await current.events({ ...query, after: place < here ? begin : position })
        return { ...page, position: here * span + page.position }
      },
    }
    const store = new Proxy({} as Store, {
      get: (_, name: keyof Store) => own[name] ?? (current[name] as (() => unknown) | undefined)?.bind(current),
    })
    return {
      store,
      async close() {
        await current.close()
        for (const place of places) await place.remove()
      },
    }
  }
  return { open, moves: () => moves }
}

/** Handles come and go: none of them is to find a clock that was set back meanwhile. */
function monotonic(clock: Clock): Clock {
  let latest = 0
  return {
    now() {
      latest = Math.max(latest, clock.now())
      return latest
    },
    after: (delayMs, callback) => clock.after(delayMs, callback),
    soon: (callback) => clock.soon(callback),
    random: () => clock.random(),
  }
}
