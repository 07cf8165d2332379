import type { EntityId } from '../entity.ts'
import { messageOf } from '../errors.ts'
import type { Services } from './services.ts'

type Waiter = () => void

export interface Wait {
  /** True: it was settled, or gone, at some moment since the call. False: the time is up. */
  readonly settled: Promise<boolean>
  cancel(): void
}

/**
 * Whoever waits for an entity to settle. This engine's own commits say so at once, at no cost for those that nobody waits
 * for; what other processes settle is found by polling for all waiters together.
 */
export class Settling {
  readonly #services: Services
  readonly #waiters = new Map<EntityId, Set<Waiter>>()
  #end: (() => void) | null = null

  constructor(services: Services) {
    this.#services = services
  }

  wait(id: EntityId, timeoutMs: number | undefined): Wait {
    let end = (_settled: boolean) => {}
    const settled = new Promise<boolean>((resolve) => {
      let cancelTimer = () => {}
      const waiter = () => end(true)
      end = (settled) => {
        cancelTimer()
        this.#remove(id, waiter)
        resolve(settled)
      }
      this.#add(id, waiter)
      if (timeoutMs !== undefined) cancelTimer = this.#services.clock.after(timeoutMs, () => end(false))
    })
    return { settled, cancel: () => end(false) }
  }

  #add(id: EntityId, waiter: Waiter): void {
    const waiters = this.#waiters.get(id)
    if (waiters) waiters.add(waiter)
    else this.#waiters.set(id, new Set([waiter]))
    this.#begin()
  }

  #remove(id: EntityId, waiter: Waiter): void {
    const waiters = this.#waiters.get(id)
    waiters?.delete(waiter)
    if (waiters?.size === 0) this.#waiters.delete(id)
    if (this.#waiters.size > 0) return
    this.#end?.()
    this.#end = null
  }

  /** Listens and polls only while somebody waits. */
  #begin(): void {
    if (this.#end) return
    let ended = false
    let cancelPoll = () => {}
    const poll = () => {
      cancelPoll = this.#services.clock.after(this.#services.limits.pollMs / 4, async () => {
        await this.#look()
        if (!ended) poll()
      })
    }
    const unlisten = this.#services.completer.listen((saved) => {
      for (const move of saved) if (move.settled && this.#waiters.has(move.id)) this.#wake(move.id)
    })
    this.#end = () => {
      ended = true
      cancelPoll()
      unlisten()
    }
    poll()
  }

  #wake(id: EntityId): void {
    for (const waiter of [...(this.#waiters.get(id) ?? [])]) waiter()
  }

  async #look(): Promise<void> {
    const { store, limits, log } = this.#services
    const ids = [...this.#waiters.keys()]
    try {
      for (let begin = 0; begin < ids.length; begin += limits.pageMax) {
        const group = ids.slice(begin, begin + limits.pageMax)
        const entities = await store.get(group)
        group.forEach((id, index) => {
          if (entities[index]?.settled ?? true) this.#wake(id)
        })
      }
    } catch (error) {
      log.debug({ error: messageOf(error) }, 'could not look whether entities are settled; it is tried again')
    }
  }
}
