import type { ChildBirth, Move } from '../../store.ts'
import { actorText } from './actor-text.ts'
import { hintOfWait } from './births.ts'
import type { Ledger } from './ledger.ts'
import { place } from './placing.ts'
import { type EntityRow, setLabels, waitAt, waitCode } from './row.ts'
import { endUnits } from './units.ts'

/** Its source ran again, and it had ended badly: it begins anew, with what the source says of it now. */
export function reopen(ledger: Ledger, row: EntityRow, birth: ChildBirth, move: Move): void {
  const { respawn } = birth
  if (!respawn) return
  const { lanes, dictionary } = ledger
  const lane = lanes.byId(row.lane)
  const before = ledger.figure(row)
  if (row.owner !== null) ledger.hint('ended')
  endUnits(ledger, row)
  const { wait } = respawn
  const hop = { transition: respawn.transition, from: dictionary.text(row.state), to: respawn.to }
  row.state = dictionary.word(respawn.to)
  row.settled = false
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
  row.changedAt = Math.max(row.changedAt, ledger.now)
  setLabels(row, birth.labels)
  place(ledger, row, lane, 0)
  ledger.writing.change(row, birth.data)
  lanes.count(lane, before, ledger.figure(row))
  ledger.record(row, dictionary.path('respawn', [hop]), actorText(move.actor), null)
  hintOfWait(ledger, row)
}
