import type { EntityId } from '../../entity.ts'
import { SluiceError } from '../../errors.ts'
import { refusalOfMove } from '../../refusal.ts'
import { SeenIds } from '../../seen-ids.ts'
import type { Move, Verdict } from '../../store.ts'
import { Alike, isPlainMove } from './alike.ts'
import { isRefusedFault } from './fault.ts'
import { idSet } from './id-set.ts'
import { judge, saved } from './judge.ts'
import type { Ledger } from './ledger.ts'
import { move as apply } from './moving.ts'
import { type EntityRow, plainRowOf, rowOf, selectPlainRows, selectRowsWithoutData } from './row.ts'
import { takeUniform } from './uniform.ts'

/** The moves one after another, each judged by what those before it left, in one transaction. */
export function commit(ledger: Ledger, operation: string, moves: readonly Move[]): readonly Verdict[] {
  const { commitMax } = ledger.limits
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
  try {
    return ledger.write((now) => once(ledger, operation, now, () => commitAll(ledger, moves, now)))
  } catch (error) {
    if (!isRefusedFault(error)) throw error
    // One of them is none that the database will have. Each is tried by itself, so that it stands alone.
    return ledger.write((now) => once(ledger, operation, now, () => commitEach(ledger, moves, now, error.message)))
  }
}

function once(ledger: Ledger, operation: string, now: number, act: () => readonly Verdict[]): readonly Verdict[] {
  const name = `commit ${operation}`
  const known = ledger.feed.verdicts(name, now)
  if (known !== null) return verdictsOf(known)
  const verdicts = act()
  ledger.feed.close(name, textOf(verdicts), now)
  return verdicts
}

function commitAll(ledger: Ledger, moves: readonly Move[], now: number): readonly Verdict[] {
  const alike = new Alike(ledger, moves, now)
  const taken = takeUniform(ledger, moves, alike, now)
  if (taken === moves.length) return new Array<Verdict>(taken).fill(saved)
  const rows = rowsFor(ledger, taken === 0 ? moves : moves.slice(taken), now)
  const seen = new SeenIds()
  const verdicts = moves.map((move, position): Verdict => {
    if (position < taken) {
      seen.add(move.id)
      return saved
    }
    const refusal = refusalOf(ledger, move, seen)
    if (refusal) return refusal
    const row = rows.get(move.id)
    const verdict = judge(ledger, row?.judged, move, now)
    if (verdict !== saved || !row || alike.add(row.judged, move)) return verdict
    alike.flush()
    const reopened = apply(ledger, row.isWhole ? row.judged : rowsOf(ledger, [move.id]).get(move.id)!, move, now)
    // They may move in this commit too: their rows are read again.
    if (reopened.length > 0)
      for (const [id, fresh] of rowsOf(ledger, reopened)) rows.set(id, { judged: fresh, isWhole: true })
    return verdict
  })
  alike.flush()
  return verdicts
}

function commitEach(ledger: Ledger, moves: readonly Move[], now: number, message: string): readonly Verdict[] {
  const seen = new SeenIds()
  return moves.map((move) =>
    ledger.carefully(
      (): Verdict => {
        const refusal = refusalOf(ledger, move, seen)
        if (refusal) return refusal
        const row = rowsOf(ledger, [move.id]).get(move.id)
        const verdict = judge(ledger, row, move, now)
        if (verdict === saved && row) apply(ledger, row, move, now)
        return verdict
      },
      { kind: 'refused', message },
    ),
  )
}

function refusalOf(ledger: Ledger, move: Move, seen: SeenIds): Verdict | null {
  if (!seen.add(move.id)) {
    const message = `Entity ${move.id} stands twice in this commit: the second move cannot have proof of the first. Send it in another commit.`
    return { kind: 'refused', message }
  }
  const message = refusalOfMove(move, ledger.limits)
  return message === null ? null : { kind: 'refused', message }
}

interface Candidate {
  readonly judged: EntityRow
  /** All of the row was read, so that it can be written back. */
  readonly isWhole: boolean
}

/** The rows of all moves, read at once; only in part where that is enough. Holds are judged by labels, which is more. */
function rowsFor(ledger: Ledger, moves: readonly Move[], now: number): Map<EntityId, Candidate> {
  const isHeld = ledger.holds.standing(now).length > 0
  const plain: EntityId[] = []
  const whole: EntityId[] = []
  for (const move of moves) (!isHeld && isPlainMove(move) ? plain : whole).push(move.id)
  const candidates = new Map<EntityId, Candidate>()
  if (plain.length > 0) {
    // An id that was given twice may make a range too wide: then a row is read that nobody asks for.
    const { where, values } = idSet(plain)
    const found = ledger.database.all(`${selectPlainRows} WHERE ${where}`, ...values)
    for (const row of found) {
      const judged = plainRowOf(row)
      if (judged) candidates.set(judged.id, { judged, isWhole: false })
      else whole.push(row[0] as number)
    }
  }
  for (const [id, judged] of rowsOf(ledger, whole)) candidates.set(id, { judged, isWhole: true })
  return candidates
}

function rowsOf(ledger: Ledger, ids: readonly EntityId[]): Map<EntityId, EntityRow> {
  const rows = new Map<EntityId, EntityRow>()
  if (ids.length === 0) return rows
  const { where, values } = idSet(ids)
  const found = ledger.database.all(`${selectRowsWithoutData} WHERE ${where}`, ...values)
  for (const columns of found) {
    const row = rowOf(columns)
    rows.set(row.id, row)
  }
  return rows
}

/** Most commits are saved as a whole: then a number says it. */
function textOf(verdicts: readonly Verdict[]): string {
  return verdicts.every(isSaved) ? String(verdicts.length) : JSON.stringify(verdicts)
}

function isSaved(verdict: Verdict): boolean {
  return verdict === saved
}

function verdictsOf(text: string): readonly Verdict[] {
  const kept: number | readonly Verdict[] = JSON.parse(text)
  return typeof kept === 'number' ? Array.from({ length: kept }, () => saved) : kept
}
