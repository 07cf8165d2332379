import { type Clock, delayMsMax } from '../../clock.ts'
import type { Owner, World } from './world.ts'

/**
 * The clock of one simulated process, or of the store. What it shows may jump; how long a timer takes may not. Like the
 * machine's own clock (src/clock.ts) a process's stands still where it was set back. The one that the store is given does step back:
 * that nobody sees it is the store's own promise.
 */
export class ProcessClock implements Clock {
  readonly #world: World
  readonly #owner: Owner
  readonly #stepsBack: boolean
  /** How far it is ahead of the world's time. */
  offsetMs = 0
  #latest = 0

  constructor(world: World, owner: Owner, stepsBack = false) {
    this.#world = world
    this.#owner = owner
    this.#stepsBack = stepsBack
  }

  now(): number {
    const shown = this.#world.now + this.offsetMs
    this.#latest = Math.max(this.#latest, shown)
    return this.#stepsBack ? shown : this.#latest
  }

  after(delayMs: number, callback: () => void): () => void {
    const wholeMs = Math.ceil(Math.min(Math.max(0, delayMs), delayMsMax))
    return this.#world.after(wholeMs, this.#owner, 'timer', callback)
  }

  soon(callback: () => void): void {
    this.#world.soon(this.#owner, 'soon', callback)
  }

  random(): number {
    return this.#world.random.next()
  }

  /** Shows no earlier time than it has shown, and from now on goes as the world does. */
  mend(): void {
    this.offsetMs = Math.max(this.offsetMs, this.#latest - this.#world.now)
  }
}
