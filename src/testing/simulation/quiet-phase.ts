import type { Control, Explanation } from '../../control.ts'
import type { Entity } from '../../entity.ts'
import type { Store } from '../../store.ts'
import type { Complain } from './judge.ts'
import type { Observer } from './observer.ts'
import type { World } from './world.ts'

/** Longer than any number of leases, backoffs, timers and retentions of the workload one after another. */
const quietMsMax = 120_000
const stepsBetweenLooks = 250
/** A process that crashed last is up again by then, and what it held is free. */
const graceMs = 3_000
const waitMsMax = 12_000

/** What may be said of an entity at rest. */
const rests: ReadonlySet<string> = new Set(['held', 'person', 'parent_ended', 'final', 'settled'])

/** Nothing goes wrong any more: everything must end, rest under a parent that ended, or wait for a person. */
export class QuietPhase {
  readonly #world: World
  readonly #store: Store
  readonly #observer: Observer
  readonly #control: Control

  constructor(world: World, store: Store, observer: Observer, control: Control) {
    this.#world = world
    this.#store = store
    this.#observer = observer
    this.#control = control
  }

  async run(isBroken: () => boolean, tidy: () => void, complain: Complain): Promise<void> {
    const world = this.#world
    const deadline = world.now + quietMsMax
    const look = () => this.#observer.look()
    world.after(graceMs, { name: 'world', status: 'up', parked: [] }, 'grace is over', () => {
      this.#observer.quiet = { since: this.#store.time(), waitMsMax }
    })
    for (;;) {
      tidy()
      const until = world.steps + stepsBetweenLooks
      await world.run(() => isBroken() || world.steps >= until, look)
      if (isBroken()) return
      const restless = await this.#restless()
      if (!restless) return
      if (world.now > deadline) return complain('liveness', await this.#sentence(restless))
    }
  }

  /** One that neither ended nor rests. */
  async #restless(): Promise<Entity | null> {
    for (const known of this.#observer.model.all) {
      const [row] = await this.#store.get([known.id])
      if (!row || (row.settled && row.request === null && row.wait.for === 'nothing')) continue
      // What retention will take must be taken.
      if (row.settled && row.wait.for === 'purge') return row
      if (await this.#waitsForShare(row)) continue
      const explanation = await this.#control.explain(row.id)
      if (!rests.has(explanation.kind) && !this.#waitsForOthers(explanation)) return row
    }
    return null
  }

  /** Somebody who has not ended keeps what it needs. It may be asking for more at this very moment. */
  async #waitsForShare({ wait }: Entity): Promise<boolean> {
    if (wait.for !== 'run' || wait.pool === undefined) return false
    const [pool] = await this.#store.pools([wait.pool])
    return pool?.holders.some(({ entity }) => this.#observer.model.find(entity)?.settled === false) ?? false
  }

  /** Those it waits for are looked at by themselves: if they rest, so may it. */
  #waitsForOthers({ kind, facts }: Explanation): boolean {
    switch (kind) {
      case 'children':
        return facts.due === false && (facts.open as number) > 0
      case 'gated':
        return true
      default:
        return false
    }
  }

  async #sentence(row: Entity): Promise<string> {
    const { kind, sentence, facts } = await this.#control.explain(row.id)
    return `${row.machine} ${row.id} does not come to rest (${kind}): ${sentence} ${JSON.stringify(facts)} ${JSON.stringify(row)}`
  }
}
