import type { Entity, EntityId } from '../../entity.ts'
import { changeLane, emptyLane, type Lane, type LaneChange, type LaneFigure, reasonIn } from '../../lane.ts'
import { Queue } from './queue.ts'
import type { LaneRow, Row, Rows } from './rows.ts'
import type { Waiting } from './waiting.ts'

/** The lanes by parent, and the parents that must look at theirs. */
export class Lanes {
  readonly #rows: Rows
  readonly #waiting: Waiting
  readonly #reasonsMax: number
  readonly #lanes = new Map<EntityId | null, Map<string, LaneRow>>()
  readonly #woken = new Queue()
  /** Called when a wake number grew, or children may start that could not before. */
  readonly #hint: (hint: 'due' | 'work') => void

  constructor(rows: Rows, waiting: Waiting, reasonsMax: number, hint: (hint: 'due' | 'work') => void) {
    this.#rows = rows
    this.#waiting = waiting
    this.#reasonsMax = reasonsMax
    this.#hint = hint
  }

  find(parent: EntityId | null, name: string): LaneRow | undefined {
    return this.#lanes.get(parent)?.get(name)
  }

  /** In the order in which they were made. */
  of(parent: EntityId | null): readonly LaneRow[] {
    return [...(this.#lanes.get(parent)?.values() ?? [])]
  }

  /** Parents that wait for their children and have not seen a lane's last wake number. */
  woken(): Iterable<EntityId> {
    return [...this.#woken].map(({ id }) => id)
  }

  /** A lane that is not there yet is made with its parent's standing order. */
  make(parent: EntityId | null, name: string): LaneRow {
    const known = this.find(parent, name)
    if (known) return known
    const status = parent === null ? 'going' : this.#rows.get(parent).order
    // Nobody knows its machine before the first child is born: a gate may be opened before that.
    const made = { lane: frozenLane({ ...emptyLane(parent, name, '', 0, []), status }), aside: new Queue() }
    const lanes = this.#lanes.get(parent)
    if (lanes) lanes.set(name, made)
    else this.#lanes.set(parent, new Map([[name, made]]))
    return made
  }

  /** The lane that counts this entity, ready to do so. */
  makeFor(entity: Entity, watches: readonly string[], now: number): LaneRow {
    const row = this.make(entity.parent, entity.lane)
    const { lane } = row
    const news = watches.filter((state) => !lane.watches.includes(state))
    if (lane.machine !== '' && news.length === 0) return row
    const { machine, version } = lane.machine === '' ? entity : lane
    this.set(row, { ...lane, machine, version, watches: [...lane.watches, ...news] }, now)
    return row
  }

  /** The reason as the lane will count it. */
  reasonIn(row: LaneRow, reason: string | null): string | null {
    return reasonIn(row.lane, reason, this.#reasonsMax)
  }

  count(row: LaneRow, from: LaneFigure | null, to: LaneFigure | null, now: number): void {
    const change: LaneChange = { from: from && figureOf(from), to: to && figureOf(to), times: 1 }
    this.set(row, changeLane(row.lane, [change]), now)
  }

  set(row: LaneRow, lane: Lane, now: number): void {
    const before = row.lane
    row.lane = frozenLane(lane)
    if ((before.status !== 'going' && lane.status === 'going') || (before.gate === 'shut' && lane.gate === 'open')) {
      this.#waiting.bringBack(row.aside, now)
      this.#hint('work')
    }
    if (lane.parent === null || (before.wake === lane.wake && before.seen === lane.seen)) return
    const parent = this.#rows.find(lane.parent)
    if (parent) this.judge(parent)
  }

  /** Notes whether this parent must look at its lanes. */
  judge(parent: Row): void {
    const { id, wait, settled } = parent.entity
    const waits = wait.for === 'children' && !settled
    if (waits && this.of(id).some(({ lane }) => lane.wake > lane.seen)) {
      this.#woken.add(id, id)
      this.#hint('due')
    } else {
      this.#woken.remove(id, id)
    }
  }

  /** The parent is purged, and its lanes with it. */
  remove(parent: EntityId): void {
    this.#lanes.delete(parent)
    this.#woken.remove(parent, parent)
  }
}

export function figureOf({ state, settled, reason, sums }: LaneFigure): LaneFigure {
  return { state, settled, reason, sums }
}

function frozenLane(lane: Lane): Lane {
  for (const part of [lane.counts, lane.reasons, lane.sums, lane.watches, lane.entered]) Object.freeze(part)
  return Object.freeze(lane)
}
