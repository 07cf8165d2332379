import { messageOf } from '../errors.ts'
import type { WorkerIdentity } from '../lease.ts'
import type { Heart } from '../store.ts'
import { clockHeart } from './heart.ts'
import type { Services } from './services.ts'

/** What the worker does when it is no member any more, and when it is one again. */
export interface MembershipEvents {
  lost(worker: number): void
  regained(): void
}

/** The worker's place among those that may hold leases: its number, and the heart that keeps it. Lost, it is sought anew until it is left. */
export class Membership {
  readonly #services: Services
  readonly #identity: WorkerIdentity
  readonly #events: MembershipEvents
  #id: number | null = null
  #heart: Heart | null = null
  #joining: Promise<void> | null = null
  #isOpen = true

  constructor(services: Services, identity: WorkerIdentity, events: MembershipEvents) {
    this.#services = services
    this.#identity = identity
    this.#events = events
  }

  /** Null: not registered at the moment. */
  get id(): number | null {
    return this.#id
  }

  get heart(): Heart | null {
    return this.#heart
  }

  join(): Promise<void> {
    this.#joining = this.#join()
    return this.#joining
  }

  /** The store says that this worker's lease is gone. An answer that came late tells of one whose loss is known: the next keeps its own. */
  denied(worker: number | null): void {
    if (worker !== null && worker === this.#id && this.#heart) this.#lost(this.#heart)
  }

  /** Lost from now on, it stays lost. */
  close(): void {
    this.#isOpen = false
  }

  async leave(): Promise<void> {
    this.close()
    await this.#joining
    await this.#heart?.stop()
    if (this.#id === null) return
    try {
      await this.#services.store.release({ kind: 'retire', worker: this.#id })
    } catch (error) {
      this.#services.log.warn(
        { error: messageOf(error) },
        'the worker could not sign off; its lease will end by itself',
      )
    }
  }

  async #join(): Promise<void> {
    const { store, clock, limits, log } = this.#services
    for (let pauseMs = 20; this.#isOpen; pauseMs = Math.min(1_000, pauseMs * 2)) {
      try {
        this.#heart ??= this.#newHeart()
        const heart = this.#heart
        // The lease begins when the heart can keep it: on a busy machine its thread may take longer to start than a lease lasts.
        await heart.ready
        const worker = await store.renew({ id: null, identity: this.#identity, leaseMs: limits.leaseMs })
        // The thread broke meanwhile; that lease will end by itself.
        if (this.#heart !== heart) continue
        this.#id = worker.id
        heart.keep(worker.id)
        return
      } catch (error) {
        log.warn({ error: messageOf(error) }, 'the worker could not register; it tries again')
        await new Promise<void>((resolve) => clock.after(pauseMs, resolve))
      }
    }
  }

  #newHeart(): Heart {
    const { store, clock, limits } = this.#services
    const { leaseMs, renewMs } = limits
    const request = { identity: this.#identity, leaseMs, renewMs, lost: () => this.#lost(heart) }
    const heart = store.heart?.(request) ?? clockHeart(store, clock, request)
    return heart
  }

  #lost(heart: Heart): void {
    if (this.#heart !== heart) return
    const worker = this.#id
    this.#heart = null
    this.#id = null
    void heart.stop()
    // Whoever was no member yet is joining already.
    if (worker === null) return
    this.#services.report.leaseLost()
    this.#services.log.warn({ worker }, 'the lease was lost; what was running is dropped and the worker registers anew')
    this.#events.lost(worker)
    void this.join().then(() => {
      if (this.#id !== null) this.#events.regained()
    })
  }
}
