import { decide, type Occurrence } from '../decide.ts'
import type { Entity, LaneRead, Request, Wait } from '../entity.ts'
import { messageOf } from '../errors.ts'
import type { Facts } from '../implementation.ts'
import type { Lane } from '../lane.ts'
import type { Decision } from '../path.ts'
import { type Move, nobody } from '../store.ts'
import { childrenOf } from './births.ts'
import { asideOf, moveOf } from './moves.ts'
import type { Services } from './services.ts'
import { tell } from './telling.ts'
import type { Trouble } from './trouble.ts'

const looksInARow = 4

/** Does what nobody holds a lease for: woken parents, timers, retention, dead workers. One per process; any number may run. */
export class Sweeper {
  readonly #services: Services
  readonly #trouble: Trouble
  /** Something waits to run from about now. */
  readonly #onWork: () => void
  #state: 'idle' | 'sweeping' | 'ended' = 'idle'
  #sweeping = false
  #current: Promise<void> | null = null
  #again = false
  #credit: number = looksInARow
  #paidAt = Number.NEGATIVE_INFINITY
  #buriedAt = Number.NEGATIVE_INFINITY
  /** When the store was last seen not to answer. */
  #awayAt = Number.NEGATIVE_INFINITY
  #wakeAt = Number.POSITIVE_INFINITY
  #cancel = () => {}

  constructor(services: Services, onWork: () => void) {
    this.#services = services
    this.#trouble = services.troubles.of('a sweep')
    this.#onWork = onWork
  }

  start(): void {
    this.#state = 'sweeping'
    this.look()
  }

  /** Resolves when the sweep that is under way has ended: nobody asks the store for anything afterwards. */
  async stop(): Promise<void> {
    this.#state = 'ended'
    this.#cancel()
    await this.#current
  }

  /** Something may be due. Parents woken within `judgeMs` are judged together. */
  look(): void {
    this.#again = true
    if (this.#sweeping || this.#state !== 'sweeping') return
    this.#sweeping = true
    const { clock } = this.#services
    const pauseMs = this.#pauseMs()
    const sweep = () => {
      if (this.#state === 'sweeping') this.#current = this.#sweep()
    }
    if (pauseMs > 0) clock.after(pauseMs, sweep)
    else clock.soon(sweep)
  }

  /**
   * A parent is judged at most every `judgeMs`, in the long run: a few looks in a row are not made to wait, since a chain of steps that end
   * one after another would wait before each.
   */
  #pauseMs(): number {
    const { clock, limits } = this.#services
    const now = clock.now()
    const earned = Math.max(0, now - this.#paidAt) / limits.judgeMs
    this.#credit = Math.min(looksInARow, this.#credit + earned)
    this.#paidAt = now
    if (this.#credit >= 1) {
      this.#credit -= 1
      return 0
    }
    const pauseMs = (1 - this.#credit) * limits.judgeMs
    this.#credit = 0
    this.#paidAt = now + pauseMs
    return pauseMs
  }

  /** Something of ours will be due at this time. */
  expect(at: number): void {
    if (at < this.#wakeAt) this.#sleepUntil(at)
  }

  async #sweep(): Promise<void> {
    const { store, clock, limits, registry } = this.#services
    this.#again = false
    let next: number | null = null
    try {
      await this.#buryDead()
      const due = await store.due(limits.pageMax, registry.names)
      const moves = [
        ...due.parents.map(({ entity, lanes }) => this.#judge(entity, lanes)),
        ...due.timers.map((entity) => this.#time(entity)),
      ]
      await Promise.all(moves)
      for (const root of due.purges) await this.#purge(root)
      if (moves.length > 0 || due.purges.length > 0) this.#again = true
      next = due.next
      this.#trouble.over()
    } catch (error) {
      this.#again = false
      this.#awayAt = clock.now()
      // The poll is pause enough.
      this.#trouble.failed(error)
    }
    this.#sweeping = false
    if (this.#state !== 'sweeping') return
    if (this.#again) this.look()
    else {
      const pollAt = store.time() + limits.pollMs * (0.75 + clock.random() / 2)
      // What was announced while the store was asked is not in its answer.
      this.#sleepUntil(Math.min(next ?? pollAt, pollAt, this.#wakeAt))
    }
  }

  #sleepUntil(at: number): void {
    if (this.#state !== 'sweeping') return
    const { store, clock } = this.#services
    this.#cancel()
    this.#wakeAt = at
    this.#cancel = clock.after(Math.max(1, at - store.time()), () => {
      this.#wakeAt = Number.POSITIVE_INFINITY
      this.#onWork()
      this.look()
    })
  }

  /** Dead workers are looked for a few times per lease, so that what they held runs again within two lease times. */
  async #buryDead(): Promise<void> {
    const { store, clock, limits } = this.#services
    const now = clock.now()
    if (now - this.#buriedAt < Math.min(limits.pollMs, limits.leaseMs / 4)) return
    // While nobody reached the store all leases may have run out. Workers that are alive find that out, and give back what they held.
    if (now - this.#awayAt < limits.renewMs) return
    const freed = await store.release({ kind: 'dead' })
    this.#buriedAt = clock.now()
    if (freed.length > 0) this.#onWork()
  }

  async #judge(entity: Entity, lanes: readonly Lane[]): Promise<void> {
    await this.#move(entity, { cause: 'children' }, lanes)
  }

  async #time(entity: Entity): Promise<void> {
    await this.#move(entity, { cause: 'time' }, null)
  }

  async #move(entity: Entity, occurrence: Occurrence, lanes: readonly Lane[] | null): Promise<void> {
    const { completer, log, registry } = this.#services
    let message: string
    try {
      const { move, decision } = this.#decide(entity, occurrence, lanes)
      const verdict = await completer.commit(move)
      if (verdict.kind === 'saved') {
        tell(this.#services, registry.get(entity.machine, entity.version).machine, entity, decision)
      }
      if (verdict.kind !== 'refused' && verdict.kind !== 'full') return
      message = verdict.kind === 'full' ? `${verdict.pool} is full.` : verdict.message
      log.error({ entity: entity.id, machine: entity.machine }, `a ${occurrence.cause} edge was refused: ${message}`)
    } catch (error) {
      message = messageOf(error)
      log.error(
        { entity: entity.id, machine: entity.machine, error: message },
        `a ${occurrence.cause} edge could not be decided`,
      )
    }
    await this.#rest(entity, lanes, message)
  }

  /**
   * It is looked at again after a pause. The pause and its reason are written down: `explain` can name it, and a rule that breaks for many must not fill every page of
   * what is due, in any process, and keep all others from being looked at.
   */
  async #rest(entity: Entity, lanes: readonly Lane[] | null, message: string): Promise<void> {
    const { store, completer, limits, log } = this.#services
    const at = store.time() + 10 * limits.pollMs
    const wait: Wait = lanes ? { for: 'children', at } : { for: 'time', at }
    try {
      await completer.commit({
        ...asideOf(entity, {}),
        by: 'aside',
        keep: false,
        wait,
        read: readOf(lanes),
        error: message,
      })
    } catch (error) {
      log.debug({ entity: entity.id, error: messageOf(error) }, 'the pause was not saved')
    }
  }

  #decide(entity: Entity, occurrence: Occurrence, lanes: readonly Lane[] | null): { move: Move; decision: Decision } {
    const { registry, store, clock, limits } = this.#services
    const implementation = registry.get(entity.machine, entity.version)
    const facts: Facts = {
      now: store.time(),
      random: clock.random(),
      lanes,
      holds: [],
      input: null,
      actor: null,
      reason: null,
      error: null,
    }
    // Whoever waits for children may be due by its timer as well: what its children say comes first.
    let decision = decide(implementation, entity, JSON.parse(entity.data), 0, occurrence, facts, limits.hopsMax)
    if (lanes && decision.hops.length === 0 && !decision.request) {
      const timed = decide(implementation, entity, JSON.parse(entity.data), 0, { cause: 'time' }, facts, limits.hopsMax)
      if (timed.hops.length > 0 || timed.request) decision = timed
    }
    const read = readOf(lanes)
    const request: Request | null = decision.request && {
      edge: decision.request.name,
      actor: null,
      role: null,
      reason: null,
      requestId: null,
      input: null,
      read: decision.request.on === 'children' ? read : null,
    }
    const children = childrenOf(registry, entity, decision.change.spawn, entity.spawned, facts.now, limits)
    const move = moveOf(
      implementation.machine,
      entity,
      request ? { ...decision, attempts: 'reset' } : decision,
      {
        by: decision.hops.length > 0 ? 'outside' : 'aside',
        read,
        children,
        spawned: entity.spawned + children.length,
        actor: nobody,
        ...(request ? { request } : {}),
      },
      limits,
    )
    return { move, decision }
  }

  async #purge(root: number): Promise<void> {
    const { store, limits } = this.#services
    while (this.#state === 'sweeping' && !(await store.purge(root, limits.pageMax))) {
      // One group after another, each a short write: whoever works is not kept waiting.
    }
  }
}

function readOf(lanes: readonly Lane[] | null): readonly LaneRead[] | null {
  return lanes?.map((lane) => ({ lane: lane.name, wake: lane.wake })) ?? null
}
