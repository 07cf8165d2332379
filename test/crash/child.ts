import { join } from 'node:path'
import { pino } from 'pino'
import { type Clock, sleep, systemClock } from '../../src/clock.ts'
import type { Control } from '../../src/control.ts'
import { Engine } from '../../src/engine/engine.ts'
import { isSluiceError } from '../../src/errors.ts'
import type { Store } from '../../src/store.ts'
import { durableStore, postgresUrl, schemaOf } from '../durable-store.ts'
import { dumpStore, integrityOf, writeDump } from './evidence.ts'
import { Journal, readJournals } from './journal.ts'
import { type ChildOrder, crashLimits, dumpName, storeName } from './order.ts'
import { planOf, rangeSize } from './plan.ts'
import { crashImplementations } from './processors.ts'
import { Trap } from './trap.ts'
import { trapSqlite } from './trapped-sqlite.ts'
import { trappedStore } from './trapped-store.ts'

const settleMs = 45_000
const groupSize = 10
/** A store that does not answer for so long is asked again. */
const answerMs = 2_000

class Child {
  readonly #order: ChildOrder
  readonly #clock: Clock = systemClock()
  readonly #journal: Journal
  readonly #store: Store
  readonly #engine: Engine
  readonly #control: Control
  /** Batches that are there to be reopened. */
  readonly #reopened: { readonly id: number; readonly number: number }[] = []
  #isStopping = false

  constructor(order: ChildOrder) {
    this.#order = order
    this.#journal = new Journal(order.folder, order.name)
    const trap = new Trap(order.trap, this.#journal)
    trapSqlite(trap)
    this.#store = durableStore(join(order.folder, storeName), order.outlasts ? { leaseMs: answerMs } : {})
    this.#engine = new Engine({
      store: trappedStore(this.#store, trap, this.#journal),
      implementations: crashImplementations(this.#journal, trap),
      limits: { ...crashLimits, ...order.limits },
      log: pino({ level: 'warn' }, pino.destination(2)),
      name: order.name,
      pid: process.pid,
    })
    this.#control = this.#engine.control
  }

  async run(): Promise<void> {
    const { task, outlasts } = this.#order
    if (task === 'submit' || outlasts) await this.#asking(() => this.#engine.prepare())
    if (task !== 'submit') await this.#engine.start()
    process.once('SIGTERM', () => {
      this.#isStopping = true
    })
    process.stdout.write('up\n')
    await this.#submit(task === 'settle' ? this.#everBegun() : this.#order.ranges.flatMap(numbersOf))
    if (task === 'work') await this.#workOn()
    if (task === 'settle') await this.#waitForAll()
    await this.#engine.stop()
    if (task === 'settle') await this.#dump()
    else await this.#store.close()
  }

  async #workOn(): Promise<void> {
    while (!this.#isStopping) {
      await this.#asking(() => this.#reopen())
      await sleep(this.#clock, 20)
    }
  }

  /** Asks until there is an answer, if the store may be away for a while. */
  async #asking<Result>(ask: () => Promise<Result>): Promise<Result> {
    for (;;) {
      try {
        return await ask()
      } catch (error) {
        if (!this.#isPassing(error)) throw error
        await sleep(this.#clock, 50)
      }
    }
  }

  #isPassing(error: unknown): boolean {
    return this.#order.outlasts === true && isSluiceError(error, 'internal')
  }

  async #waitForAll(): Promise<void> {
    for (const deadline = this.#clock.now() + settleMs; this.#clock.now() < deadline; ) {
      const roots = await this.#store.lanes([null])
      const isSettled = roots.every((lane) => lane.open === 0 && (lane.machine !== 'crash_brief' || lane.total === 0))
      if ((await this.#reopen()) && isSettled) break
      await sleep(this.#clock, 25)
    }
  }

  #everBegun(): readonly number[] {
    const numbers = readJournals(this.#order.folder).flatMap((note) =>
      note.kind === 'submit' ? numberOf(note.key) : [],
    )
    return [...new Set(numbers)].sort((one, other) => one - other)
  }

  async #dump(): Promise<void> {
    const { folder } = this.#order
    const ids = readJournals(folder).flatMap((note) => (note.kind === 'submit' && note.phase === 'ok' ? note.id : []))
    const dump = await dumpStore(this.#store, [...new Set(ids)], ['run:crash_item/work'])
    await this.#store.close()
    const integrity = await this.#integrity(join(folder, storeName))
    writeDump(join(folder, dumpName), { ...dump, integrity })
  }

  async #integrity(file: string): Promise<readonly string[]> {
    if (postgresUrl === null) return integrityOf(file)
    const { postgresIntegrity } = await import('../postgres/integrity.ts')
    return postgresIntegrity(postgresUrl, schemaOf(file))
  }

  async #submit(numbers: readonly number[]): Promise<void> {
    for (let at = 0; at < numbers.length; at += groupSize) await this.#submitGroup(numbers.slice(at, at + groupSize))
  }

  async #submitGroup(numbers: readonly number[]): Promise<void> {
    const plans = numbers.map(planOf)
    this.#journal.write(...plans.map(({ key }) => ({ kind: 'submit', phase: 'invoke', key }) as const))
    for (const [machine, group] of Map.groupBy(plans, (plan) => plan.machine)) {
      const submitted = await this.#asking(() =>
        this.#control.submitMany(
          machine,
          group.map(({ key, data }) => ({ key, data })),
        ),
      )
      const notes = group.map(({ key }, index) => ({ kind: 'submit', phase: 'ok', key, ...submitted[index]! }) as const)
      this.#journal.write(...notes)
      group.forEach(({ data }, index) => {
        const { id } = submitted[index]!
        if (data.mood === 'again') this.#reopened.push({ id, number: data.number })
        if (data.mood === 'cancelled' && this.#order.cancels) void this.#cancel(id, data.number)
      })
    }
  }

  async #cancel(id: number, number: number): Promise<void> {
    await sleep(this.#clock, 150 * this.#clock.random())
    await this.#act(id, 'cancel', `${this.#order.name}/cancel/${number}`)
  }

  /** Reopens each batch that is there to be reopened, once. True: all have been. */
  async #reopen(): Promise<boolean> {
    let isDone = true
    for (const { id, number } of this.#reopened) {
      const { state, generation, seq } = await this.#control.get(id)
      if (generation > 0) continue
      isDone = false
      if (state === 'completed') await this.#act(id, 'again', `${this.#order.name}/again/${number}/${seq}`, seq)
    }
    return isDone
  }

  async #act(id: number, action: string, request: string, seq?: number): Promise<void> {
    const note = { kind: 'act', request, id, action } as const
    this.#journal.write({ ...note, phase: 'invoke' })
    try {
      await this.#control.act(id, action, {
        requestId: request,
        actor: 'tester',
        role: 'operator',
        reason: 'crash test',
        confirmed: true,
        ...(seq === undefined ? {} : { seq }),
      })
      this.#journal.write({ ...note, phase: 'ok' })
    } catch (error) {
      // Nobody knows what became of it, and nobody says.
      if (this.#isPassing(error)) return
      if (!isSluiceError(error, 'conflict')) throw error
      this.#journal.write({ ...note, phase: 'fail' })
    }
  }
}

function numbersOf(range: number): readonly number[] {
  return Array.from({ length: rangeSize }, (_, index) => range * rangeSize + index)
}

function numberOf(key: string): number {
  return Number(key.slice(key.lastIndexOf('-') + 1))
}

await new Child(JSON.parse(process.argv[2] ?? '') as ChildOrder).run()
