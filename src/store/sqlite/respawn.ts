import type { ChildBirth, Move } from '../../store.ts'
import { hintOfWait } from './births.ts'
import { endUnits } from './leases.ts'
import type { Ledger } from './ledger.ts'
import { place } from './placing.ts'
import { type EntityRow, ownerOf, waitAt, waitCode } from './row.ts'
import { actorText, record, writeLabels, writeRow } from './row-writing.ts'

/** Its source ran again, and it had ended badly: it begins anew, with what the source says of it now. */
export function reopen(ledger: Ledger, row: EntityRow, birth: ChildBirth, move: Move, now: number): void {
  const { respawn } = birth
  if (!respawn) return
  const { lanes, dictionary } = ledger
  const lane = lanes.byId(row.lane)
  const before = ledger.figure(row)
  if (ownerOf(row) !== null) ledger.hint('ended')
  endUnits(ledger, row)
  const { wait } = respawn
  const hop = { transition: respawn.transition, from: dictionary.text(row.state), to: respawn.to }
  row.state = dictionary.word(respawn.to)
  row.settled = 0
  row.seq += 1
  row.epoch += 1
  row.generation += 1
  row.attempts = 0
  row.suspect = 0
  row.wait = waitCode(wait)
  row.at = waitAt(wait)
  row.reason = null
  // A cursor into the old data would lead astray: request, checkpoint, progress and error all go.
  row.more = wait.for === 'run' && wait.pool !== undefined ? JSON.stringify({ pool: wait.pool }) : null
  row.changedAt = now
  place(ledger, row, lane, 0, now)
  writeRow(ledger, row, birth.data)
  writeLabels(ledger, row, birth.labels)
  lanes.count(lane, before, ledger.figure(row))
  record(ledger, row, dictionary.path('respawn', [hop]), actorText(move.actor), null, now)
  hintOfWait(ledger, row)
}
