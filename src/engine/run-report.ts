import type { Logger } from 'pino'
import type { Clock } from '../clock.ts'
import type { Entity } from '../entity.ts'
import type { Machine } from '../machine.ts'
import { type RunEnd, type RunFigures, runEnds } from '../run-figures.ts'
import { outcomeOf } from '../state-outcome.ts'

/** Lines of one kind in one window: a million children that throw must not fill the log. */
const linesMax = 20
const windowMs = 10_000

type Level = 'info' | 'warn'

/** Counts how runs and entities end, and writes the log lines about it, so many of one kind at a time. */
export class RunReport {
  readonly #clock: Clock
  readonly #log: Logger
  readonly #runs = new Map<Machine, Map<string, Record<RunEnd, number>>>()
  readonly #settled = new Map<Machine, Map<string, number>>()
  readonly #windows = new Map<string, { since: number; lines: number; leftOut: number }>()
  #moves = 0
  #leasesLost = 0

  constructor(clock: Clock, log: Logger) {
    this.#clock = clock
    this.#log = log
  }

  /** Written for every run: only who asks for the level `debug` reads it. */
  started({ id, machine }: Entity, processor: string, attempt: number): void {
    if (this.#log.isLevelEnabled('debug')) this.#log.debug({ entity: id, machine, processor, attempt }, 'a run starts')
  }

  /** So many runs of this processor ended like this. */
  ended(machine: Machine, processor: string, end: RunEnd, count = 1): void {
    const byProcessor = entryOf(this.#runs, machine, () => new Map<string, Record<RunEnd, number>>())
    const counts = entryOf(byProcessor, processor, noEnds)
    counts[end] += count
  }

  /** A move of this process was saved. `settledAs`: the settled state that it led to. */
  moved(machine: Machine, settledAs: string | null): void {
    this.#moves += 1
    if (settledAs !== null) this.settled(machine, settledAs)
  }

  settled(machine: Machine, state: string): void {
    const byState = entryOf(this.#settled, machine, () => new Map<string, number>())
    byState.set(state, (byState.get(state) ?? 0) + 1)
  }

  leaseLost(): void {
    this.#leasesLost += 1
  }

  /** Writes the line, unless its kind has had its lines for now. The next one that is written says how many were left out. */
  write(level: Level, kind: string, fields: Readonly<Record<string, unknown>>, message: string): void {
    if (!this.#log.isLevelEnabled(level)) return
    const now = this.#clock.now()
    const window = entryOf(this.#windows, kind, () => ({ since: now, lines: 0, leftOut: 0 }))
    if (now - window.since >= windowMs) {
      window.since = now
      window.lines = 0
    }
    if (window.lines >= linesMax) {
      window.leftOut += 1
      return
    }
    window.lines += 1
    this.#log[level](window.leftOut > 0 ? { ...fields, leftOut: window.leftOut } : fields, message)
    window.leftOut = 0
  }

  figures(): RunFigures {
    return {
      runs: [...this.#runs].flatMap(([{ name, version }, byProcessor]) =>
        [...byProcessor].flatMap(([processor, counts]) =>
          runEnds
            .filter((end) => counts[end] > 0)
            .map((end) => ({ machine: name, version, processor, end, count: counts[end] })),
        ),
      ),
      settled: [...this.#settled].flatMap(([machine, byState]) =>
        [...byState].map(([state, count]) => ({
          ...{ machine: machine.name, version: machine.version, state, count },
          outcome: outcomeOf(machine, state),
        })),
      ),
      moves: this.#moves,
      leasesLost: this.#leasesLost,
    }
  }
}

const noEnds = (): Record<RunEnd, number> => ({ done: 0, retry: 0, poll: 0, fail: 0, timeout: 0 })

function entryOf<Key, Value>(entries: Map<Key, Value>, key: Key, make: () => Value): Value {
  const known = entries.get(key)
  if (known !== undefined) return known
  const made = make()
  entries.set(key, made)
  return made
}
