import type { Clock } from '../../clock.ts'
import type { EntityId } from '../../entity.ts'
import type { Lane } from '../../lane.ts'
import type { Limits } from '../../limits.ts'
import type { Signal } from '../../store.ts'
import type { Database, Session } from './database.ts'
import { Dictionary } from './dictionary.ts'
import { type Facts, factsOf, type Question } from './facts.ts'
import { Floors } from './floors.ts'
import { Habit } from './habit.ts'
import { Handover } from './handover.ts'
import { LeaseBook } from './lease-book.ts'
import { answeredIn, forget, wasDone } from './operation.ts'
import { SharedLines, UnknownLine } from './shared-lines.ts'

/** The operation was done before. */
class Repeated extends Error {
  readonly verdicts: string

  constructor(verdicts: string) {
    super('The operation was done before.')
    this.verdicts = verdicts
  }
}

/** `born`: all that there is to claim is this one. */
export type Tell = (signal: Signal, born?: EntityId) => void

/** What one store handle has at hand: its connections, the names it knows, its time. */
export class Desk {
  readonly database: Database
  readonly dictionary: Dictionary
  readonly sharedLines: SharedLines
  readonly leases = new LeaseBook()
  readonly floors = new Floors()
  /** Where the last claim found something: the next one probably will too. */
  lanesLately: readonly number[] = []
  /** What it served, and the lines that it read. */
  linesLately: { readonly served: string; readonly lines: readonly number[] } = { served: '', lines: [] }
  readonly habit = new Habit()
  readonly handover: Handover
  /** By name, those that somebody was born into. */
  readonly rootLaneIds = new Map<string, number>()
  /** Whose children stand in lines that claims of this process have left to others. */
  readonly avoidedLanes = new Map<number, EntityId>()
  /** Lanes of roots that claims have met; there is one for each version of a machine. */
  readonly rootLanes = new Map<number, Lane>()
  readonly limits: Limits
  readonly clock: Clock
  readonly schema: string
  /** Tells this process, and the others, where to look. */
  readonly tell: Tell
  #aheadMs = 0
  #latestTime = 0

  constructor(database: Database, schema: string, clock: Clock, limits: Limits, tell: Tell) {
    this.database = database
    this.schema = schema
    this.clock = clock
    this.limits = limits
    this.tell = tell
    this.dictionary = new Dictionary(database)
    this.sharedLines = new SharedLines(database)
    this.handover = new Handover(clock)
  }

  time(latest = 0): number {
    this.#latestTime = Math.max(this.#latestTime, latest, Math.round(this.clock.now() + this.#aheadMs))
    return this.#latestTime
  }

  /** How far the server's clock is ahead of ours: all processes go by the server's. */
  setAhead(aheadMs: number): void {
    this.#aheadMs = aheadMs
  }

  /** One transaction that begins with the facts. It may be run more than once. */
  write<Result>(work: (session: Session, facts: Facts) => Promise<Result>): Promise<Result> {
    return this.learning(() => this.database.write(async (session) => work(session, await this.facts(session))))
  }

  /**
   * The same for what may be repeated after a lost answer: then the verdicts that were given are given again, and whatever `early` did is
   * undone. `early` is sent together with the first questions, without knowing their answers: one way to the server for all.
   */
  async once<Early, Result>(
    name: string,
    early: (session: Session) => Promise<Early>,
    work: (session: Session, facts: Facts, early: Early) => Promise<Result>,
    known: (verdicts: string) => Result,
  ): Promise<Result> {
    try {
      return await this.learning(() =>
        this.database.write(async (session) => {
          const [{ facts, answer }, found] = await Promise.all([this.factsAnd(session, wasDone(name)), early(session)])
          const answered = answeredIn(answer)
          if (answered && answered.at > facts.now - this.limits.operationMs) throw new Repeated(answered.verdicts)
          if (answered) forget(session, name)
          return work(session, facts, found)
        }),
      )
    } catch (error) {
      if (error instanceof Repeated) return known(error.verdicts)
      throw error
    }
  }

  /** All that it reads is of one moment. */
  read<Result>(work: (session: Session, facts: Facts) => Promise<Result>): Promise<Result> {
    return this.learning(() => this.database.read(async (session) => work(session, await this.facts(session))))
  }

  /** The same in one way to the server: what is asked is sent together with the question for the facts. */
  glance<Found, Result>(
    ask: (session: Session) => Promise<Found>,
    tell: (found: Found, facts: Facts) => Result,
  ): Promise<Result> {
    return this.learning(() =>
      this.database.read(async (session) => {
        const [facts, found] = await Promise.all([this.facts(session), ask(session)])
        return tell(found, facts)
      }),
    )
  }

  /** Does the work, and again as often as it meets a name or a line that is not known. */
  async learning<Result>(work: () => Promise<Result>): Promise<Result> {
    for (;;) {
      try {
        return await this.dictionary.learning(work)
      } catch (error) {
        if (!(error instanceof UnknownLine)) throw error
        await this.sharedLines.learn(error)
      }
    }
  }

  async facts(session: Session): Promise<Facts> {
    return (await factsOf(session, this.dictionary, (latest) => this.time(latest))).facts
  }

  /** The same with one question more. */
  factsAnd(session: Session, question: Question): Promise<{ readonly facts: Facts; readonly answer: unknown }> {
    return factsOf(session, this.dictionary, (latest) => this.time(latest), question)
  }
}
