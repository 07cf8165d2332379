import type { Entity, EntityId } from '../../entity.ts'
import { isSluiceError } from '../../errors.ts'
import type { HoldScope } from '../../hold.ts'
import type { Birth, ClaimResult, ClaimRun, CreateVerdict, Move, Release, Store, Verdict } from '../../store.ts'
import type { ManualClock } from '../builders.ts'
import { aBirth, aRun, aWorker, waitForNothing } from '../builders.ts'
import { plannedMoves } from './planned-move.ts'
import type { BirthPlan, MovePlan, Step } from './program.ts'

/** What one step answered: everything that a caller was told. */
export type Answer =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'created'; readonly births: readonly Birth[]; readonly verdicts: readonly CreateVerdict[] }
  | { readonly kind: 'registered'; readonly worker: number }
  | {
      readonly kind: 'claimed'
      readonly worker: number
      readonly limit: number
      readonly runs: readonly ClaimRun[]
      readonly result: ClaimResult
    }
  | {
      readonly kind: 'committed'
      readonly moves: readonly Move[]
      readonly verdicts: readonly Verdict[]
      readonly repeated: boolean
    }
  | { readonly kind: 'released'; readonly ids: readonly EntityId[] }
  | { readonly kind: 'purged'; readonly root: EntityId; readonly finished: boolean }
  | { readonly kind: 'refused'; readonly code: string }
  | { readonly kind: 'together'; readonly answers: readonly Answer[] }

export const randomLimits = { dataBytesMax: 200, reasonsMax: 2, laneSharedMax: 4, ageingMs: 20 }

export const poolNames = ['disk', 'press', 'per/maps', 'per/books', 'key:k1', 'key:k2', 'key:k3']

/** Plays steps on one store, and remembers what it was shown, as a worker or a person with an old page would. */
export class Player {
  readonly store: Store
  /** A second process on the same data, for what happens at the same time. */
  readonly other: Store
  readonly clock: ManualClock
  /** In the order in which they were first seen. */
  readonly known: EntityId[] = []
  readonly workers: number[] = []
  readonly holds: number[] = []
  readonly #views = new Map<EntityId, Entity[]>()
  #operations = 0
  #lastCommit: { readonly operation: string; readonly moves: readonly Move[] } | null = null

  constructor(store: Store, other: Store, clock: ManualClock) {
    this.store = store
    this.other = other
    this.clock = clock
  }

  /** Remembers how entities look now. */
  saw(entities: readonly Entity[]): void {
    for (const entity of entities) {
      const views = this.#views.get(entity.id)
      if (!views) this.known.push(entity.id)
      const latest = views?.at(-1)
      if (latest?.epoch === entity.epoch && latest.seq === entity.seq && latest.owner === entity.owner) {
        views![views!.length - 1] = entity
      } else if (views) views.push(entity)
      else this.#views.set(entity.id, [entity])
    }
  }

  /** Faults of the caller (a lost lease, a root that is not settled) are answers too. */
  async play(step: Step, store = this.store): Promise<Answer> {
    try {
      return await this.#play(step, store)
    } catch (error) {
      if (isSluiceError(error) && error.code !== 'internal') return { kind: 'refused', code: error.code }
      throw error
    }
  }

  async #play(step: Step, store: Store): Promise<Answer> {
    switch (step.do) {
      case 'create': {
        const births = step.births.map((plan) => this.#birthOf(plan))
        return { kind: 'created', births, verdicts: await store.create(this.#operation(), births) }
      }
      case 'register':
        return { kind: 'registered', worker: await this.#register(store, step.leaseMs) }
      case 'renew': {
        await store.renew({ id: this.#worker(step.worker), identity: aWorker(), leaseMs: 1_000 })
        return { kind: 'nothing' }
      }
      case 'claim': {
        const worker = this.#worker(step.worker)
        const runs = step.isNarrow ? narrowRuns : runsOf(step.pooled)
        const { limit } = step
        return {
          kind: 'claimed',
          worker,
          limit,
          runs,
          result: await store.claim({ worker, runs, limit, bytes: 2 ** 20 }),
        }
      }
      case 'commit':
        return this.#commit(store, step.moves, step.repeat)
      case 'release':
        return { kind: 'released', ids: await store.release(this.#releaseOf(step.kind, step.worker, step.entity)) }
      case 'advance':
        // A clock that is set back: the store must not follow.
        if (step.durationMs < 0) this.clock.set(this.clock.now() + step.durationMs)
        else this.clock.advance(step.durationMs)
        return { kind: 'nothing' }
      case 'crash': {
        this.clock.advance(1_000)
        const ids = await store.release({ kind: 'dead' })
        await this.#register(store, 1_000)
        return { kind: 'released', ids }
      }
      case 'hold': {
        const scope = this.#scopeOf(step.scope, step.entity)
        if (!scope) return { kind: 'nothing' }
        const until = step.durationMs === null ? null : store.time() + step.durationMs
        const standing = await store.holds({ set: scope, reason: 'audit', owner: 'olga', until })
        for (const { id } of standing) if (!this.holds.includes(id)) this.holds.push(id)
        return { kind: 'nothing' }
      }
      case 'lift': {
        const standing = (await store.holds()).map((hold) => hold.id)
        const lift = pick(standing, step.hold)
        if (lift !== undefined) await store.holds({ lift })
        return { kind: 'nothing' }
      }
      case 'purge': {
        const settled = this.known.filter((id) => this.#latest(id)?.settled && this.#latest(id)?.parent === null)
        const root = pick(settled.length > 0 ? settled : this.known, step.entity)
        if (root === undefined) return { kind: 'nothing' }
        return { kind: 'purged', root, finished: await store.purge(root, step.limit) }
      }
      case 'together': {
        const [first, second] = step.steps
        return { kind: 'together', answers: await Promise.all([this.play(first), this.play(second, this.other)]) }
      }
      default:
        return step satisfies never
    }
  }

  async #commit(store: Store, plans: readonly MovePlan[], repeat: boolean): Promise<Answer> {
    if (repeat && this.#lastCommit) {
      const { operation, moves } = this.#lastCommit
      return { kind: 'committed', moves, verdicts: await store.commit(operation, moves), repeated: true }
    }
    const moves: Move[] = []
    for (const plan of plans) moves.push(...(await this.#movesOf(store, plan)))
    const operation = this.#operation()
    this.#lastCommit = { operation, moves }
    return { kind: 'committed', moves, verdicts: await store.commit(operation, moves), repeated: false }
  }

  async #movesOf(store: Store, plan: MovePlan): Promise<readonly Move[]> {
    const candidates = this.#candidates(plan.whom)
    const views = this.#views.get(pick(candidates.length > 0 ? candidates : this.known, plan.entity) ?? -1) ?? []
    const entity = views[Math.max(0, views.length - 1 - plan.age)]
    if (!entity) return []
    const read = (await store.lanes([entity.id])).map((lane) => ({ lane: lane.name, wake: lane.wake }))
    return plannedMoves(plan, entity, { time: store.time(), read, holds: [...this.holds] })
  }

  #birthOf(plan: BirthPlan): Birth {
    const at = this.store.time() + plan.delayMs
    const wait = {
      ready: { for: 'run', at, ...(plan.pool ? { pool: 'disk' } : {}) },
      parked: waitForNothing,
      timed: { for: 'time', at },
      done: { for: 'purge', at },
    } as const
    return aBirth({
      state: plan.state,
      labels: [plan.plain ? null : plan.collection, null],
      priority: plan.priority,
      key: plan.plain ? null : plan.key,
      wait: wait[plan.state],
      sums: plan.plain ? null : { bytes: 1 },
    })
  }

  #releaseOf(kind: Release['kind'], workerAt: number, entityAt: number): Release {
    const worker = this.#worker(workerAt)
    const view = this.#latest(pick(this.known, entityAt) ?? -1)
    const leases = view ? [{ id: view.id, epoch: view.epoch }] : []
    switch (kind) {
      case 'give_back':
        return { kind, worker: view?.owner ?? worker, leases }
      case 'all_but':
        return { kind, worker, keep: view ? [view.id] : [] }
      case 'timed_out':
        return { kind, leases, error: 'slow' }
      case 'retire':
        return { kind, worker }
      case 'dead':
        return { kind }
      default:
        return kind satisfies never
    }
  }

  #scopeOf(plan: 'label' | 'state' | 'entity' | 'parent', entityAt: number): HoldScope | null {
    const entity = pick(this.known, entityAt)
    switch (plan) {
      case 'label':
        return { label: { name: 'collection', value: 'maps' } }
      case 'state':
        return { state: 'packed' }
      case 'entity':
        return entity === undefined ? null : { entity }
      case 'parent':
        return entity === undefined ? null : { parent: entity }
      default:
        return plan satisfies never
    }
  }

  #candidates(whom: MovePlan['whom']): readonly EntityId[] {
    if (whom === 'anyone') return this.known
    if (whom === 'leased') return this.known.filter((id) => this.#latest(id)?.owner)
    return [...new Set(this.known.flatMap((id) => this.#latest(id)?.parent ?? []))]
  }

  /** One of the last few that registered, or somebody unknown. */
  #worker(position: number): number {
    return pick(this.workers.slice(-3), position) ?? 999
  }

  async #register(store: Store, leaseMs: number): Promise<number> {
    const worker = await store.renew({ id: null, identity: aWorker(), leaseMs })
    this.workers.push(worker.id)
    return worker.id
  }

  #latest(id: EntityId): Entity | undefined {
    return this.#views.get(id)?.at(-1)
  }

  #operation(): string {
    this.#operations += 1
    return `step-${this.#operations}`
  }
}

/** Everything that waits in these programs can be claimed by somebody. As in any machine, a state is holdable or is not. */
function runsOf(pooled: 'none' | 'one' | 'label'): readonly ClaimRun[] {
  const limited = {
    pool: pooled === 'one' ? { name: 'press', ceiling: 2 } : null,
    poolPer: pooled === 'label' ? { position: 0, name: 'per', ceiling: 1 } : null,
  }
  return [
    aRun({ ...limited, state: 'ready', holdable: true }),
    aRun({ ...limited, state: 'working' }),
    aRun({ ...limited, state: 'packed', hops: [] }),
    aRun({ ...limited, state: 'ready', edge: 'repack', hops: [], holdable: true }),
    aRun({ ...limited, state: 'working', edge: 'repack', hops: [] }),
  ]
}

const narrowRuns = [aRun({ state: 'ready', hops: [], holdable: true })]

function pick<Item>(items: readonly Item[], position: number): Item | undefined {
  return items[position % items.length]
}
