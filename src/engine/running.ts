import type { Entity } from '../entity.ts'
import type { Run } from './registry.ts'

/** The place of one that is in no set. */
export const nowhere = -1

/** One claimed entity in this process, from the claim to the end of its lease. */
export class Running {
  /** As the store has it: replaced by each saved move. */
  entity: Entity
  run: Run
  startedAt: number
  deadline: number
  timeoutMs: number
  /** Its processor runs now. */
  active = false
  /** The renewing thread knows its deadline. */
  watched = false
  /** The lease is over: whatever comes of the processor is dropped. */
  dropped = false
  /** It outran its timeout, and that is being recorded: until then it stands among those that run. */
  timingOut = false
  /** The checkpoint that it makes: what a timeout counts depends on how that ends. Never rejects. */
  writing: Promise<void> | null = null
  /** Its run has written checkpoints or progress, of which `entity` may not know yet: they end with the state. */
  wrote = false
  /** It has made a checkpoint that no attempt before had reached: what went wrong before that does not count. */
  isFurther = false
  /** How many of its reads wait because the store does not answer: meanwhile it is not late. */
  failingReads = 0
  /** Where it stands among those that run: its set's own business. */
  place = nowhere
  #controller: AbortController | null = null
  #reason: Error | null = null

  constructor(entity: Entity, run: Run, now: number) {
    this.entity = entity
    this.run = run
    this.startedAt = now
    this.timeoutMs = run.policy.timeoutMs
    this.deadline = now + this.timeoutMs
  }

  /** Made when first asked for: most runs end before anybody does. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#reason) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  get aborted(): boolean {
    return this.#reason !== null
  }

  abort(reason: Error): void {
    if (this.#reason) return
    this.#reason = reason
    this.#controller?.abort(reason)
  }

  begin(now: number, timeoutMs: number): void {
    this.isFurther = false
    this.startedAt = now
    this.limit(timeoutMs)
  }

  /** It waits for something that is not its processor: that time is not its own. */
  putOff(now: number): void {
    this.deadline = now + this.timeoutMs
    this.watched = false
  }

  /** How long this run may take, from when it began. */
  limit(timeoutMs: number): void {
    this.timeoutMs = timeoutMs
    this.deadline = this.startedAt + timeoutMs
    this.watched = false
  }
}
