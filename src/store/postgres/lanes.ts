import type { EntityId } from '../../entity.ts'
import { changeLane, type Lane, type LaneChange, type LaneFigure, reasonIn } from '../../lane.ts'
import type { Sums } from '../../outcome.ts'
import type { Session } from './database.ts'
import type { Dictionary, MachineEntry } from './dictionary.ts'
import { Missing } from './need.ts'
import { laneKey, type Stock } from './stock.ts'

/** A lane in one decision: as it was read, then changed in memory, written once. */
export interface LaneRow {
  readonly id: number
  lane: Lane
  machine: number | null
  awaited: boolean
  hidden: boolean
  /** Changes that are not yet in `lane`: alike ones stand together. */
  readonly pending: { from: LaneFigure | null; to: LaneFigure | null; times: number }[]
  dirty: boolean
  /** Children, those of this decision included. */
  size: number
}

/** Lane rows, all of them locked. Parents without a lane yet get one with their standing order. */
export class Lanes {
  readonly #stock: Stock
  readonly #dictionary: Dictionary
  readonly #reasonsMax: number
  readonly #rows = new Map<number, LaneRow>()
  readonly #dirty = new Set<LaneRow>()
  readonly #hint: (hint: 'due') => void

  constructor(stock: Stock, dictionary: Dictionary, reasonsMax: number, hint: (hint: 'due') => void) {
    this.#stock = stock
    this.#dictionary = dictionary
    this.#reasonsMax = reasonsMax
    this.#hint = hint
  }

  byId(id: number): LaneRow {
    const known = this.#rows.get(id)
    if (known) return known
    const read = this.#stock.lanes.get(id)
    if (!read) throw new Missing({ kind: 'lanes', ids: [id] })
    const { lane, machine, awaited, hidden } = read
    const row: LaneRow = { id, lane, machine, awaited, hidden, pending: [], dirty: false, size: lane.total }
    this.#rows.set(id, row)
    return row
  }

  find(parent: EntityId | null, name: string): LaneRow | null {
    const id = this.#stock.laneIds.get(laneKey(parent, name))
    if (id === undefined) throw new Missing({ kind: 'lanesNamed', lanes: [{ parent, name }] })
    return id === null ? null : this.byId(id)
  }

  /** By name, hidden ones too. */
  of(parent: EntityId): readonly LaneRow[] {
    const ids = this.#stock.lanesOf.get(parent)
    if (!ids) throw new Missing({ kind: 'lanesOf', parents: [parent] })
    return ids.map((id) => this.byId(id))
  }

  /** The lane with all changes of this decision. */
  current(row: LaneRow): Lane {
    if (row.pending.length > 0) this.#set(row, changeLane(row.lane, row.pending.splice(0)))
    return row.lane
  }

  make(parent: EntityId | null, name: string, hidden = false): LaneRow {
    const known = this.find(parent, name)
    if (!known) throw new Missing({ kind: 'lane', lane: { parent, name }, hidden })
    if (known.hidden && !hidden) {
      known.hidden = false
      this.#soil(known)
    }
    return known
  }

  /** The lane that counts entities of this machine, ready to do so. */
  makeFor(
    parent: EntityId | null,
    name: string,
    machine: MachineEntry,
    watches: readonly string[],
    hidden = false,
  ): LaneRow {
    const row = this.make(parent, name, hidden)
    const news = watches.length === 0 ? watches : watches.filter((state) => !row.lane.watches.includes(state))
    if (row.machine !== null && news.length === 0) return row
    const lane = this.current(row)
    if (row.machine === null) row.machine = machine.id
    const { name: machineName, version } = this.#dictionary.machineOf(row.machine)
    this.#set(row, { ...lane, machine: machineName, version, watches: [...lane.watches, ...news] })
    return row
  }

  /** The reason as the lane counts it. */
  reasonIn(row: LaneRow, reason: string | null): string | null {
    return reason === null ? null : reasonIn(this.current(row), reason, this.#reasonsMax)
  }

  count(row: LaneRow, from: LaneFigure | null, to: LaneFigure | null, times = 1): void {
    const last = row.pending.at(-1)
    if (last && sameFigure(last.from, from) && sameFigure(last.to, to)) last.times += times
    else row.pending.push({ from, to, times })
    if (from === null) row.size += times
    else if (to === null) row.size -= times
    this.#soil(row)
  }

  countAll(row: LaneRow, changes: readonly LaneChange[]): void {
    for (const { from, to, times } of changes) this.count(row, from, to, times)
  }

  change(row: LaneRow, changes: Partial<Lane>): void {
    this.#set(row, { ...this.current(row), ...changes })
  }

  /** The parent begins or ends to wait for its children. */
  await(parent: EntityId, awaited: boolean): void {
    for (const row of this.of(parent)) {
      if (row.awaited === awaited) continue
      row.awaited = awaited
      this.#soil(row)
      if (awaited && row.lane.wake > row.lane.seen) this.#hint('due')
    }
  }

  flush(session: Session): void {
    if (this.#dirty.size === 0) return
    // In the order of their ids, as they were locked.
    const rows = [...this.#dirty].sort((one, other) => one.id - other.id)
    const lanes = rows.map((row) => this.current(row))
    session.send(updateLanes, [
      rows.map(({ id }) => id),
      rows.map(({ machine }) => machine),
      lanes.map(({ counts }) => JSON.stringify(counts)),
      lanes.map(({ total }) => total),
      lanes.map(({ open }) => open),
      lanes.map(({ reasons }) => JSON.stringify(reasons)),
      lanes.map(({ sums }) => JSON.stringify(sums)),
      lanes.map(({ wake }) => wake),
      lanes.map(({ seen }) => seen),
      lanes.map(({ watches }) => JSON.stringify(watches)),
      lanes.map(({ entered }) => JSON.stringify(entered)),
      lanes.map(({ gate }) => gate),
      lanes.map(({ status }) => status),
      rows.map(({ awaited }) => awaited),
      rows.map(({ hidden }) => hidden),
    ])
  }

  #set(row: LaneRow, lane: Lane): void {
    if (lane.wake > row.lane.wake && row.awaited) this.#hint('due')
    row.lane = lane
    this.#soil(row)
  }

  #soil(row: LaneRow): void {
    if (row.dirty) return
    row.dirty = true
    this.#dirty.add(row)
  }
}

const updateLanes = `UPDATE lane SET machine = u.machine, counts = u.counts, total = u.total, open = u.open, reasons = u.reasons, sums = u.sums,
  wake = u.wake, seen = u.seen, watches = u.watches, entered = u.entered, gate = u.gate, status = u.status, awaited = u.awaited, hidden = u.hidden
  FROM unnest($1::int8[], $2::int4[], $3::text[], $4::int8[], $5::int8[], $6::text[], $7::text[], $8::int8[], $9::int8[], $10::text[],
    $11::text[], $12::text[], $13::text[], $14::bool[], $15::bool[])
    AS u (id, machine, counts, total, open, reasons, sums, wake, seen, watches, entered, gate, status, awaited, hidden)
  WHERE lane.id = u.id`

function sameFigure(one: LaneFigure | null, other: LaneFigure | null): boolean {
  if (one === null || other === null) return one === other
  if (one === other) return true
  return (
    one.state === other.state &&
    one.settled === other.settled &&
    one.reason === other.reason &&
    sameSums(one.sums, other.sums)
  )
}

function sameSums(one: Sums | null, other: Sums | null): boolean {
  return one === other || (one !== null && other !== null && JSON.stringify(one) === JSON.stringify(other))
}
