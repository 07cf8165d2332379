import type { EntityId } from '../../entity.ts'
import type { ChildBirth, Move } from '../../store.ts'
import { hintOfWait, rowOfBirth } from './births.ts'
import type { LaneRow } from './lanes.ts'
import type { Ledger } from './ledger.ts'
import { Nursery } from './nursery.ts'
import { removeRows } from './removal.ts'
import { reopen } from './respawn.ts'
import { type EntityRow, rowOf, selectRowsWithoutData } from './row.ts'
import { changesOf, type Staging } from './stagings.ts'

/** The children of a move: staged, or seen at once together with all that was staged before. Returns those that were reopened. */
export function spawn(ledger: Ledger, source: EntityRow, move: Move, now: number): readonly EntityId[] {
  const reopened: EntityId[] = []
  if (move.children.length > 0) {
    const existing = existingOf(ledger, source.id, move.children)
    let id = ledger.database.take('entity', move.children.length) - move.children.length
    const lanes = new Map<string, LaneRow>()
    const nursery = new Nursery(ledger, now)
    for (const birth of move.children) {
      id += 1
      const old = existing.get(birth.ordinal)
      if (old && !ledger.stagings.isOpen(old.staging)) {
        if (!birth.respawn?.from.includes(ledger.dictionary.text(old.state))) continue
        nursery.flush()
        reopen(ledger, old, birth, move, now)
        reopened.push(old.id)
        continue
      }
      if (old) {
        nursery.flush()
        unstage(ledger, source.id, old)
      }
      const row =
        move.staging === 'stage'
          ? stage(ledger, nursery, source.id, birth, id, now)
          : appear(ledger, nursery, source.id, birth, id, lanes, now)
      existing.set(birth.ordinal, row)
    }
    nursery.flush()
  }
  if (move.staging === 'publish') publish(ledger, source.id, move.spawned)
  return reopened
}

/** What this source has spawned before under these ordinals. */
function existingOf(ledger: Ledger, source: number, children: readonly ChildBirth[]): Map<number, EntityRow> {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const { ordinal } of children) {
    low = Math.min(low, ordinal)
    high = Math.max(high, ordinal)
  }
  const range = `${selectRowsWithoutData} WHERE source = ? AND ordinal`
  const rows =
    high - low < children.length * 2
      ? ledger.database.all(`${range} BETWEEN ? AND ?`, source, low, high)
      : ledger.database.all(
          `${range} IN (SELECT value FROM json_each(?))`,
          source,
          JSON.stringify(children.map(({ ordinal }) => ordinal)),
        )
  return new Map(rows.map((values) => rowOf(values)).map((row) => [row.ordinal!, row]))
}

/** A child that is seen from now on. */
export function appear(
  ledger: Ledger,
  nursery: Nursery,
  source: number,
  birth: ChildBirth,
  id: number,
  known: Map<string, LaneRow>,
  now: number,
): EntityRow {
  const { dictionary, lanes } = ledger
  const key = `${birth.parent}/${birth.lane}`
  let lane = known.get(key)
  if (!lane || birth.watches.length > 0) {
    lane = lanes.makeFor(birth.parent, birth.lane, dictionary.machine(birth.machine, birth.version), birth.watches)
    known.set(key, lane)
  }
  const row = rowOfBirth(ledger, birth, id, lane, { source, ordinal: birth.ordinal, staging: null }, now)
  row.reason = lanes.reasonIn(lane, birth.reason)
  lanes.count(lane, null, ledger.figure(row))
  nursery.add(row, lane)
  ledger.feed.born(id)
  hintOfWait(ledger, row)
  return row
}

/** Written, but unseen: not even its lane is, if nobody else made it. */
function stage(
  ledger: Ledger,
  nursery: Nursery,
  source: number,
  birth: ChildBirth,
  id: number,
  now: number,
): EntityRow {
  const { lanes, stagings, dictionary } = ledger
  const staging = stagings.make(source)
  const lane = lanes.make(birth.parent, birth.lane, true)
  const row = rowOfBirth(ledger, birth, id, lane, { source, ordinal: birth.ordinal, staging: staging.id }, now)
  row.reason = lanes.reasonIn(lane, birth.reason)
  stagings.add(staging, lane.id, dictionary.machine(birth.machine, birth.version).id, birth.watches, ledger.figure(row))
  stagings.born(staging, id)
  nursery.add(row, lane)
  return row
}

/** One row for all that the source staged, and one for each lane and line of it. */
function publish(ledger: Ledger, source: number, spawned: number): void {
  const { database, lanes, lines, stagings, dictionary, feed } = ledger
  const staging = stagings.of(source)
  if (!staging) return
  // An earlier, crashed attempt went further than the one that ended: its surplus never was.
  const surplus = database.all(
    `${selectRowsWithoutData} WHERE source = ? AND ordinal >= ? AND staging = ?`,
    source,
    spawned,
    staging.id,
  )
  for (const values of surplus) unstage(ledger, source, rowOf(values))
  stagings.close(staging)
  for (const staged of staging.lanes.values()) {
    const changes = changesOf(staged)
    if (changes.length === 0) continue
    const { parent, name } = lanes.byId(staged.lane).lane
    const lane = lanes.makeFor(parent, name, dictionary.machineOf(staged.machine), staged.watches)
    lanes.countAll(lane, changes)
  }
  lines.publish(staging.id, (lane) => lanes.byId(lane).lane)
  for (const [first, count] of staging.births) feed.published(first, count)
  ledger.hint('work')
  ledger.hint('due')
}

function unstage(ledger: Ledger, source: number, row: EntityRow): void {
  const staging: Staging | null = ledger.stagings.of(source)
  if (staging) ledger.stagings.take(staging, row.lane, ledger.figure(row))
  removeRows(ledger, [row])
}
