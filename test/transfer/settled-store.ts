import type { Open } from '../../src/testing/index.ts'
import { sqlitePlace } from './place.ts'

/** A store that stays where it is. */
export const settled: Open = async ({ clock, limits = {} }) => {
  const place = await sqlitePlace(limits)
  const store = place.store(clock)
  return {
    store,
    async close() {
      await store.close()
      await place.remove()
    },
  }
}
