import type { Control } from '../../control.ts'
import { messageOf, SluiceError } from '../../errors.ts'
import { Random } from '../simulation/random.ts'
import type { Effects } from './effects.ts'
import type { Fleet } from './fleet.ts'
import type { Moment } from './moment.ts'
import type { DrainOptions } from './pilot.ts'
import { openKit, type TestKit, type TestKitOptions } from './test-kit.ts'

export interface ExploreOptions extends Omit<TestKitOptions, 'start'> {
  /** Begins the story: submits, and whatever else belongs to it. It may drain and act in between. */
  start(control: Control, effects: Effects, kit: TestKit): Promise<unknown>
  /** What must be true in the end, wherever a process died: throws if it is not. */
  check(control: Control, effects: Effects, kit: TestKit): unknown
  /** At most so many points are tried, spread evenly over the story. Default 1,000. */
  readonly maxPoints?: number
  /** So many stories with a second crash after the first one, chosen by the seed. Default 0. */
  readonly pairs?: number
  /** Also pauses the process at each point until others have taken over its work, and lets it go on then. Default false. */
  readonly zombies?: boolean
  /** Tries one point alone: what a failure said. `17`, `17+5` (the fifth point after that crash), `zombie 17`. */
  readonly only?: number | string
  readonly drain?: DrainOptions
}

export interface Exploration {
  /** Moments of the story at which a crash makes a difference. */
  readonly points: number
  /** Stories told, the one without crashes included. */
  readonly runs: number
  /** Points left out because there were more than `maxPoints`. */
  readonly skipped: number
  /** Points that a second telling did not come to: processors behave differently each time. */
  readonly missed: readonly string[]
  /** The names of all points, in order. */
  readonly names: readonly string[]
}

/** What becomes of a process at a moment of this number. */
type Plan = ReadonlyMap<number, 'crash' | 'pause'>

/** One story told: every moment of it, and where it went wrong. */
interface Telling {
  readonly moments: readonly Moment[]
  readonly failure: unknown
}

/** A plan with the name by which it is told alone. */
interface Trial {
  readonly only: string
  readonly title: string
  readonly plan: Plan
}

/**
 * Tells a story once without trouble, to count the points at which a process can die; then once more for each of them,
 * with a crash there and a new process after it. Each time everything drains, and `check` says whether all is well.
 * Throws at the first point where it is not, and says how to try that one alone.
 */
export async function explore(options: ExploreOptions): Promise<Exploration> {
  const first = await tell(options, new Map())
  if (first.failure !== null) throw brokenStory(first.failure)
  const points = pointsOf(first, 0)
  const explorer = new Explorer(options, first, points)
  if (options.only !== undefined) await explorer.only(String(options.only))
  else await explorer.all()
  return {
    points: points.length,
    runs: explorer.runs,
    skipped: options.only === undefined ? points.length - explorer.chosen.length : points.length - 1,
    missed: explorer.missed,
    names: points.map((number) => first.moments[number]!.name),
  }
}

class Explorer {
  /** The story without crashes is one. */
  runs = 1
  readonly missed: string[] = []
  /** Positions among the points. */
  readonly chosen: readonly number[]
  readonly #options: ExploreOptions
  readonly #first: Telling
  /** Numbers of moments. */
  readonly #points: readonly number[]

  constructor(options: ExploreOptions, first: Telling, points: readonly number[]) {
    this.#options = options
    this.#first = first
    this.#points = points
    this.chosen = spread(points.length, options.maxPoints ?? 1_000)
  }

  async all(): Promise<void> {
    const tellings = new Map<number, Telling>()
    for (const position of this.chosen) tellings.set(position, await this.#try(this.#trial(position, 'crash')))
    if (this.#options.zombies) {
      for (const position of this.chosen) await this.#try(this.#trial(position, 'pause'))
    }
    const random = new Random(this.#options.seed ?? 1)
    const crashes = [...tellings]
    for (let pair = 0; pair < (this.#options.pairs ?? 0) && crashes.length > 0; pair++) {
      const [position, telling] = random.pick(crashes)
      const trial = this.#pair(position, telling, random.next())
      if (trial) await this.#try(trial)
    }
  }

  async only(text: string): Promise<void> {
    const [, zombie, point, , second] = /^(zombie )?(\d+)(\+(\d+))?$/.exec(text) ?? []
    const position = Number(point) - 1
    if (point === undefined || (zombie && second) || this.#points[position] === undefined) {
      const known = `There are ${this.#points.length} points: write 1 to ${this.#points.length}, "zombie 1" or "1+1".`
      throw new SluiceError('invalid', `explore: there is no point ${text}. ${known}`, { only: text })
    }
    const telling = await this.#try(this.#trial(position, zombie ? 'pause' : 'crash'))
    if (second === undefined) return
    const trial = this.#pairAt(position, telling, Number(second) - 1)
    if (!trial) throw new SluiceError('invalid', `explore: there is no point ${text}.`, { only: text })
    await this.#try(trial)
  }

  #trial(position: number, fate: 'crash' | 'pause'): Trial {
    const number = this.#points[position]!
    const { name } = this.#first.moments[number]!
    const only = `${fate === 'pause' ? 'zombie ' : ''}${position + 1}`
    const what = fate === 'pause' ? 'the process was paused past its lease' : 'the process died'
    return {
      only,
      title: `point ${only} of ${this.#points.length}: ${what} ${name}`,
      plan: new Map([[number, fate]]),
    }
  }

  /** `share` in [0, 1) says how far behind the first crash the second one comes. */
  #pair(position: number, telling: Telling, share: number): Trial | null {
    const later = pointsOf(telling, this.#points[position]! + 1)
    return this.#pairAt(position, telling, Math.floor(share * later.length))
  }

  #pairAt(position: number, telling: Telling, second: number): Trial | null {
    const number = pointsOf(telling, this.#points[position]! + 1)[second]
    if (number === undefined) return null
    const { only, title, plan } = this.#trial(position, 'crash')
    return {
      only: `${only}+${second + 1}`,
      title: `${title}, and the next one ${telling.moments[number]!.name}`,
      plan: new Map([...plan, [number, 'crash']]),
    }
  }

  async #try({ only, title, plan }: Trial): Promise<Telling> {
    this.runs += 1
    const telling = await tell(this.#options, plan)
    if (telling.failure !== null) throw failedAt(only, title, telling.failure)
    if ([...plan.keys()].some((number) => number >= telling.moments.length)) this.missed.push(title)
    return telling
  }
}

async function tell(options: ExploreOptions, plan: Plan): Promise<Telling> {
  const moments: Moment[] = []
  const { start, check, maxPoints: _max, pairs: _pairs, zombies: _zombies, only: _only, drain, ...kitOptions } = options
  const { kit, fleet } = openKit(kitOptions, (moment, fleet) => {
    const fate = plan.get(moments.push(moment) - 1)
    if (fate) meet(fate, moment, fleet)
  })
  let failure: unknown = null
  try {
    await start(kit.control, kit.effects, kit)
    await kit.drain(drain)
    await check(kit.control, kit.effects, kit)
  } catch (error) {
    failure = error ?? new Error('Something without a name was thrown.')
  }
  // What the story was about is known; nothing of it needs to end in good order.
  for (const number of fleet.up) fleet.kill(number)
  return { moments, failure }
}

/** The process ends or stands still, and another one takes its place at once. */
function meet(fate: 'crash' | 'pause', { process }: Moment, fleet: Fleet): void {
  const number = fleet.numberOf(process)
  if (number === null) return
  if (fate === 'crash') fleet.kill(number)
  else {
    fleet.pause(number)
    // It wakes when its work was given away and nobody has told it: from here on two believe that it is theirs.
    fleet.onBuried = (buried) => {
      if (buried === process) fleet.clock.soon(() => process.resume())
    }
  }
  void fleet.start(number)
}

function pointsOf({ moments }: Telling, from: number): readonly number[] {
  return moments.flatMap(({ matters }, number) => (matters && number >= from ? number : []))
}

/** Positions from 0, at most so many, evenly over the whole. */
function spread(length: number, max: number): readonly number[] {
  if (length <= max) return Array.from({ length }, (_, position) => position)
  return Array.from({ length: max }, (_, index) => Math.floor((index * length) / max))
}

function brokenStory(error: unknown): SluiceError {
  return new SluiceError('conflict', `explore: the story fails without any crash.\n  ${messageOf(error)}`, {}, error)
}

function failedAt(only: string, title: string, error: unknown): SluiceError {
  const replay = /^\d+$/.test(only) ? only : JSON.stringify(only)
  const message = `explore: ${title}.\n  ${messageOf(error)}\n  To try it alone: explore({ …, only: ${replay} })`
  return new SluiceError('conflict', message, { only, point: title }, error)
}
