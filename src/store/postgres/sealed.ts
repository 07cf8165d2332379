import type { Move } from '../../store.ts'
import { Changes } from './changes.ts'
import type { Desk } from './desk.ts'
import { isRefusedValue } from './fault.ts'
import { enterNotBefore } from './operation.ts'
import { strayMsMax, Unproven, uniformUpdate, uniformValues } from './uniform.ts'

/** The latest that anybody has written. */
export const latestTime =
  "greatest((SELECT at FROM operation ORDER BY position DESC LIMIT 1), (SELECT value FROM counter WHERE name = 'time'))"

/**
 * Moves that are alike, of entities that nobody else counts: roots of one machine. Then even what is usually decided here can be left to the
 * server, and the whole commit goes there as one: nobody waits for the lane while the answers are on their way. What must be true for that
 * is part of the statement; if it is not, the statement fails, nothing is written, and the moves go the usual way.
 */
const write = `WITH moved AS (${uniformUpdate} AND lane = $12 RETURNING 1),
  counted AS (
    UPDATE lane SET open = open - $13, wake = wake + CASE WHEN open = $13 THEN 1 ELSE 0 END,
      counts = jsonb_strip_nulls(counts::jsonb || jsonb_build_object(
        $14::text, nullif((counts::jsonb ->> $14)::int8 - $13, 0),
        $15::text, coalesce((counts::jsonb ->> $15)::int8, 0) + $13))::text
    WHERE id = $12 AND parent IS NULL AND watches = '[]' AND status <> 'stopped'
      AND (SELECT count(*) FROM moved) = $13
      AND NOT EXISTS (SELECT FROM tombstone WHERE purged_at IS NULL)
      AND (SELECT value FROM counter WHERE name = 'machines') = $16
      AND ${latestTime} <= $8 + ${strayMsMax}
    RETURNING 1)
  SELECT CASE (SELECT count(*) FROM counted) WHEN 1 THEN 1 ELSE ('sluice: not alike, judged one by one; lanes: ' || (SELECT count(*) FROM counted))::int4 END,
    ${latestTime}`

/** False: nothing was written. */
export async function commitSealed(desk: Desk, name: string, lane: number, moves: readonly Move[]): Promise<boolean> {
  const [first] = moves as [Move, ...Move[]]
  const from = first.hops[0]!.from
  if (from === first.state) return false
  // Texts of many moves are made before anything is locked.
  const changes = new Changes()
  for (const { id, seq } of moves) changes.moved(id, seq + 1)
  let isTried = false
  try {
    await desk.learning(() =>
      desk.database.write(async (session) => {
        // It stood in somebody's way, or was done before.
        if (isTried) throw new Unproven()
        const at = desk.time()
        // A name that is not known yet is learned, and then it is tried.
        const values = uniformValues(desk, moves, at)
        isTried = true
        const written = session.one(write, [...values, lane, moves.length, from, first.state, desk.dictionary.revision])
        enterNotBefore(session, name, String(moves.length), changes.text(), at)
        void session.commit()
        const [, latest] = (await written.catch((error: unknown) => {
          throw isRefusedValue(error) ? new Unproven() : error
        })) as [number, number | null]
        desk.time(latest ?? 0)
      }),
    )
    return true
  } catch (error) {
    if (error instanceof Unproven) return false
    throw error
  }
}
