import type { EntityId } from '../../entity.ts'
import type { MoveRecord } from '../../event.ts'
import type { Session } from './database.ts'
import type { Dictionary } from './dictionary.ts'

/** One move, as a line of an entity's trail or of its history has it. What is missing at the end is null. */
export type Line = readonly [
  seq: number,
  epoch: number,
  generation: number,
  at: number,
  path: number,
  actor?: readonly (string | null)[] | null,
  error?: string | null,
]

export interface MoveName {
  readonly entity: EntityId
  readonly seq: number
}

/** Moves of one entity behind a number, oldest first. Moves are numbered from 1 without a gap. */
export async function historyOf(
  session: Session,
  dictionary: Dictionary,
  entity: EntityId,
  afterSeq: number,
  limit: number,
): Promise<readonly MoveRecord[]> {
  const after = Math.max(0, Math.floor(afterSeq))
  if (!Number.isSafeInteger(entity) || after > 2 ** 31 - 1 || limit === 0) return []
  const last = Math.min(2 ** 31 - 1, after + limit)
  const [older, row] = await Promise.all([
    session.all(
      `SELECT records FROM history WHERE entity = $1 AND first <= $3
       AND first >= coalesce((SELECT max(first) FROM history WHERE entity = $1 AND first <= $2), 0) ORDER BY first`,
      [entity, after, last],
    ),
    session.one('SELECT trail FROM entity WHERE id = $1', [entity]),
  ])
  const text = older.map(([records]) => records as string).join('') + ((row?.[0] as string | undefined) ?? '')
  return linesOf(text)
    .map((line) => JSON.parse(line) as Line)
    .filter(([seq]) => seq > after && seq <= last)
    .map((line) => recordOf(entity, line, dictionary))
}

/** These moves, in the order given; those of purged entities are left out. */
export async function recordsOf(
  session: Session,
  dictionary: Dictionary,
  moves: readonly MoveName[],
): Promise<readonly MoveRecord[]> {
  if (moves.length === 0) return []
  const rows = await session.all('SELECT id, trail FROM entity WHERE id = ANY($1::int8[])', [
    [...new Set(moves.map(({ entity }) => entity))],
  ])
  const trails = new Map(rows.map(([id, trail]) => [id as number, trail as string]))
  const lines = moves.map(({ entity, seq }) => lineIn(trails.get(entity) ?? '', seq))
  // Few are so old that they left the row; a purged entity has neither.
  const missing = moves.filter(({ entity }, index) => lines[index] === null && trails.has(entity))
  const older = await olderOf(session, missing)
  return moves.flatMap(({ entity, seq }, index) => {
    const line = lines[index] ?? lineIn(older.get(`${entity}/${seq}`) ?? '', seq)
    return line === null ? [] : [recordOf(entity, JSON.parse(line) as Line, dictionary)]
  })
}

async function olderOf(session: Session, moves: readonly MoveName[]): Promise<ReadonlyMap<string, string>> {
  if (moves.length === 0) return new Map()
  const rows = await session.all(
    `SELECT move.entity, move.seq, older.records FROM unnest($1::int8[], $2::int4[]) AS move (entity, seq)
     CROSS JOIN LATERAL (
       SELECT records FROM history WHERE entity = move.entity AND first <= move.seq ORDER BY first DESC LIMIT 1) older`,
    [moves.map(({ entity }) => entity), moves.map(({ seq }) => seq)],
  )
  return new Map(rows.map(([entity, seq, records]) => [`${entity}/${seq}`, records as string]))
}

export function linesOf(text: string): readonly string[] {
  return text.split('\n').slice(0, -1)
}

/** Lines begin with their number; a line break within a text is escaped. */
function lineIn(text: string, seq: number): string | null {
  const begin = text.startsWith(`[${seq},`) ? 0 : text.indexOf(`\n[${seq},`) + 1
  if (begin === 0 && !text.startsWith(`[${seq},`)) return null
  return text.slice(begin, text.indexOf('\n', begin))
}

export function recordOf(entity: EntityId, line: Line, dictionary: Dictionary): MoveRecord {
  const [seq, epoch, generation, at, path, actor, error] = line
  const { cause, hops } = dictionary.pathOf(path)
  const [name, role, reason, requestId] = actor ?? []
  return {
    ...{ entity, seq, epoch, generation, at, cause, hops },
    actor: name ?? null,
    role: role ?? null,
    reason: reason ?? null,
    requestId: requestId ?? null,
    error: error ?? null,
  }
}
