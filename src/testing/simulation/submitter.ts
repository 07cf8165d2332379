import type { EntityId } from '../../entity.ts'
import type { Fleet } from './fleet.ts'
import type { Complain } from './judge.ts'
import type { Observer } from './observer.ts'
import type { Wish, Workload } from './workload/index.ts'
import type { World } from './world.ts'

interface Submission {
  readonly wish: Wish
  readonly key: string | null
  /** What the submitter was told, every time. */
  readonly ids: Set<EntityId>
}

/** Programs that submit: they ask again when no answer comes, with the same key, and believe what they are told. */
export class Submitter {
  readonly #world: World
  readonly #fleet: Fleet
  readonly #observer: Observer
  readonly #complain: Complain
  readonly #workload: Workload
  readonly #submissions: Submission[] = []

  constructor(world: World, fleet: Fleet, observer: Observer, workload: Workload, complain: Complain) {
    this.#world = world
    this.#fleet = fleet
    this.#observer = observer
    this.#complain = complain
    this.#workload = workload
  }

  get submitted(): number {
    return this.#submissions.length
  }

  submit(): void {
    const { random } = this.#world
    const key = random.chance(0.6) ? `key ${this.#submissions.length}` : null
    const submission: Submission = { wish: this.#workload.drawWish(random), key, ids: new Set() }
    this.#submissions.push(submission)
    // Two at once with one key: the same entity must come of it.
    for (let times = key !== null && random.chance(0.3) ? 2 : 1; times > 0; times--) this.#send(submission)
  }

  /** Whoever was not answered and has a key asks again. */
  repeat(): void {
    const submission = this.#submissions[this.#world.random.below(this.#submissions.length)]
    if (submission?.key && this.#world.random.chance(0.5)) this.#send(submission)
  }

  check(): void {
    const { model } = this.#observer
    for (const { wish, key, ids } of this.#submissions) {
      if (ids.size > 1) this.#complain('G7 no phantom', `${wish.machine} with ${key} is ${[...ids].join(' and ')}.`)
      for (const id of ids) {
        if (!model.find(id) && !model.purged.has(id))
          this.#complain('G6 durability', `${wish.machine} ${id} was acknowledged, and is not there.`)
      }
    }
  }

  #send({ wish, key, ids }: Submission): void {
    const host = this.#fleet.serving()
    if (!host) return
    this.#workload.send(host.engine.control, wish, key).then(
      ({ id }) => ids.add(id),
      () => {
        // Not answered: whoever has a key will ask again.
      },
    )
  }
}
