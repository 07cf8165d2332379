import type { Policy } from '../policy.ts'
import type { Running } from './running.ts'

/** How long small gaps are gathered. */
export const gatherMs = 10

function groupOf(parallel: number): number {
  return Math.max(1, Math.floor(parallel / groupsAtOnce))
}

const groupsAtOnce = 2

/** The places for one processor in this process, who waits for one, and how fast they go: decides how much to claim ahead. */
export class Slots {
  readonly policy: Policy
  /** Claimed, and waiting for a free place. */
  readonly queue: Running[] = []
  /** Claimed, with the lease not yet over. */
  held = 0
  /** Processors that run now. */
  active = 0
  #perMs = 0
  #ended = 0
  #since: number | null = null
  #claimedAt = 0

  /** Groups begin as they come: nothing of them waits for a place. */
  readonly #isGrouped: boolean

  constructor(policy: Policy, isGrouped: boolean) {
    this.policy = policy
    this.#isGrouped = isGrouped
  }

  get isFull(): boolean {
    return this.active >= this.policy.parallel
  }

  accept(now: number): void {
    this.#since ??= now
    this.held += 1
  }

  end(now: number): void {
    this.held -= 1
    this.#ended += 1
    const elapsedMs = now - (this.#since ?? now)
    // Measured over a moment at least, and smoothed: one slow run does not starve the line.
    if (this.held > 0 && elapsedMs < 10) return
    const rate = this.#ended / Math.max(1, elapsedMs)
    this.#perMs = this.#perMs === 0 ? rate : this.#perMs * 0.5 + rate * 0.5
    this.#ended = 0
    this.#since = this.held > 0 ? now : null
  }

  /**
   * How many more to claim: what can be started within this time at the measured rate, and at least one for each place.
   * Small gaps are gathered for a moment: a write for every run that ends would cost more than the runs.
   */
  room(aheadMs: number, max: number, now: number): number {
    const { parallel } = this.policy
    const ahead = this.#isGrouped ? 0 : Math.min(max, Math.floor(this.#perMs * aheadMs))
    const wanted = Math.max(parallel, ahead)
    const room = wanted - this.held
    // Several groups are under way at once: while one is being written, another one is at work.
    if (this.#isGrouped && room >= groupOf(parallel)) return groupOf(parallel)
    if (!this.#isGrouped && room * 4 >= wanted) return room
    return this.held < parallel && now - this.#claimedAt >= gatherMs ? room : 0
  }

  /** Whether a place stands idle that was not worth a claim. */
  get hasGap(): boolean {
    return this.held < this.policy.parallel
  }

  claimed(now: number): void {
    this.#claimedAt = now
  }
}
