import { systemClock } from '../../clock.ts'
import { Random } from './random.ts'
import { Trace } from './trace.ts'

/** Whose callbacks these are. What belongs to a paused one waits; what belongs to one that is gone never runs. */
export interface Owner {
  readonly name: string
  readonly status: 'up' | 'paused' | 'gone'
  /** Callbacks whose turn came while the owner was paused. */
  readonly parked: Task[]
}

export interface Task {
  readonly owner: Owner
  readonly label: string
  readonly run: () => void
  cancelled: boolean
}

interface Timer {
  readonly at: number
  readonly order: number
  readonly task: Task
}

/** Rare enough that work goes on, frequent enough that timers fire between a question and its answer. */
const timePassesChance = 0.04

/**
 * One virtual time, one seed, and everything that is still to happen. Each step runs one callback that could run now, chosen by
 * chance, or lets time pass to the next timer. Nothing else moves anything: a run is repeated by its seed.
 */
export class World {
  readonly random: Random
  readonly trace: Trace
  now: number
  steps = 0
  /** Set by whoever changed what must be looked at before the next step. */
  dirty = false
  #ready: Task[] = []
  readonly #timers: Timer[] = []
  #order = 0
  readonly #soon = systemClock().soon

  constructor(seed: number, beginsAt: number, trace = new Trace()) {
    this.random = new Random(seed)
    this.now = beginsAt
    this.trace = trace
  }

  soon(owner: Owner, label: string, run: () => void): void {
    this.#ready.push({ owner, label, run, cancelled: false })
  }

  after(delayMs: number, owner: Owner, label: string, run: () => void): () => void {
    const task: Task = { owner, label, run, cancelled: false }
    if (delayMs <= 0) this.#ready.push(task)
    else {
      this.#order += 1
      push(this.#timers, { at: this.now + delayMs, order: this.#order, task })
    }
    return () => {
      task.cancelled = true
    }
  }

  /** What waited for this owner may run again. */
  unpark(owner: Owner): void {
    this.#ready.push(...owner.parked.splice(0))
  }

  /**
   * Steps until `isOver` says so, or nothing is left to happen. Between two steps everything that promises brought about is through,
   * and `look` has looked at what was changed.
   */
  run(isOver: () => boolean, look: () => Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      let ended = false
      const end = (error?: unknown) => {
        if (ended) return
        ended = true
        if (error === undefined) resolve()
        else reject(error)
      }
      let looking = false
      const turn = () => {
        if (ended) return
        // Looking takes promises of its own: they are through before the next turn.
        if (looking) return end(new Error('A look waited for something that only a step could bring about.'))
        if (this.dirty) {
          this.dirty = false
          looking = true
          look().then(() => {
            looking = false
          }, end)
          return
        }
        try {
          if (isOver() || !this.#step()) end()
        } catch (error) {
          end(error)
        }
      }
      // The event loop runs many turns in one round, with all promises settled between them: that is cheaper than a round each.
      const round = () => {
        if (ended) return
        for (let turns = 0; turns < 64; turns++) this.#soon(turn)
        this.#soon(round)
      }
      round()
    })
  }

  /** False: nothing is left to happen. */
  #step(): boolean {
    for (;;) {
      if (this.#ready.length === 0 || this.random.chance(timePassesChance)) {
        if (!this.#passTime() && this.#ready.length === 0) return false
      }
      const task = this.#take()
      if (!task) continue
      this.steps += 1
      this.trace.note(this.now, task.owner.name, task.label)
      task.run()
      return true
    }
  }

  #take(): Task | null {
    const index = this.random.below(this.#ready.length)
    const task = this.#ready[index]
    if (!task) return null
    const last = this.#ready.pop() as Task
    if (index < this.#ready.length) this.#ready[index] = last
    if (task.cancelled || task.owner.status === 'gone') return null
    if (task.owner.status === 'paused') {
      task.owner.parked.push(task)
      return null
    }
    return task
  }

  #passTime(): boolean {
    let first = this.#timers[0]
    while (first && (first.task.cancelled || first.task.owner.status === 'gone')) {
      pop(this.#timers)
      first = this.#timers[0]
    }
    if (!first) return false
    this.now = Math.max(this.now, first.at)
    for (; first && first.at <= this.now; first = this.#timers[0]) {
      pop(this.#timers)
      if (!first.task.cancelled) this.#ready.push(first.task)
    }
    return true
  }
}

function isBefore(one: Timer, other: Timer): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order)
}

/** A binary heap: the earliest timer stands first. */
function push(heap: Timer[], timer: Timer): void {
  let index = heap.length
  heap.push(timer)
  while (index > 0) {
    const above = (index - 1) >> 1
    if (!isBefore(timer, heap[above]!)) break
    heap[index] = heap[above]!
    index = above
  }
  heap[index] = timer
}

function pop(heap: Timer[]): void {
  const last = heap.pop()
  if (!last || heap.length === 0) return
  let index = 0
  for (;;) {
    let below = index * 2 + 1
    if (below >= heap.length) break
    if (below + 1 < heap.length && isBefore(heap[below + 1]!, heap[below]!)) below += 1
    if (!isBefore(heap[below]!, last)) break
    heap[index] = heap[below]!
    index = below
  }
  heap[index] = last
}
