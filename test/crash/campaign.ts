import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Evidence, StoreDump } from './evidence.ts'
import { readJournals } from './journal.ts'
import { type ChildOrder, crashLimits, dumpName } from './order.ts'
import { bigEvery } from './plan.ts'
import type { Random } from './random.ts'
import type { Scene } from './scene.ts'
import type { TestProcess } from './test-process.ts'
import type { TrapPoint, TrapSetting } from './trap.ts'

/** One way for a process to die. */
export type Death =
  /** By its own hand, at a named point. */
  | { readonly kind: 'trap'; readonly point: TrapPoint; readonly nth: number; readonly patienceMs?: number }
  /** From outside, so long after it began to work. */
  | { readonly kind: 'random'; readonly afterMs: number }
  /** From outside, so long after it was started: it may not even have opened the file. */
  | { readonly kind: 'start'; readonly afterMs: number }
  /** Asleep at a named point past its lease while another process takes over, then awake as if nothing had been; both are killed at last. */
  | { readonly kind: 'zombie'; readonly point: TrapPoint; readonly nth: number; readonly overlapMs: number }

/** The program of the processes that die. */
export const program = new URL('./child.ts', import.meta.url)

/** Processes that are killed leave nothing for the next one's start: one that ends in peace compiles the program for all. */
export async function warmUp(scene: Scene): Promise<void> {
  const folder = scene.place('warm-up')
  const order: ChildOrder = { name: 'warm-up', folder, task: 'submit', ranges: [], trap: null, cancels: false }
  await scene.start(program, order).success(60_000)
}

/** A clean process submits again what was ever begun, waits until all is settled, and writes down the store. */
export async function settle(scene: Scene, folder: string): Promise<Evidence> {
  const order: ChildOrder = { name: 'settle', folder, task: 'settle', ranges: [], trap: null, cancels: false }
  await scene.start(program, order).success(60_000)
  const dump = JSON.parse(readFileSync(join(folder, dumpName), 'utf8')) as StoreDump
  return { ...dump, notes: readJournals(folder) }
}

/** A point that is not passed by then may never be: the process is killed from outside instead. */
const trapMs = 1_500
const upMs = 15_000
/** A process that has not fallen asleep at its point by then is stopped from outside, wherever it is. */
const zombieMs = 3_000

/** Points that only a fan-out in checkpoints passes. */
const bigPoints: ReadonlySet<TrapPoint> = new Set([
  'stage:before',
  'stage:after',
  'publish:before',
  'publish:after',
  'checkpoint:after',
])

/** Kills process after process on one file, so that damage would add up; then lets one live, and collects the evidence. */
export class Campaign {
  readonly folder: string
  readonly kills: Record<Death['kind'], number> = { trap: 0, random: 0, start: 0, zombie: 0 }
  readonly #scene: Scene
  readonly #random: Random
  #children = 0
  #range = 0

  constructor(scene: Scene, name: string, random: Random) {
    this.#scene = scene
    this.#random = random
    this.folder = scene.place(name)
  }

  get killed(): number {
    return Object.values(this.kills).reduce((sum, count) => sum + count, 0)
  }

  /** How often each point killed a process. */
  hits(): ReadonlyMap<string, number> {
    const points = readJournals(this.folder).flatMap((note) => (note.kind === 'kill' ? note.point : []))
    return new Map([...Map.groupBy(points, (point) => point)].map(([point, hits]) => [point, hits.length]))
  }

  /** How many moves of lease holders were refused, because somebody else had got the lease. */
  fenced(): number {
    return readJournals(this.folder).filter((note) => note.kind === 'stale').length
  }

  /** False: the point was never passed, and the process was killed from outside. */
  async kill(death: Death): Promise<boolean> {
    switch (death.kind) {
      case 'trap': {
        const child = this.#start(death)
        const before = this.hits().get(death.point) ?? 0
        if ((await child.line(/^up$/, upMs)) !== null)
          await Promise.race([child.ended(), pause(death.patienceMs ?? trapMs, undefined, { ref: false })])
        await this.#bury(child, 'trap')
        return (this.hits().get(death.point) ?? 0) > before
      }
      case 'random': {
        const child = this.#start(death)
        await child.line(/^up$/, upMs)
        await pause(death.afterMs)
        return this.#bury(child, 'random')
      }
      case 'start': {
        const child = this.#start(death)
        await pause(death.afterMs)
        return this.#bury(child, 'start')
      }
      case 'zombie':
        return this.#resurrect(death)
      default:
        return death satisfies never
    }
  }

  settle(): Promise<Evidence> {
    return settle(this.#scene, this.folder)
  }

  #start(death: Death): TestProcess {
    const trap = trapOf(death)
    if (trap && bigPoints.has(trap.point)) this.#range = Math.ceil(this.#range / bigEvery) * bigEvery
    const ranges = this.#range === 0 ? [0] : [this.#range - 1, this.#range]
    this.#range += 1
    this.#children += 1
    const order: ChildOrder = {
      name: `child-${this.#children}`,
      folder: this.folder,
      task: 'work',
      ranges,
      trap,
      cancels: trap?.point.startsWith('action') || this.#random.chance(0.5),
    }
    return this.#scene.start(program, order)
  }

  async #resurrect(death: Extract<Death, { kind: 'zombie' }>): Promise<boolean> {
    const zombie = this.#start(death)
    const hasStopped = (await zombie.line(/^stopping$/, zombieMs)) !== null
    if (!hasStopped) zombie.signal('SIGSTOP')
    const other = this.#start({ kind: 'random', afterMs: 0 })
    await pause(crashLimits.leaseMs * 1.75)
    zombie.signal('SIGCONT')
    await other.line(/^up$/, upMs)
    await pause(death.overlapMs)
    await this.#bury(zombie, 'zombie')
    await this.#bury(other, 'zombie')
    return hasStopped
  }

  async #bury(child: TestProcess, kind: Death['kind']): Promise<true> {
    child.signal('SIGKILL')
    const { code, signal, errors } = await child.ended()
    if (signal !== 'SIGKILL')
      throw new Error(`A process that was to be killed ended by itself with ${signal ?? code}:\n${errors}`)
    this.kills[kind] += 1
    return true
  }
}

function trapOf(death: Death): TrapSetting | null {
  switch (death.kind) {
    case 'trap':
      return { point: death.point, nth: death.nth, by: 'kill' }
    case 'zombie':
      return { point: death.point, nth: death.nth, by: 'stop' }
    case 'random':
    case 'start':
      return null
    default:
      return death satisfies never
  }
}
