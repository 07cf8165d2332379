import type { EntityId } from '../../entity.ts'
import { SluiceError } from '../../errors.ts'
import { keyPool } from '../../pool.ts'
import { refusalOfMove } from '../../refusal.ts'
import { SeenIds } from '../../seen-ids.ts'
import type { Move, Signal, Verdict } from '../../store.ts'
import type { Session } from './database.ts'
import type { Desk } from './desk.ts'
import type { Facts } from './facts.ts'
import { judge, saved } from './judge.ts'
import { decided, type Ids, Ledger } from './ledger.ts'
import { move as apply } from './moving.ts'
import type { LaneName, ShareName } from './need.ts'
import { end } from './operation.ts'
import { sharesOf, waits } from './row.ts'
import { commitSealed } from './sealed.ts'
import { Stock } from './stock.ts'
import { refusalOfMoveTexts } from './text-fault.ts'
import { countUniform, isUniform, Unproven, writeUniform } from './uniform.ts'

/** The moves one after another, each judged by what those before it left, in one transaction. */
export async function commit(desk: Desk, operation: string, moves: readonly Move[]): Promise<readonly Verdict[]> {
  const { commitMax } = desk.limits
  if (moves.length > commitMax) {
    throw new SluiceError(
      'invalid',
      `${moves.length} moves in one commit; at most ${commitMax} are allowed. Commit them in groups.`,
      {
        given: moves.length,
        max: commitMax,
      },
    )
  }
  if (isUniform(moves)) {
    const lane = desk.leases.rootLaneOf(moves)
    if (lane !== null && (await commitSealed(desk, nameOf(operation), lane, moves))) {
      const verdicts = new Array<Verdict>(moves.length).fill(saved)
      if (moves[0]!.wait?.for === 'purge') desk.tell({ work: false, due: true, ended: false })
      desk.leases.ended(moves, verdicts)
      return verdicts
    }
    try {
      return await inOne(
        desk,
        operation,
        moves,
        (session) => writeUniform(desk, session, moves),
        (session, facts, written, name) => countUniform(desk, session, facts, name, moves, written),
      )
    } catch (error) {
      // One of them is not as it was thought to be: each is judged by itself.
      if (!(error instanceof Unproven)) throw error
    }
  }
  return inOne(
    desk,
    operation,
    moves,
    (session) => readEntities(session, new Stock(session, desk.dictionary), moves),
    (session, facts, read, name) => writeAll(desk, session, facts, name, moves, read),
  )
}

function nameOf(operation: string): string {
  return `commit ${operation}`
}

interface Written {
  readonly verdicts: readonly Verdict[]
  readonly hints: Signal | null
  readonly isRepeat?: boolean
}

async function inOne<Early>(
  desk: Desk,
  operation: string,
  moves: readonly Move[],
  early: (session: Session) => Promise<Early>,
  write: (session: Session, facts: Facts, early: Early, name: string) => Promise<Written>,
): Promise<readonly Verdict[]> {
  const name = nameOf(operation)
  const { verdicts, hints, isRepeat } = await desk.once<Early, Written>(
    name,
    early,
    (session, facts, found) => write(session, facts, found, name),
    (known) => ({ verdicts: verdictsOf(known), hints: null, isRepeat: true }),
  )
  // Told only when it is there for all to see.
  if (hints) desk.tell(hints)
  // What a repeat answers for may have been claimed again since.
  if (!isRepeat) desk.leases.ended(moves, verdicts)
  return verdicts
}

interface Read {
  readonly stock: Stock
  readonly ids: Ids
}

async function writeAll(
  desk: Desk,
  session: Session,
  facts: Facts,
  name: string,
  moves: readonly Move[],
  { stock, ids }: Read,
): Promise<Written> {
  await Promise.all([readPools(stock, moves), readLanes(stock, moves)])
  const { ledger, result: verdicts } = await decided(
    stock,
    () => new Ledger(desk, facts, stock, ids),
    (ledger) => decideAll(ledger, moves),
  )
  ledger.flush(session)
  end(session, name, textOf(verdicts), ledger.changes.text(), facts.now)
  void session.commit()
  return { verdicts, hints: ledger.hints() }
}

function decideAll(ledger: Ledger, moves: readonly Move[]): readonly Verdict[] {
  const seen = new SeenIds()
  return moves.map((move): Verdict => {
    const refusal = refusalOf(ledger, move, seen)
    if (refusal) return refusal
    const row = ledger.row(move.id)
    const verdict = judge(ledger, row, move)
    if (verdict === saved && row) apply(ledger, row, move)
    return verdict
  })
}

function refusalOf(ledger: Ledger, move: Move, seen: SeenIds): Verdict | null {
  if (!seen.add(move.id)) {
    const message = `Entity ${move.id} stands twice in this commit: the second move cannot have proof of the first. Send it in another commit.`
    return { kind: 'refused', message }
  }
  const message = refusalOfMove(move, ledger.limits) ?? refusalOfMoveTexts(move)
  return message === null ? null : { kind: 'refused', message }
}

/** What the moves are likely to need, in few round trips: entities first, then pools, lanes last. */
async function readEntities(session: Session, stock: Stock, moves: readonly Move[]): Promise<Read> {
  const parents = moves.filter(({ children }) => children.length > 0)
  const stagers = moves.filter(({ staging }) => staging !== 'none')
  const births = parents.reduce((sum, { children }) => sum + children.length, 0)
  const [entities, stagings] = await Promise.all([
    drawn(session, 'entity_id', births),
    drawn(session, 'staging_id', stagers.length),
    stock.loadRows([...new Set(moves.map(({ id }) => id))].sort((one, other) => one - other)),
    ...parents.map(({ id, children }) =>
      stock.loadChildren(
        id,
        children.map(({ ordinal }) => ordinal),
      ),
    ),
    stagers.length > 0 ? stock.loadStagings(stagers.map(({ id }) => id)) : undefined,
  ])
  return { stock, ids: { entities, stagings } }
}

function readPools(stock: Stock, moves: readonly Move[]): Promise<unknown> {
  const shares: ShareName[] = []
  const keys = new Set<string>()
  for (const { id, takes, gives, children } of moves) {
    for (const { pool } of takes) shares.push({ pool, entity: id })
    for (const pool of gives) shares.push({ pool, entity: id })
    for (const { key } of children) if (key !== null) keys.add(keyPool(key))
    const row = stock.rows.get(id)
    if (row?.shares) for (const pool of sharesOf(row).lease ?? []) shares.push({ pool, entity: id })
  }
  if (shares.length === 0 && keys.size === 0) return Promise.resolve()
  const names = new Set([...shares.map(({ pool }) => pool), ...keys])
  return Promise.all([
    stock.loadPools([...names]),
    stock.loadShares(shares),
    keys.size > 0 ? stock.loadHolders([...keys]) : undefined,
  ])
}

async function readLanes(stock: Stock, moves: readonly Move[]): Promise<void> {
  const ids = new Set<number>()
  const parents = new Set<EntityId>()
  const names = new Map<string, LaneName>()
  for (const move of moves) {
    const row = stock.rows.get(move.id)
    if (!row) continue
    ids.add(row.lane)
    const isAwaiting = row.wait === waits.children || move.wait?.for === 'children'
    if (isAwaiting || move.lanes !== null || move.opens.length > 0 || move.shuts.length > 0) parents.add(move.id)
    for (const { lane: name } of move.read ?? []) names.set(`${move.id}/${name}`, { parent: move.id, name })
    for (const { parent, lane: name } of move.children) names.set(`${parent}/${name}`, { parent, name })
    for (const name of [...move.opens, ...move.shuts]) names.set(`${move.id}/${name}`, { parent: move.id, name })
  }
  await stock.loadLanes({ ids: [...ids], parents: [...parents], names: [...names.values()] })
  // Lines are needed of lanes that are large, gated or changed; most are not, and then this is not asked.
  const lined = [...stock.lanes.values()].filter(
    ({ lane }) => lane.parent !== null && (parents.has(lane.parent) || lane.total > 500 || lane.status !== 'going'),
  )
  if (lined.length > 0) await stock.loadLines(lined.map(({ id }) => id))
}

export async function drawn(session: Session, sequence: string, count: number): Promise<readonly number[]> {
  if (count === 0) return []
  const rows = await session.all(`SELECT nextval('${sequence}') FROM generate_series(1, $1::int8)`, [count])
  return rows.map(([id]) => id as number)
}

/** Most commits are saved as a whole: then a number says it. */
export function textOf(verdicts: readonly Verdict[]): string {
  return verdicts.every((verdict) => verdict === saved) ? String(verdicts.length) : JSON.stringify(verdicts)
}

function verdictsOf(text: string): readonly Verdict[] {
  const kept: number | readonly Verdict[] = JSON.parse(text)
  return typeof kept === 'number' ? Array.from({ length: kept }, () => saved) : kept
}
