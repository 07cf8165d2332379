import type { Clock } from '../../clock.ts'
import type { Database } from './database.ts'

/** An answer that was so long on its way says little. */
const wayMsMax = 50
const looks = 3

/**
 * How far the server's clock is ahead of ours: all processes go by the server's. The quickest of a few answers is taken, and what its way
 * took is halved. Null: none was quick enough to tell.
 */
export function aheadOf(database: Database, clock: Clock): Promise<number | null> {
  return database.single(async (session) => {
    // The first answer may have waited for the connection to be made.
    await session.one('SELECT 1')
    let best: { readonly wayMs: number; readonly aheadMs: number } | null = null
    for (let look = 0; look < looks; look += 1) {
      const begun = clock.now()
      const row = await session.one('SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8')
      const wayMs = clock.now() - begun
      if (best === null || wayMs < best.wayMs) best = { wayMs, aheadMs: (row?.[0] as number) - (begun + wayMs / 2) }
    }
    return best && best.wayMs <= wayMsMax ? best.aheadMs : null
  })
}
