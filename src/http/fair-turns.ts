import type { Clock } from '../clock.ts'
import { HttpRefusal } from './problem.ts'

export interface FairTurnsOptions {
  readonly clock: Pick<Clock, 'now' | 'soon'>
  /** Requests of one caller that may wait. */
  readonly waitingMax: number
}

/** What one turn of the event loop may begin. A read keeps the thread busy; writes of one turn share one durable write. */
const pointsPerTurn = 64
/** What one caller may have under way: what has begun stands in the store's own queue, where all are alike. */
const pointsUnderWay = 64
const points = { read: 8, write: 1 } as const
/** A caller who has been alone for this long waits for nobody. */
const aloneMs = 1_000

type Kind = keyof typeof points

interface Waiting {
  readonly kind: Kind
  readonly begin: Begin
}

/** Is given what must be called, once, when the request has been answered. */
type Begin = (answered: () => void) => void

/**
 * Fair shares between callers. All requests run on one thread, first come, first served: a thousand lists of one token would be answered
 * before the first of another. Here each turn of the event loop begins a few requests, one of each caller after the other, and of each
 * caller only so many are under way. docs/decisions/0039.
 */
export class FairTurns {
  readonly #options: FairTurnsOptions
  /** In the order of their turns. */
  readonly #queues = new Map<string, Waiting[]>()
  /** Points by caller. */
  readonly #underWay = new Map<string, number>()
  #points = pointsPerTurn
  #isTurnComing = false
  #last: string | null = null
  #sharedUntil = Number.NEGATIVE_INFINITY

  constructor(options: FairTurnsOptions) {
    this.#options = options
  }

  /** Begins it at once, or in its turn. Throws if too many of this caller wait already. */
  enter(caller: string, kind: Kind, begin: Begin): void {
    const isAlone = this.#isAlone(caller)
    if (this.#queues.size === 0 && (isAlone || (this.#points >= points[kind] && this.#mayBegin(caller)))) {
      if (!isAlone) this.#spend(kind)
      this.#begin(caller, kind, begin)
      return
    }
    const queue = this.#queues.get(caller) ?? []
    if (queue.length >= this.#options.waitingMax) throw tooMany(caller, queue.length)
    queue.push({ kind, begin })
    this.#queues.set(caller, queue)
    this.#nextTurn()
  }

  #isAlone(caller: string): boolean {
    const now = this.#options.clock.now()
    if (this.#last !== caller && this.#last !== null) this.#sharedUntil = now + aloneMs
    this.#last = caller
    return now >= this.#sharedUntil
  }

  #mayBegin(caller: string): boolean {
    return (this.#underWay.get(caller) ?? 0) < pointsUnderWay
  }

  #spend(kind: Kind): void {
    this.#points -= points[kind]
    this.#nextTurn()
  }

  #begin(caller: string, kind: Kind, begin: Begin): void {
    this.#underWay.set(caller, (this.#underWay.get(caller) ?? 0) + points[kind])
    begin(() => {
      const left = (this.#underWay.get(caller) ?? 0) - points[kind]
      if (left > 0) this.#underWay.set(caller, left)
      else this.#underWay.delete(caller)
      if (this.#queues.has(caller)) this.#nextTurn()
    })
  }

  #nextTurn(): void {
    if (this.#isTurnComing) return
    this.#isTurnComing = true
    this.#options.clock.soon(() => this.#turn())
  }

  #turn(): void {
    this.#isTurnComing = false
    this.#points = pointsPerTurn
    for (const [caller, queue] of this.#queues) {
      if (this.#points <= 0) break
      if (!this.#mayBegin(caller)) continue
      // To the end: the others come first, in this turn and the next.
      this.#queues.delete(caller)
      const { kind, begin } = queue.shift() as Waiting
      if (queue.length > 0) this.#queues.set(caller, queue)
      this.#spend(kind)
      this.#begin(caller, kind, begin)
    }
  }
}

function tooMany(caller: string, waiting: number): HttpRefusal {
  const message = `${waiting} requests of ${caller} wait to be answered already. Wait for some of them.`
  return new HttpRefusal('rate-limited', message, { headers: { 'retry-after': '1' } })
}
