import { AsyncLocalStorage } from 'node:async_hooks'
import { type Clock, delayMsMax, sleep } from '../../clock.ts'
import type { EntityId } from '../../entity.ts'
import {
  type Context,
  type GroupProcessor,
  groupProcessorOf,
  type Implementation,
  inGroups,
  type Processor,
  policyFor,
} from '../../implementation.ts'
import { type Duration, durationMs } from './duration.ts'
import type { Witness } from './moment.ts'
import type { Process } from './process.ts'

/** A processor of the user's that runs now. */
export interface Run {
  readonly machine: string
  readonly entity: EntityId
  readonly generation: number
  readonly processor: string
  readonly process: Process
  /** Nobody waits for its result any more. */
  isAborted(): boolean
  /** When it will have outrun its timeout. */
  readonly deadline: number
  /** Timers on the kit's clock that it waits for. */
  sleeping: number
}

/** The clock that is handed to processors and tests. It is moved by the kit alone. */
export interface KitClock extends Clock {
  /** Lets virtual time pass: costs a test nothing. */
  sleep(duration: Duration, signal?: AbortSignal): Promise<void>
}

/**
 * Knows which processors run, in which process, and whether they wait for virtual time or for something real. What a
 * processor does through the kit (clock, effects) ends with its process.
 */
export class Runs {
  readonly clock: KitClock
  readonly #clock: Clock
  readonly #witness: Witness
  readonly #running = new Set<Run>()
  readonly #storage = new AsyncLocalStorage<Run>()
  /** What was asked for through the kit's clock, by a processor or by the test itself. */
  readonly #timers = new Set<{ readonly at: number; readonly run: Run | null }>()

  constructor(clock: Clock, witness: Witness) {
    this.#clock = clock
    this.#witness = witness
    this.clock = {
      now: () => clock.now(),
      random: () => clock.random(),
      soon: (callback) => this.#soon(callback),
      after: (delayMs, callback) => this.#after(delayMs, callback),
      sleep: (duration, signal) => sleep(this.clock, durationMs(duration), signal),
    }
  }

  /** The run that this code is part of, awaited or not. */
  current(): Run | null {
    return this.#storage.getStore() ?? null
  }

  /** Those that wait for something that moving the clock will not bring about. */
  waitingInRealTime(): readonly Run[] {
    return [...this.#running].filter((run) => run.process.status === 'up' && run.sleeping === 0 && !run.isAborted())
  }

  /** Somebody's lease is kept by a processor that only waits for virtual time. */
  get isAnySleeping(): boolean {
    return this.#sleeping().length > 0
  }

  /**
   * When processors are woken or outrun their timeouts, and when the test itself is woken; its own timers beyond the end
   * keep nobody from coming to rest.
   */
  times(end: number): readonly number[] {
    const alive = [...this.#timers].filter(({ run, at }) => (run ? run.process.status !== 'gone' : at <= end))
    return [...alive.map(({ at }) => at), ...this.#sleeping().map(({ deadline }) => deadline)]
  }

  #sleeping(): readonly Run[] {
    return [...this.#running].filter((run) => run.process.status === 'up' && run.sleeping > 0 && !run.isAborted())
  }

  /** The processors of one process, each watched from the first step to the last. */
  watched(implementation: Implementation, process: Process): Implementation {
    const processors = Object.entries(implementation.processors).map(([name, processor]) => [
      name,
      this.#watched(implementation, name, processor, process),
    ])
    return { ...implementation, processors: Object.fromEntries(processors) }
  }

  #watched(bound: Implementation, name: string, processor: Processor, process: Process): Processor {
    const many = groupProcessorOf(processor)
    if (!many) return this.#watchedOne(bound, name, processor, process)
    // One run for all of them, under the name of the first: they begin, sleep and end together.
    return inGroups((contexts) => {
      const [first] = contexts
      if (!first) return []
      let outcomes: Awaited<ReturnType<GroupProcessor>> = []
      const asOne: Processor = async () => {
        outcomes = await many(contexts)
      }
      return Promise.resolve(this.#watchedOne(bound, name, asOne, process)(first)).then(() => outcomes)
    })
  }

  #watchedOne(bound: Implementation, name: string, processor: Processor, process: Process): Processor {
    const machine = bound.machine.name
    return async (context: Context) => {
      const { id, generation } = context.entity
      const what = `${name} of ${machine} ${id}`
      this.#witness({ process, name: `before ${what}`, matters: true, processor: { name, when: 'before' } })
      await process.goesOn()
      const isAborted = () => context.signal.aborted
      const deadline = this.#clock.now() + policyFor(bound, name, { view: context.entity }).timeoutMs
      const run: Run = { machine, entity: id, generation, processor: name, process, isAborted, deadline, sleeping: 0 }
      this.#running.add(run)
      try {
        return await this.#storage.run(run, () => processor(context))
      } finally {
        this.#running.delete(run)
        this.#witness({
          process,
          name: `after ${what}, before its commit`,
          matters: true,
          processor: { name, when: 'after' },
        })
        await process.goesOn()
      }
    }
  }

  /** A step of the current run's at which its process may die. Without a run nothing does. */
  async reach(when: 'before' | 'after', what: string): Promise<void> {
    const run = this.current()
    if (!run) return
    // What a processor does beyond its process' death is done by nobody.
    await run.process.goesOn()
    const name = `${when} ${what} by ${run.processor} of ${run.machine} ${run.entity}`
    this.#witness({ process: run.process, name, matters: true })
    await run.process.goesOn()
  }

  #soon(callback: () => void): void {
    const run = this.current()
    this.#clock.soon(() => (run ? run.process.pass(callback) : callback()))
  }

  #after(delayMs: number, callback: () => void): () => void {
    const run = this.current()
    const timer = { at: this.#clock.now() + Math.min(Math.max(0, delayMs), delayMsMax), run }
    const end = () => {
      if (!this.#timers.delete(timer)) return
      if (run) run.sleeping -= 1
    }
    this.#timers.add(timer)
    if (run) run.sleeping += 1
    const cancel = this.#clock.after(delayMs, () => {
      end()
      if (run) run.process.pass(() => this.#storage.run(run, callback))
      else callback()
    })
    return () => {
      end()
      cancel()
    }
  }
}
