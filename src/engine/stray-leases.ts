import { messageOf } from '../errors.ts'
import type { RunningSet } from './running-set.ts'
import type { Services } from './services.ts'

/**
 * Leases that the store keeps for this worker and that no run here has. A claim whose answer was lost, a commit that was stale because the
 * lane was stopped, a release that failed: each leaves a lease that would last as long as this process.
 */
export class StrayLeases {
  readonly #services: Services
  readonly #running: RunningSet
  #inDoubt = false
  #checkedAt = 0

  constructor(services: Services, running: RunningSet) {
    this.#services = services
    this.#running = running
  }

  /** There may be some. */
  doubt(): void {
    this.#inDoubt = true
  }

  /**
   * The lease of this worker ran out although its process lives: it was the store that could not be reached. What no process has taken for
   * a dead worker's yet goes back with its attempt.
   */
  async giveBackOf(worker: number): Promise<void> {
    const leases = [...this.#running].map(({ entity: { id, epoch } }) => ({ id, epoch }))
    if (leases.length === 0) return
    try {
      await this.#services.store.release({ kind: 'give_back', worker, leases })
    } catch (error) {
      this.#services.log.debug({ error: messageOf(error) }, 'giving back failed; the leases have run out all the same')
    }
  }

  /**
   * Gives back what no run here has: at once where there is doubt, and now and then for what no answer has told us. No claim may be under
   * way meanwhile: it would be given back with the rest.
   */
  async giveBack(worker: number): Promise<void> {
    const { store, limits } = this.#services
    const now = store.time()
    if (!this.#inDoubt && now - this.#checkedAt < limits.leaseMs) return
    this.#inDoubt = false
    this.#checkedAt = now
    try {
      await store.release({ kind: 'all_but', worker, keep: [...this.#running].map(({ entity }) => entity.id) })
    } catch (error) {
      this.#inDoubt = true
      throw error
    }
  }
}
