import type { Clock } from '../../clock.ts'
import type { Entity, EntityId } from '../../entity.ts'
import type { Birth, ClaimRequest, ClaimResult, ClaimRun, LeaseProof } from '../../store.ts'
import type { Plan } from './habit.ts'

/** Whoever has not come for it by then has no room, or comes no more. */
const keepMs = 50

/** A worker of this process that asked, found nobody left, and has room. */
export interface Waiting {
  readonly worker: number
  readonly runs: readonly ClaimRun[]
  readonly plan: Plan
}

/** The same while something is being born for it, and what had been heard of by then. */
export interface Taker extends Waiting {
  readonly ends: number
  readonly comings: number
}

interface Given extends Taker {
  readonly entity: Entity
}

/**
 * From a birth straight to a worker of the same process that waits: what is born while nobody else stands in line has its lease from the
 * first moment on, and the claim that the worker makes when it hears of it goes to the server no more. One at a time; whatever else is
 * born meanwhile waits in line.
 *
 * A lease that no worker knows of would last as long as its process. So what nobody comes for is given back; and where the answer to a
 * birth was lost, the next claim fails as if its own answer had been, whereupon the worker gives back all that it does not know of.
 */
export class Handover {
  readonly #clock: Clock
  /** Ends a lease that nobody came for, and fails if it cannot. */
  giveBack: (worker: number, lease: LeaseProof) => Promise<unknown> = async () => {}
  #waiting: Waiting | null = null
  #isBearing = false
  #given: Given | null = null
  #cancel: () => void = () => {}
  readonly #lost = new Map<number, unknown>()
  /** How often leases were ended that nobody here may have known of. */
  #ends = 0
  /** How often somebody may have come into a line. */
  #comings = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  waits(waiting: Waiting): void {
    this.#waiting = waiting
  }

  /** Whose it will be, if it can be anybody's at once. Then `decided` must follow, whatever becomes of it. */
  takerOf(birth: Birth, now: number): Taker | null {
    const { wait } = birth
    const waiting = this.#waiting
    if (!waiting || this.#isBearing || this.#given) return null
    if (wait.for !== 'run' || wait.gated || wait.pool !== undefined || wait.at > now) return null
    if (!waiting.plan.places.some(({ run }) => isOf(run, birth))) return null
    this.#waiting = null
    this.#isBearing = true
    return { ...waiting, ends: this.#ends, comings: this.#comings }
  }

  decided(): void {
    this.#isBearing = false
  }

  born(taker: Taker, entity: Entity): void {
    const given = { ...taker, entity }
    // Whether it was born before or after leases were ended is not known: the order to end this one is right in both cases.
    if (taker.ends !== this.#ends) {
      void this.#end(given)
      return
    }
    this.#given = given
    this.#cancel = this.#clock.after(keepMs, () => {
      this.#given = null
      void this.#end(given)
    })
  }

  /** Somebody may have come into a line, by this birth or otherwise. */
  heard(born: EntityId | null): void {
    if (born === null || born !== this.#given?.entity.id) this.#comings += 1
  }

  lost({ worker }: Taker, error: unknown): void {
    this.#lost.set(worker, error)
  }

  /** What a claim of this worker gets without asking the server, if there is anything. */
  take({ worker, runs, limit }: ClaimRequest): ClaimResult | null {
    this.#waiting = null
    const error = this.#lost.get(worker)
    if (this.#lost.delete(worker)) throw error
    const given = this.#given
    const run = given?.worker === worker ? runs.find((run) => isOf(run, given.entity)) : undefined
    if (!given || !run || Math.min(limit, run.limit) < 1) return null
    this.#drop()
    // Nobody else stood in line when it was born, and nobody has come since.
    const isAlone = given.comings === this.#comings && keyOf(runs) === keyOf(given.runs)
    if (isAlone && Math.min(limit, run.limit) > 1) this.#waiting = { worker, runs, plan: given.plan }
    return { entities: [given.entity], suspects: false, idle: isAlone ? runs : [] }
  }

  /** All leases of this worker end that it does not know of: this one, too, and one that is being given may be among them. */
  forget(worker: number): void {
    this.#ends += 1
    this.#lost.delete(worker)
    if (this.#waiting?.worker === worker) this.#waiting = null
    if (this.#given?.worker === worker) this.#drop()
  }

  /** Leases were ended, whoever had them. */
  ended(ids: readonly EntityId[]): void {
    if (this.#given && ids.includes(this.#given.entity.id)) this.#drop()
  }

  stop(): void {
    this.#waiting = null
    this.#drop()
  }

  #drop(): void {
    this.#cancel()
    this.#given = null
  }

  async #end({ worker, entity }: Given): Promise<void> {
    try {
      await this.giveBack(worker, entity)
    } catch (error) {
      this.#lost.set(worker, error)
    }
  }
}

function isOf({ machine, version, state, edge }: ClaimRun, of: Pick<Birth, 'machine' | 'version' | 'state'>): boolean {
  return machine === of.machine && version === of.version && state === of.state && edge === null
}

function keyOf(runs: readonly ClaimRun[]): string {
  return runs.map(({ machine, version, state, edge }) => `${machine}@${version}/${state}/${edge ?? ''}`).join(' ')
}
