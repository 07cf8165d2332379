import { messageOf, SluiceError } from '../errors.ts'
import { timeoutText } from './outcomes.ts'
import type { Running } from './running.ts'
import type { RunningSet } from './running-set.ts'
import type { Services } from './services.ts'

/** What the patrol asks of its worker. */
export interface PatrolledWorker {
  id(): number | null
  /** The renewing thread is to know the deadline of this run. */
  watch(running: Running): void
  drop(running: Running, reason: Error): void
  /** The run took too long: this is its error, and its lease ends. */
  timeOut(running: Running, error: string): void
  giveBack(all: readonly Running[]): void
}

const everyMs = 50

/** The renewing thread ends a lease only if this process has not done so: then its event loop is blocked. */
export const backstopMs = 2 * everyMs

/** While something runs: tells the renewing thread of long runs, drops what is late, and looks whether leases were ended. */
export class Patrol {
  readonly #services: Services
  readonly #running: RunningSet
  readonly #worker: PatrolledWorker
  #cancel: (() => void) | null = null
  #lookedAt = 0
  #lookedUpTo = 0

  constructor(services: Services, running: RunningSet, worker: PatrolledWorker) {
    this.#services = services
    this.#running = running
    this.#worker = worker
  }

  start(): void {
    if (this.#cancel || this.#running.size === 0) return
    this.#cancel = this.#services.clock.after(everyMs, () => {
      this.#cancel = null
      this.#round()
      this.start()
    })
  }

  stop(): void {
    this.#cancel?.()
  }

  #round(): void {
    const { store, limits, completer } = this.#services
    const now = store.time()
    for (const running of [...this.#running]) {
      if (running.dropped || now - running.startedAt < everyMs) continue
      // No processor is at work: it waits for its place or for its commit, or the store does not answer.
      const isHeldUp = !running.active || running.failingReads > 0 || completer.isRepeating
      if (now >= running.deadline && isHeldUp) running.putOff(now)
      if (now >= running.deadline) this.#late(running)
      else if (!running.watched && running.active) {
        running.watched = true
        this.#worker.watch(running)
      }
    }
    // Those that were just claimed are mostly through before the answer is here.
    if (now - this.#lookedAt >= limits.pollMs / 2) void this.lookForEnded(now - everyMs)
  }

  #late(running: Running): void {
    const { run, timeoutMs } = running
    this.#worker.timeOut(running, timeoutText(run.processor ?? run.state, timeoutMs))
  }

  /** As many as one question may name; where more are running, those come next that were not asked about. */
  #nextPage(max: number, startedBy: number): readonly Running[] {
    const all = [...this.#running].filter(({ startedAt }) => startedAt <= startedBy)
    if (all.length <= max) return all
    const from = this.#lookedUpTo >= all.length ? 0 : this.#lookedUpTo
    this.#lookedUpTo = from + max
    return all.slice(from, from + max)
  }

  /** Some leases may have been ended from outside: whatever runs without one is dropped. */
  async lookForEnded(startedBy = Number.POSITIVE_INFINITY): Promise<void> {
    const { store, limits, log } = this.#services
    this.#lookedAt = store.time()
    const long = this.#nextPage(limits.pageMax, startedBy)
    if (long.length === 0) return
    try {
      const entities = await store.get(long.map((running) => running.entity.id))
      const stopped: Running[] = []
      long.forEach((running, index) => {
        const entity = entities[index]
        if (entity && !entity.stopped && entity.owner === this.#worker.id() && entity.epoch === running.entity.epoch)
          return
        // A run that has just committed is not in the set any more, or its entity is newer than what was read.
        if (entity && entity.seq < running.entity.seq) return
        if (!this.#running.has(running)) return
        const why = entity?.stopped ? 'was cancelled with its parent' : 'was moved by someone else'
        const message = `${running.entity.machine} ${running.entity.id} ${why}.`
        this.#worker.drop(running, new SluiceError('lease_lost', message))
        if (entity?.stopped) stopped.push(running)
      })
      // One write for all of them: a cancelled parent may have thousands of children at work.
      if (stopped.length > 0 && this.#worker.id() !== null) this.#worker.giveBack(stopped)
    } catch (error) {
      log.debug({ error: messageOf(error) }, 'could not look for ended leases')
    }
  }
}
