import type { ChildBirth, Move } from '../../store.ts'
import { bear, hintOfWait, rowOfBirth } from './births.ts'
import type { LaneRow } from './lanes.ts'
import type { Ledger } from './ledger.ts'
import { removeRow } from './removal.ts'
import { reopen } from './respawn.ts'
import type { EntityRow } from './row.ts'
import { changesOf } from './staging.ts'

/** The children of a move: staged, or seen at once together with all that was staged before. */
export function spawn(ledger: Ledger, source: EntityRow, move: Move): void {
  const lanes = new Map<string, LaneRow>()
  for (const birth of move.children) {
    const id = ledger.newId()
    const old = ledger.child(source.id, birth.ordinal)
    if (old && !ledger.stagings.isOpen(old.staging)) {
      if (birth.respawn?.from.includes(ledger.dictionary.text(old.state))) reopen(ledger, old, birth, move)
      continue
    }
    if (old) unstage(ledger, source.id, old)
    if (move.staging === 'stage') stage(ledger, source.id, birth, id)
    else appear(ledger, source.id, birth, id, lanes)
  }
  if (move.staging === 'publish') publish(ledger, source.id, move.spawned)
}

/** A child that is seen from now on. */
function appear(ledger: Ledger, source: number, birth: ChildBirth, id: number, known: Map<string, LaneRow>): void {
  const { dictionary, lanes } = ledger
  const key = `${birth.parent}/${birth.lane}`
  let lane = known.get(key)
  if (!lane || birth.watches.length > 0) {
    lane = lanes.makeFor(birth.parent, birth.lane, dictionary.machine(birth.machine, birth.version), birth.watches)
    known.set(key, lane)
  }
  const row = rowOfBirth(ledger, birth, id, lane, { source, ordinal: birth.ordinal, staging: null })
  row.reason = lanes.reasonIn(lane, birth.reason)
  lanes.count(lane, null, ledger.figure(row))
  bear(ledger, row, lane)
  ledger.changes.born(id)
  hintOfWait(ledger, row)
}

/** Written, but unseen: not even its lane is, if nobody else made it. */
function stage(ledger: Ledger, source: number, birth: ChildBirth, id: number): void {
  const { lanes, stagings, dictionary } = ledger
  const staging = stagings.make(source)
  const lane = lanes.make(birth.parent, birth.lane, true)
  const row = rowOfBirth(ledger, birth, id, lane, { source, ordinal: birth.ordinal, staging: staging.id })
  row.reason = lanes.reasonIn(lane, birth.reason)
  stagings.add(staging, lane.id, dictionary.machine(birth.machine, birth.version).id, birth.watches, ledger.figure(row))
  stagings.born(staging, id)
  bear(ledger, row, lane)
}

/** One row for all that the source staged, and one for each lane and line of it. */
function publish(ledger: Ledger, source: number, spawned: number): void {
  const { lanes, lines, stagings, dictionary, changes } = ledger
  const staging = stagings.of(source)
  if (!staging) return
  // An earlier, crashed attempt went further than the one that ended: its surplus never was.
  for (const row of ledger.surplus(source, spawned, staging.id)) unstage(ledger, source, row)
  stagings.close(staging)
  for (const staged of staging.lanes.values()) {
    const figures = changesOf(staged)
    if (figures.length === 0) continue
    const { parent, name } = lanes.byId(staged.lane).lane
    const lane = lanes.makeFor(parent, name, dictionary.machineOf(staged.machine), staged.watches)
    lanes.countAll(lane, figures)
  }
  lines.publish(staging.id, staging.lanes.keys(), (lane) => lanes.byId(lane).lane)
  for (const [first, count] of staging.births) changes.published(first, count)
  ledger.hint('work')
  ledger.hint('due')
}

function unstage(ledger: Ledger, source: number, row: EntityRow): void {
  const staging = ledger.stagings.of(source)
  if (staging) ledger.stagings.take(staging, row.lane, ledger.figure(row))
  removeRow(ledger, row)
}
