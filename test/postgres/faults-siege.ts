import { setTimeout as pause } from 'node:timers/promises'
import { program } from '../crash/campaign.ts'
import { readJournals } from '../crash/journal.ts'
import { type ChildOrder, crashLimits } from '../crash/order.ts'
import type { Random } from '../crash/random.ts'
import type { Scene } from '../crash/scene.ts'
import type { TestProcess } from '../crash/test-process.ts'
import type { TrapPoint, TrapSetting } from '../crash/trap.ts'
import type { CuttingProxy } from './proxy.ts'
import type { PostgresServer } from './server.ts'

/** What is done to processes, connections and server while work goes on. */
export const faults = ['crash', 'restart', 'kill', 'sleep', 'terminate', 'terminate all', 'cut', 'silence'] as const
export type Fault = (typeof faults)[number]

const workersMax = 3
/** Ranges of numbers that each process submits. */
const rangesPerWorker = 3
const upMs = 20_000
/** "COMMIT", and that the server is ready for more. */
const commitBytes = 18

/** Where a process dies by its own hand, or falls asleep past its lease. SQLite's own points are not passed on PostgreSQL. */
const deaths: readonly TrapPoint[] = ['create:after', 'claim:after', 'commit:before', 'commit:after', 'publish:after']
const sleeps: readonly TrapPoint[] = [
  'commit:before',
  'claim:after',
  'stage:before',
  'effect:before',
  'children:before',
]

/** Several processes work on one server; whoever dies is replaced, as a supervisor would. */
export class Siege {
  readonly folder: string
  readonly done: Record<Fault, number>
  readonly #scene: Scene
  readonly #server: PostgresServer
  readonly #proxy: CuttingProxy
  readonly #random: Random
  readonly #crew = new Set<TestProcess>()
  readonly #watches: Promise<void>[] = []
  #range = 0
  #children = 0
  #isOver = false
  /** What no process may do: ending by itself, for any reason but that it could not begin. */
  readonly complaints: string[] = []

  constructor(scene: Scene, name: string, server: PostgresServer, proxy: CuttingProxy, random: Random) {
    this.#scene = scene
    this.#server = server
    this.#proxy = proxy
    this.#random = random
    this.folder = scene.place(name)
    this.done = Object.fromEntries(faults.map((fault) => [fault, 0])) as Record<Fault, number>
  }

  async begin(): Promise<void> {
    while (this.#crew.size < workersMax) this.#hire()
    await Promise.all([...this.#crew].map((child) => child.line(/^up$/, upMs)))
  }

  /** How many moves of lease holders were refused, because somebody else had got the lease. */
  fenced(): number {
    return readJournals(this.folder).filter((note) => note.kind === 'stale').length
  }

  async strike(fault: Fault): Promise<void> {
    switch (fault) {
      case 'crash':
        await this.#server.stop('immediate')
        await pause(this.#random.between(0, 300))
        await this.#server.start()
        break
      case 'restart':
        await this.#server.stop('fast')
        await this.#server.start()
        break
      case 'kill':
        this.#anyone().signal('SIGKILL')
        break
      case 'sleep':
        await this.#lull(this.#anyone())
        break
      case 'terminate':
        await this.#terminate(0.3)
        break
      case 'terminate all':
        await this.#terminate(1)
        break
      case 'cut':
        this.#proxy.cut({ of: 'commit', bytes: this.#random.between(0, commitBytes) }, 'reset')
        break
      case 'silence':
        this.#proxy.silence()
        break
      default:
        fault satisfies never
    }
    this.done[fault] += 1
  }

  /** One leaves in good order; the others are killed. */
  async end(): Promise<void> {
    this.#isOver = true
    this.#proxy.spare()
    for (const [index, child] of [...this.#crew].entries()) {
      child.signal('SIGCONT')
      child.signal(index === 0 ? 'SIGTERM' : 'SIGKILL')
    }
    await Promise.all(this.#watches)
  }

  #anyone(): TestProcess {
    const crew = [...this.#crew]
    return crew[this.#random.between(0, crew.length - 1)]!
  }

  async #terminate(share: number): Promise<void> {
    await this.#server.psql(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'sluice' AND random() < ${share}`,
    )
  }

  /** Asleep past its lease, then awake as if nothing had been. */
  async #lull(child: TestProcess): Promise<void> {
    child.signal('SIGSTOP')
    await pause(crashLimits.leaseMs * 1.75)
    child.signal('SIGCONT')
  }

  #hire(): void {
    this.#children += 1
    const ranges = Array.from({ length: rangesPerWorker }, (_, index) => this.#range + index)
    // The next one submits some of the same again: it must find it.
    this.#range += rangesPerWorker - (this.#random.chance(0.5) ? 1 : 0)
    const order: ChildOrder = {
      name: `child-${this.#children}`,
      folder: this.folder,
      task: 'work',
      ranges,
      trap: this.#trap(),
      cancels: this.#random.chance(0.5),
      outlasts: true,
    }
    const child = this.#scene.start(program, order)
    this.#crew.add(child)
    this.#watches.push(this.#watch(child, order))
  }

  #trap(): TrapSetting | null {
    if (this.#random.chance(0.4)) return null
    const by = this.#random.chance(0.4) ? 'kill' : 'stop'
    const points = by === 'kill' ? deaths : sleeps
    const point = points[this.#random.between(0, points.length - 1)]!
    return { point, nth: this.#random.between(1, 6), by }
  }

  async #watch(child: TestProcess, { name, trap }: ChildOrder): Promise<void> {
    if (trap?.by === 'stop')
      void child.line(/^stopping$/, 60_000).then(async (line) => line !== null && (await this.#lull(child)))
    const { code, signal, errors } = await child.ended()
    this.#crew.delete(child)
    const isOrderly = signal === 'SIGKILL' || (code === 0 && this.#isOver)
    // The server was away when it began: whoever started it starts it again.
    const isBeginner = child.lines.every((line) => line !== 'up') && /PostgreSQL at/.test(errors)
    if (!isOrderly && !isBeginner) this.complaints.push(`${name} ended by itself with ${signal ?? code}:\n${errors}`)
    if (!this.#isOver) this.#hire()
  }
}
