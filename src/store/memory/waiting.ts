import type { Entity, EntityId } from '../../entity.ts'
import { rankOf } from '../../rank.ts'
import { Queue, type Standing } from './queue.ts'
import type { Row, Rows } from './rows.ts'

/** What waits for the same thing to be run: entities of one machine version, in one state, for one edge. */
export interface RunKind {
  readonly machine: string
  readonly version: number
  readonly state: string
  readonly edge: string | null
}

/**
 * Every waiting entity stands in exactly one queue, so that nobody looks through those that wait for something else.
 * Who waits to run stands by rank among its kind, suspects apart; by time, if that is to come; aside in its lane, if the
 * lane lets none through.
 */
export class Waiting {
  readonly #rows: Rows
  readonly #ageingMs: number
  readonly #ready = new Map<string, Queue>()
  readonly #suspects = new Map<string, Queue>()
  readonly #later = new Queue()
  readonly #timers = new Queue()
  readonly #purges = new Queue()
  readonly #looks = new Queue()

  constructor(rows: Rows, ageingMs: number) {
    this.#rows = rows
    this.#ageingMs = ageingMs
  }

  /** Puts the row where it waits now, whatever it waited for before. */
  file(row: Row, now: number): void {
    this.take(row)
    const place = this.#placeOf(row, now)
    if (!place) return
    place.queue.add(place.order, row.entity.id)
    row.place = place
  }

  take(row: Row): void {
    row.place?.queue.remove(row.place.order, row.entity.id)
    row.place = null
  }

  /** The lane lets its children through again. */
  bringBack(aside: Queue, now: number): void {
    for (const { id } of [...aside]) this.file(this.#rows.get(id), now)
  }

  /** Whoever's time has come stands by rank from now on. */
  ripen(now: number): void {
    for (let first = this.#later.first(); first && first.order <= now; first = this.#later.first()) {
      this.file(this.#rows.get(first.id), now)
    }
  }

  ready(kind: RunKind): Queue {
    return queueOf(this.#ready, kind)
  }

  suspects(kind: RunKind): Queue {
    return queueOf(this.#suspects, kind)
  }

  dueTimers(now: number): Iterable<EntityId> {
    return until(this.#timers, now)
  }

  duePurges(now: number): Iterable<EntityId> {
    return until(this.#purges, now)
  }

  /** Parents that asked to be judged by this time, whatever their lanes say. */
  dueLooks(now: number): Iterable<EntityId> {
    return until(this.#looks, now)
  }

  /** The earliest time to come that anything waits for. */
  next(now: number): number | null {
    const times = [this.#later, this.#timers, this.#purges, this.#looks].flatMap((queue) => {
      const { value } = queue.behind(lastAt(now)).next()
      return value ? [value.order] : []
    })
    return times.length === 0 ? null : Math.min(...times)
  }

  #placeOf(row: Row, now: number): Row['place'] {
    const { entity, lane } = row
    const { wait } = entity
    if (!lane) return null
    switch (wait.for) {
      case 'run': {
        if (entity.owner !== null) return null
        if (wait.at > now) return { queue: this.#later, order: wait.at }
        const order = rankOf(wait.at, entity.priority, this.#ageingMs)
        if (!letsThrough(row)) return { queue: lane.aside, order }
        return { queue: queueOf(entity.suspect > 0 ? this.#suspects : this.#ready, kindOf(entity)), order }
      }
      case 'time':
        return { queue: this.#timers, order: wait.at }
      case 'purge':
        return { queue: this.#purges, order: wait.at }
      case 'children':
        return wait.at === null || entity.settled ? null : { queue: this.#looks, order: wait.at }
      case 'nothing':
        return null
      default:
        return wait satisfies never
    }
  }
}

/** Whether its lane lets this one start: it goes, and its gate is open to what is gated. */
export function letsThrough(row: Row): boolean {
  if (!row.lane) return false
  const { status, gate } = row.lane.lane
  const { wait } = row.entity
  return status === 'going' && (gate === 'open' || wait.for !== 'run' || wait.gated !== true)
}

function kindOf(entity: Entity): RunKind {
  const { machine, version, state, request } = entity
  return { machine, version, state, edge: request?.edge ?? null }
}

function queueOf(queues: Map<string, Queue>, { machine, version, state, edge }: RunKind): Queue {
  // Asked for many times in every claim: a name holds no line break, so the parts stay apart.
  const key = `${machine}\n${version}\n${state}\n${edge ?? ''}`
  let queue = queues.get(key)
  if (!queue) {
    queue = new Queue()
    queues.set(key, queue)
  }
  return queue
}

function* until(queue: Queue, now: number): Generator<EntityId> {
  for (const { order, id } of queue) {
    if (order > now) return
    yield id
  }
}

/** Behind everything that stands at this time. */
function lastAt(now: number): Standing {
  return { order: now, id: Number.POSITIVE_INFINITY }
}
