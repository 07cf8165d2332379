import type { Clock } from '../../clock.ts'

/**
 * One simulated process: whose callbacks run, wait or never run again. An engine in it sees clock and store only through
 * it, so that it can be killed or paused between any two of its steps, and notices nothing.
 */
export class Process {
  readonly name: string
  #status: 'up' | 'paused' | 'gone' = 'up'
  readonly #parked: (() => void)[] = []

  constructor(name: string) {
    this.name = name
  }

  get status(): 'up' | 'paused' | 'gone' {
    return this.#status
  }

  /** Runs it now; when the process is resumed; or never. */
  pass(callback: () => void): void {
    if (this.#status === 'up') callback()
    else if (this.#status === 'paused') this.#parked.push(callback)
  }

  /** Resolves where the process goes on; never if it does not. */
  goesOn(): Promise<void> {
    return new Promise((resolve) => this.pass(resolve))
  }

  /** As `kill -9` would. */
  kill(): void {
    this.#status = 'gone'
    this.#parked.length = 0
  }

  pause(): void {
    if (this.#status === 'up') this.#status = 'paused'
  }

  /** All that waited for it happens now, in order, as it does to a process that was stopped and goes on. */
  resume(): void {
    if (this.#status !== 'paused') return
    this.#status = 'up'
    for (const callback of this.#parked.splice(0)) this.pass(callback)
  }

  /** The clock as this process has it. */
  clock(clock: Clock): Clock {
    return {
      now: () => clock.now(),
      after: (delayMs, callback) => clock.after(delayMs, () => this.pass(callback)),
      soon: (callback) => clock.soon(() => this.pass(callback)),
      random: () => clock.random(),
    }
  }
}
