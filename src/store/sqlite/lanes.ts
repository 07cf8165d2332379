import type { EntityId } from '../../entity.ts'
import {
  changeLane,
  emptyLane,
  type Lane,
  type LaneChange,
  type LaneFigure,
  type LaneStatus,
  reasonIn,
} from '../../lane.ts'
import type { Sums } from '../../outcome.ts'
import type { Database, Row } from './database.ts'
import type { Dictionary, MachineEntry } from './dictionary.ts'
import { waits } from './row.ts'

/** A lane as this connection knows it: read once, changed in memory, written once per transaction. */
export interface LaneRow {
  readonly id: number
  lane: Lane
  /** The lane's machine. Null: nobody was born into it yet. */
  machine: number | null
  /** Its parent waits for children. */
  awaited: boolean
  hidden: boolean
  /** Changes of this transaction that are not yet in `lane`: alike ones stand together. */
  readonly pending: { from: LaneFigure | null; to: LaneFigure | null; times: number }[]
  dirty: boolean
  /** Children, those of this transaction included. */
  size: number
}

/** The order over an entity's own lanes, as its row keeps it. */
export const standings: readonly LaneStatus[] = ['going', 'resting', 'stopped']

const keptMax = 20_000
const select =
  'SELECT id, parent, name, machine, counts, total, open, reasons, sums, wake, seen, watches, entered, gate, status, awaited, hidden FROM lane'

/** Lane rows. Parents without a lane yet get one with their standing order. */
export class Lanes {
  readonly #database: Database
  readonly #dictionary: Dictionary
  readonly #reasonsMax: number
  readonly #rows = new Map<number, LaneRow>()
  readonly #names = new Map<string, LaneRow>()
  readonly #dirty = new Set<LaneRow>()
  /** Children are spawned by the thousand into the same lane: its key is put together once. */
  #lastFound: LaneRow | null = null
  readonly #hint: (hint: 'due') => void

  constructor(database: Database, dictionary: Dictionary, reasonsMax: number, hint: (hint: 'due') => void) {
    this.#database = database
    this.#dictionary = dictionary
    this.#reasonsMax = reasonsMax
    this.#hint = hint
    database.onForget(() => this.#forget())
  }

  byId(id: number): LaneRow {
    return this.#rows.get(id) ?? this.#keep(this.#database.get(`${select} WHERE id = ?`, id)!)
  }

  find(parent: EntityId | null, name: string): LaneRow | null {
    const last = this.#lastFound
    if (last && last.lane.parent === parent && last.lane.name === name) return last
    const found = this.#names.get(keyOf(parent, name)) ?? this.#read(parent, name)
    if (found) this.#lastFound = found
    return found
  }

  /** By name, hidden ones too. */
  of(parent: EntityId | null): readonly LaneRow[] {
    const rows = this.#database.all('SELECT id FROM lane WHERE parent IS ? ORDER BY name', parent)
    return rows.map(([id]) => this.byId(id as number))
  }

  /** In the order in which they were made, as people see them. */
  shown(parent: EntityId | null): readonly Lane[] {
    return this.of(parent)
      .toSorted((one, other) => one.id - other.id)
      .flatMap((row) => (row.hidden ? [] : [this.current(row)]))
  }

  /** The lane with all changes of this transaction. */
  current(row: LaneRow): Lane {
    if (row.pending.length > 0) this.#set(row, changeLane(row.lane, row.pending.splice(0)))
    return row.lane
  }

  make(parent: EntityId | null, name: string, hidden = false): LaneRow {
    const known = this.find(parent, name)
    if (known) {
      if (known.hidden && !hidden) this.#reveal(known)
      return known
    }
    const { standing, awaited } = this.#orderOf(parent)
    const status = standings[standing] ?? 'stopped'
    const lane: Lane = { ...emptyLane(parent, name, '', 0, []), status }
    const id = this.#database.number(
      `INSERT INTO lane (parent, name, counts, total, open, reasons, sums, wake, seen, watches, entered, gate, status, awaited, hidden)
       VALUES (?, ?, '{}', 0, 0, '{}', '{}', 0, 0, '[]', '[]', 'shut', ?, ?, ?) RETURNING id`,
      parent,
      name,
      status,
      awaited ? 1 : 0,
      hidden ? 1 : 0,
    )!
    return this.#add({ id, lane, machine: null, awaited, hidden, pending: [], dirty: false, size: 0 })
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

  flush(): void {
    for (const row of this.#dirty) {
      const lane = this.current(row)
      this.#database.run(
        `UPDATE lane SET machine = ?, counts = ?, total = ?, open = ?, reasons = ?, sums = ?, wake = ?, seen = ?, watches = ?,
         entered = ?, gate = ?, status = ?, awaited = ?, hidden = ? WHERE id = ?`,
        row.machine,
        JSON.stringify(lane.counts),
        lane.total,
        lane.open,
        JSON.stringify(lane.reasons),
        JSON.stringify(lane.sums),
        lane.wake,
        lane.seen,
        JSON.stringify(lane.watches),
        JSON.stringify(lane.entered),
        lane.gate,
        lane.status,
        row.awaited ? 1 : 0,
        row.hidden ? 1 : 0,
        row.id,
      )
      row.dirty = false
    }
    this.#dirty.clear()
    if (this.#rows.size > keptMax) this.#forget()
  }

  removeOf(parent: EntityId): void {
    for (const row of this.of(parent)) {
      this.#dirty.delete(row)
      this.#rows.delete(row.id)
      this.#names.delete(keyOf(parent, row.lane.name))
    }
    this.#lastFound = null
    this.#database.run('DELETE FROM lane WHERE parent = ?', parent)
  }

  #read(parent: EntityId | null, name: string): LaneRow | null {
    const row = this.#database.get(`${select} WHERE parent IS ? AND name = ?`, parent, name)
    return row ? this.#keep(row) : null
  }

  #orderOf(parent: EntityId | null): { standing: number; awaited: boolean } {
    if (parent === null) return { standing: 0, awaited: false }
    const [standing = 0, wait, settled] =
      this.#database.get('SELECT standing, wait, settled FROM entity WHERE id = ?', parent) ?? []
    return { standing: standing as number, awaited: wait === waits.children && settled === 0 }
  }

  #reveal(row: LaneRow): void {
    row.hidden = false
    this.#soil(row)
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

  #keep(row: Row): LaneRow {
    const [
      id,
      parent,
      name,
      machine,
      counts,
      total,
      open,
      reasons,
      sums,
      wake,
      seen,
      watches,
      entered,
      gate,
      status,
      awaited,
      hidden,
    ] = row
    const known = this.#rows.get(id as number)
    if (known) return known
    const entry = machine === null ? null : this.#dictionary.machineOf(machine as number)
    const lane: Lane = {
      parent: parent as number | null,
      name: name as string,
      machine: entry?.name ?? '',
      version: entry?.version ?? 0,
      counts: JSON.parse(counts as string),
      total: total as number,
      open: open as number,
      reasons: JSON.parse(reasons as string),
      sums: JSON.parse(sums as string),
      wake: wake as number,
      seen: seen as number,
      watches: JSON.parse(watches as string),
      entered: JSON.parse(entered as string),
      gate: gate as Lane['gate'],
      status: status as LaneStatus,
    }
    return this.#add({
      id: id as number,
      lane,
      machine: machine as number | null,
      awaited: awaited === 1,
      hidden: hidden === 1,
      pending: [],
      dirty: false,
      size: lane.total,
    })
  }

  #add(row: LaneRow): LaneRow {
    this.#rows.set(row.id, row)
    this.#names.set(keyOf(row.lane.parent, row.lane.name), row)
    return row
  }

  #forget(): void {
    this.#rows.clear()
    this.#names.clear()
    this.#dirty.clear()
    this.#lastFound = null
  }
}

function keyOf(parent: EntityId | null, name: string): string {
  return `${parent ?? ''}/${name}`
}

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
