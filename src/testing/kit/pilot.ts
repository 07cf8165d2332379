import { systemClock } from '../../clock.ts'
import type { Explanation } from '../../control.ts'
import { rootLane } from '../../entity.ts'
import { SluiceError } from '../../errors.ts'
import { type Duration, durationMs, durationText } from './duration.ts'
import type { Fleet } from './fleet.ts'

export interface DrainOptions {
  /** How much virtual time may pass. Default 30 days. */
  readonly within?: Duration
  /** How many timers may fire. Default 100,000. */
  readonly stepsMax?: number
}

const drainMs = 30 * 86_400_000
const drainStepsMax = 100_000
const advanceStepsMax = 10_000_000

/** Moves the clock: step by step while anything happens, in one leap where nothing would. */
export class Pilot {
  readonly #fleet: Fleet
  readonly #patienceMs: number
  readonly #real = systemClock()

  constructor(fleet: Fleet, patienceMs: number) {
    this.#fleet = fleet
    this.#patienceMs = patienceMs
  }

  /** Resolves when nothing can happen before the clock is moved. Processors that do something real are waited for. */
  async settle(): Promise<void> {
    const { clock, runs } = this.#fleet
    const begun = this.#real.now()
    for (let turns = 0; ; turns++) {
      await clock.settle()
      if (runs.waitingInRealTime().length === 0) return
      if (this.#real.now() - begun > this.#patienceMs) throw this.#impatient()
      // What only takes a few turns of the event loop is not kept waiting for a timer.
      if (turns >= 20) await new Promise<void>((resolve) => this.#real.after(1, resolve))
    }
  }

  async advance(duration: Duration): Promise<void> {
    const { clock } = this.#fleet
    const end = clock.now() + durationMs(duration)
    for (let steps = 0; steps < advanceStepsMax; steps++) {
      await this.settle()
      if (clock.now() >= end) return
      const isLeap = await this.#canLeap()
      const next = isLeap ? await this.#nextPlanned(end, true) : clock.next
      await this.#move(Math.min(next ?? end, end), isLeap)
    }
    throw await this.#stillMoving(`advance: after ${advanceStepsMax} steps`)
  }

  async drain({ within = drainMs, stepsMax = drainStepsMax }: DrainOptions = {}): Promise<void> {
    const { clock, up } = this.#fleet
    if (up.length === 0)
      throw new SluiceError('conflict', 'drain: no engine is up, so nothing can move. Call restart() first.')
    const begin = clock.now()
    const end = begin + durationMs(within)
    for (let steps = 0; ; steps++) {
      await this.settle()
      // A crash that was asked for has happened: nothing moves any more.
      if (this.#fleet.up.length === 0) return
      const isIdle = await this.#fleet.isIdle()
      const next = isIdle ? await this.#nextPlanned(end, false) : clock.next
      // Whatever is tried again after a pause because a rule broke would break again: it is named now.
      if (isIdle && (next === null || this.#fleet.warnings.length > 0)) await this.#assertDecided()
      if (isIdle && next === null) return
      if (steps >= stepsMax)
        throw await this.#stillMoving(
          `drain: after ${stepsMax} steps (${durationText(clock.now() - begin)} of virtual time)`,
        )
      if (next === null || next > end)
        throw await this.#stillMoving(`drain: within ${durationText(end - begin)} of virtual time`)
      await this.#move(next, isIdle)
    }
  }

  /** Lets time pass until the promise is settled. */
  async until<Answer>(promise: Promise<Answer>): Promise<Answer> {
    let isOver = false
    const over = () => {
      isOver = true
    }
    promise.then(over, over)
    for (;;) {
      await this.settle()
      if (isOver) return promise
      await this.#move(this.#fleet.clock.next ?? this.#fleet.clock.now() + 1, false)
    }
  }

  async #canLeap(): Promise<boolean> {
    return this.#fleet.up.length === 0 || (await this.#fleet.isIdle())
  }

  /**
   * When something happens although nobody does anything now: a retry, a poll, a timer, the end of a hold or of a dead
   * process' lease, a timer of the user's. Retention is left out where it is not asked for: what a test wants to look at
   * is not removed from under it.
   */
  async #nextPlanned(end: number, withPurges: boolean): Promise<number | null> {
    const { store, runs, clock } = this.#fleet
    const { next } = await store.due(1)
    const planned = next !== null && !withPurges && this.#fleet.isPurgeTime(next) ? await this.#nextOfOpen() : next
    const times = [planned, ...runs.times(end), ...this.#fleet.burials()]
    // What is past and has not happened needs somebody who is not there: time alone will not bring it about.
    return times.filter((time) => time !== null && time > clock.now()).reduce(earliest, null)
  }

  async #nextOfOpen(): Promise<number | null> {
    const { store, limits } = this.#fleet
    const now = store.time()
    let next: number | null = null
    for (const { until } of await store.holds()) next = earliest(next, until)
    for (let after: number | undefined; ; ) {
      const filter = { settled: false, limit: limits.pageMax, ...(after === undefined ? {} : { after }) }
      const page = await store.list(filter)
      for (const { wait } of page.entities) {
        if (wait.for !== 'nothing' && wait.at !== null && wait.at > now) next = earliest(next, wait.at)
      }
      if (page.next === null) return next
      after = page.next
    }
  }

  /** All timers up to then fire in order. In a leap those of idle engines, which only look, fire once instead of a million times. */
  async #move(to: number, isLeap: boolean): Promise<void> {
    const { clock } = this.#fleet
    await this.#fleet.renewBefore(to)
    clock.moveTo(to)
    await this.#fleet.renewNow()
    // Nobody may have been told of what is planned for then: all look once more before it counts as quiet again.
    if (isLeap) this.#fleet.disturb()
    while (clock.fireDue()) await this.settle()
  }

  /** What is due and was not done could not be decided: the engine said why. */
  async #assertDecided(): Promise<void> {
    const { store, control } = this.#fleet
    const machines = await control.machines()
    const { parents, timers } = await store.due(
      10,
      machines.map(({ name, version }) => rootLane(name, version)),
    )
    const { entities } = await store.list({ settled: false, limit: this.#fleet.limits.pageMax })
    const broken = entities.filter(
      ({ wait, error }) => error !== null && (wait.for === 'children' || wait.for === 'time'),
    )
    const stuck = [...parents.map(({ entity }) => entity), ...timers, ...broken]
    if (stuck.length === 0) return
    const names = stuck.map((entity) => `${entity.machine} ${entity.id} (${entity.state})`).join(', ')
    throw new SluiceError('conflict', `drain: ${names} should move on, but cannot.${this.#warningText()}`, {
      ids: stuck.map(({ id }) => id),
    })
  }

  async #stillMoving(begin: string): Promise<SluiceError> {
    const { control } = this.#fleet
    const { entities } = await control.list({ settled: false, limit: 100 })
    const explanations = await Promise.all(entities.map(({ id }) => control.explain(id)))
    const moving = explanations.filter(({ kind }) => movingKinds.has(kind))
    const named = (moving.length > 0 ? moving : explanations).slice(0, 10)
    const lines = named.map(({ sentence }) => `\n  ${sentence}`).join('')
    const message = `${begin} it had not come to rest. Still moving:${lines}${this.#warningText()}`
    return new SluiceError('conflict', message, { moving: named })
  }

  #impatient(): SluiceError {
    const runs = this.#fleet.runs.waitingInRealTime()
    const names = runs.map(({ machine, entity, processor }) => `${processor} of ${machine} ${entity}`)
    return new SluiceError(
      'conflict',
      `${names.join(', ')} did not return within ${durationText(this.#patienceMs)} of real time. If it waits for time to pass, ` +
        'let it sleep on the clock of the kit; if it needs longer, give the kit more patienceMs.',
      { runs: names },
    )
  }

  #warningText(): string {
    const { warnings } = this.#fleet
    return warnings.length === 0
      ? ''
      : `\nThe engine said:${warnings
          .slice(-5)
          .map((line) => `\n  ${line}`)
          .join('')}`
  }
}

const movingKinds: ReadonlySet<Explanation['kind']> = new Set([
  'running',
  'ready',
  'scheduled',
  'retrying',
  'timer',
  'suspect',
  'no_worker',
])

function earliest(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other)
}
