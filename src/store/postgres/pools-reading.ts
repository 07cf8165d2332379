import { keyPool, type Pool } from '../../pool.ts'
import type { Desk } from './desk.ts'
import { holdersMax } from './stock.ts'

const keyPrefix = keyPool('')

/** Pools by name, with some of their holders; unknown names are left out, and so is one that nobody ever took of. */
export async function pools(desk: Desk, names: readonly string[]): Promise<readonly Pool[]> {
  const asked = [...new Set(names)].filter((name) => !name.includes('\u0000'))
  if (asked.length === 0) return []
  return desk.read(async (session) => {
    const [rows, keys, held] = await Promise.all([
      session.all('SELECT name, ceiling, taken FROM pool WHERE name = ANY($1::text[]) AND (turns > 0 OR taken > 0)', [
        asked,
      ]),
      session.all('SELECT pool, 1, sum(amount) FROM pool_share WHERE pool = ANY($1::text[]) GROUP BY pool', [
        asked.filter((name) => name.startsWith(keyPrefix)),
      ]),
      session.all(
        `SELECT asked.name, share.entity, share.amount FROM unnest($1::text[]) AS asked (name)
         CROSS JOIN LATERAL (
           SELECT entity, amount, turn FROM pool_share WHERE pool = asked.name ORDER BY turn, entity LIMIT ${holdersMax}) share
         ORDER BY asked.name, share.turn, share.entity`,
        [asked],
      ),
    ])
    const holders = Map.groupBy(held as readonly (readonly [string, number, number])[], ([name]) => name)
    const found = new Map([...rows, ...keys].map(([name, ceiling, taken]) => [name, [ceiling, taken]] as const))
    return asked.flatMap((name) => {
      const [ceiling, taken] = (found.get(name) ?? []) as [number?, number?]
      if (ceiling === undefined || taken === undefined) return []
      const shares = (holders.get(name) ?? []).map(([, entity, amount]) => ({ entity, amount }))
      return [{ name, ceiling, taken, holders: shares }]
    })
  })
}
