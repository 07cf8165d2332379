import { refusalOfMove } from '../../refusal.ts'
import { SeenIds } from '../../seen-ids.ts'
import type { Move, Signal, Verdict } from '../../store.ts'
import { isSamePath } from '../../transition.ts'
import { actorText } from './actor-text.ts'
import { Changes } from './changes.ts'
import type { Session, Value } from './database.ts'
import type { Desk } from './desk.ts'
import type { Facts } from './facts.ts'
import { saved } from './judge.ts'
import { type LaneColumns, laneColumns, laneOf } from './lane-row.ts'
import { decided, Ledger } from './ledger.ts'
import { end } from './operation.ts'
import { plans, waitAt, waitCode } from './row.ts'
import { Stock } from './stock.ts'
import { refusalOfMoveTexts } from './text-fault.ts'
import { trailMax } from './writing.ts'

/** Some of the moves do not have the proof, or their rows have more to them: nothing was written. */
export class Unproven extends Error {}

/**
 * Whether all moves are alike, and of the kind that most are: the holder of the lease ends its work and the entity comes to rest. Then
 * one statement proves and writes all of them, and nothing is read before.
 */
export function isUniform(moves: readonly Move[]): boolean {
  const [first] = moves
  if (!first || !isPlain(first)) return false
  const seen = new SeenIds()
  for (const move of moves) if (!seen.add(move.id) || !isLike(first, move)) return false
  return true
}

function isLike(first: Move, move: Move): boolean {
  return (
    move === first ||
    (isPlain(move) &&
      move.state === first.state &&
      move.cause === first.cause &&
      move.generation === first.generation &&
      move.wait?.for === first.wait?.for &&
      timeOf(move) === timeOf(first) &&
      isSamePath(move.hops, first.hops) &&
      (move.actor === first.actor || actorText(move.actor) === actorText(first.actor)))
  )
}

function timeOf({ wait }: Move): number | null {
  return wait === null ? null : waitAt(wait)
}

function isPlain(move: Move): boolean {
  return (
    move.by === 'lease' &&
    move.settled &&
    !move.keep &&
    move.attempts === 'reset' &&
    move.hops.length > 0 &&
    (move.wait?.for === 'nothing' || move.wait?.for === 'purge') &&
    move.data === null &&
    move.labels === null &&
    move.priority === null &&
    (move.request ?? null) === null &&
    (move.checkpoint ?? null) === null &&
    (move.progress ?? null) === null &&
    (move.reason ?? null) === null &&
    (move.sums ?? null) === null &&
    (move.error ?? null) === null &&
    move.children.length === 0 &&
    move.staging === 'none' &&
    move.spawned === 0 &&
    move.opens.length === 0 &&
    move.shuts.length === 0 &&
    move.lanes === null &&
    move.read === null &&
    move.takes.length === 0 &&
    move.gives.length === 0
  )
}

/** What the row has beyond this is for the slower way: shares to give back, requests to clear, a trail that is long. */
export const uniformUpdate = `UPDATE entity SET cold = true, owner = NULL, line = NULL, rank = NULL, plan = $4, state = $5, settled = true,
      seq = entity.seq + 1, attempts = 0, suspect = 0, wait = $6, at = $7, changed_at = greatest(changed_at, $8),
      trail = trail || '[' || (entity.seq + 1) || ',' || entity.epoch || ',' || generation || ',' || greatest(changed_at, $8) || $9
    FROM unnest($1::int8[], $2::int4[], $3::int4[]) AS proof (id, epoch, seq)
    WHERE NOT cold AND entity.id = proof.id AND entity.epoch = proof.epoch AND entity.seq = proof.seq
      AND owner IS NOT NULL AND state = $10 AND generation = $11 AND NOT settled AND wait IN (1, 2)
      AND reason IS NULL AND sums IS NULL AND shares IS NULL AND more IS NULL AND length(trail) < ${trailMax}
      AND (staging IS NULL OR staging NOT IN (SELECT id FROM staging))`

const write = `WITH moved AS (${uniformUpdate} RETURNING lane),
  counted AS (SELECT lane AS of, count(*) AS moves FROM moved GROUP BY lane)
  SELECT ${laneColumns}, moves FROM lane JOIN counted ON lane.id = counted.of ORDER BY lane.id FOR UPDATE OF lane`

/** What `writeUniform` did: at which time, and to how many of each lane, with the lane under its lock. */
export interface Uniform {
  readonly at: number
  readonly lanes: readonly { readonly columns: LaneColumns; readonly moves: number }[]
}

/** Clocks of processes differ by less. */
export const strayMsMax = 1_000

/** Proves and writes all of them, locks their lanes after that, and says how many of each there were. */
export async function writeUniform(desk: Desk, session: Session, moves: readonly Move[]): Promise<Uniform> {
  const at = desk.time()
  const found = await session.all(write, uniformValues(desk, moves, at))
  return { at, lanes: found.map((row) => ({ columns: laneOf(row, desk.dictionary), moves: row.at(-1) as number })) }
}

/** What `uniformUpdate` asks for. */
export function uniformValues({ dictionary, limits }: Desk, moves: readonly Move[], at: number): readonly Value[] {
  const [first] = moves as [Move, ...Move[]]
  if (refusalOfMove(first, limits) ?? refusalOfMoveTexts(first)) throw new Unproven()
  const wait = first.wait ?? { for: 'nothing' as const }
  const actor = actorText(first.actor)
  const rest = `,${dictionary.path(first.cause, first.hops)}${actor === null ? '' : `,${actor},null`}]\n`
  // In the order of their ids, as all locks are taken.
  const ordered = moves.length > 1 ? [...moves].sort(byId) : moves
  const [ids, epochs, seqs]: [number[], number[], number[]] = [[], [], []]
  for (const { id, epoch, seq } of ordered) {
    ids.push(id)
    epochs.push(epoch)
    seqs.push(seq)
  }
  return [
    ids,
    epochs,
    seqs,
    wait.for === 'purge' ? plans.purge : null,
    dictionary.word(first.state),
    waitCode(wait),
    waitAt(wait),
    at,
    rest,
    dictionary.word(first.hops[0]!.from),
    first.generation,
  ]
}

function byId(one: Move, other: Move): number {
  return one.id - other.id
}

/** Their lanes, and the rest of the commit. */
export async function countUniform(
  desk: Desk,
  session: Session,
  facts: Facts,
  name: string,
  moves: readonly Move[],
  { at, lanes }: Uniform,
): Promise<{ readonly verdicts: readonly Verdict[]; readonly hints: Signal | null }> {
  const [first] = moves as [Move, ...Move[]]
  // They were stamped before it was known what others had written: a clock that is far behind is not gone by.
  if (facts.purging.size > 0 || facts.now - at > strayMsMax) throw new Unproven()
  if (lanes.reduce((sum, lane) => sum + lane.moves, 0) < moves.length) throw new Unproven()
  const stock = new Stock(session, desk.dictionary)
  for (const { columns } of lanes) stock.keepLane(columns)
  const before = { state: first.hops[0]!.from, settled: false, reason: null, sums: null }
  const after = { state: first.state, settled: true, reason: null, sums: null }
  const { ledger } = await decided(
    stock,
    () => new Ledger(desk, facts, stock, { entities: [], stagings: [] }),
    (ledger) => {
      for (const { columns, moves } of lanes) {
        const lane = ledger.lanes.byId(columns.id)
        if (lane.lane.status === 'stopped') throw new Unproven()
        ledger.lanes.count(lane, before, after, moves)
      }
      if (first.wait?.for === 'purge') ledger.hint('due')
    },
  )
  ledger.flush(session)
  const changes = new Changes()
  for (const { id, seq } of moves) changes.moved(id, seq + 1)
  end(session, name, String(moves.length), changes.text(), facts.now)
  void session.commit()
  return { verdicts: new Array<Verdict>(moves.length).fill(saved), hints: ledger.hints() }
}
