import assert from 'node:assert/strict'
import type { EntityId } from '../../entity.ts'
import type { Lane } from '../../lane.ts'
import { manualClock, parcelMachine, shipmentMachine } from '../builders.ts'
import type { Observation } from './observation.ts'
import { Observer } from './observation.ts'
import type { Answer } from './player.ts'
import { Player, randomLimits } from './player.ts'
import type { RunOptions, Step } from './program.ts'
import { playPrograms } from './program.ts'
import type { Harness, Open } from './story.ts'

/** Plays the same programs on two stores, side by side, and compares all that they show after each step. */
export async function compareStores(openA: Open, openB: Open, options: RunOptions): Promise<void> {
  await playPrograms(options, async (program) => {
    const a = await Side.begin(openA)
    try {
      const b = await Side.begin(openB)
      try {
        for (const step of program) {
          const [shownA, shownB] = [await a.play(step), await b.play(step)]
          assert.deepEqual(shownB, shownA, `after ${JSON.stringify(step)}`)
        }
      } finally {
        await b.end()
      }
    } finally {
      await a.end()
    }
  })
}

/** One store of the two, with its own clock and its own names for what it issued. */
class Side {
  readonly #harness: Harness
  readonly #player: Player
  readonly #observer: Observer
  /** Stores may leave gaps between ids, so each is known by the order in which it was first seen. */
  readonly #names = new Map<EntityId, number>()

  readonly #wakes = new Map<string, number>()

  private constructor(harness: Harness, player: Player) {
    this.#harness = harness
    this.#player = player
    this.#observer = new Observer(harness.store)
  }

  static async begin(open: Open): Promise<Side> {
    const clock = manualClock()
    const harness = await open({ clock, limits: randomLimits })
    await harness.store.migrate()
    await harness.store.define([parcelMachine, shipmentMachine])
    return new Side(harness, new Player(harness.store, harness.store, clock))
  }

  async play(step: Step): Promise<unknown> {
    // In which order a tree is taken apart is a store's own, so here it goes at once.
    const answer = await this.#player.play(step.do === 'purge' ? { ...step, limit: 1_000 } : step)
    const now = await this.#observer.look()
    this.#player.saw(now.entities)
    for (const { id } of now.entities) if (!this.#names.has(id)) this.#names.set(id, this.#names.size + 1)
    return this.#named({
      answer: comparable(answer),
      now: { ...shown(now), lanes: now.lanes.map((lane) => this.#woken(lane)) },
    })
  }

  /** How much a wake number grows for several births at once is a store's own; that it grows is not. */
  #woken({ wake, seen, ...lane }: Lane): unknown {
    const key = `${lane.parent}/${lane.name}`
    const grown = wake > (this.#wakes.get(key) ?? 0)
    this.#wakes.set(key, wake)
    return { ...lane, grown, ahead: wake > seen }
  }

  async end(): Promise<void> {
    await this.#harness.close()
  }

  /** The same value with every entity called by its name. */
  #named(value: unknown, key = ''): unknown {
    if (typeof value === 'number' && idFields.has(key)) return this.#names.get(value) ?? `unseen ${value}`
    if (Array.isArray(value)) return value.map((item) => this.#named(item, key))
    if (value === null || typeof value !== 'object') return value
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, this.#named(item, name)]))
  }
}

/** Fields that hold ids of entities. Ids of workers and holds are issued one by one everywhere, so they are compared as they are. */
const idFields = new Set([
  'entityId',
  'parent',
  'source',
  'entity',
  'births',
  'ids',
  'parents',
  'timers',
  'purges',
  'root',
])

/** What a caller was told, without what it had asked for itself. */
function comparable(answer: Answer): unknown {
  switch (answer.kind) {
    case 'created':
      return answer.verdicts.map((verdict) =>
        'id' in verdict ? { kind: verdict.kind, entity: verdict.id } : verdict.kind,
      )
    case 'claimed':
      return {
        entities: answer.result.entities.map(withNamedId),
        // Whether suspects that a full pool stops are said to wait is left to each store: the engine only asks again later.
        suspects: answer.runs.every((run) => !run.pool && !run.poolPer) && answer.result.suspects,
      }
    case 'committed':
      // The words of a refusal are each store's own, and so is which ten holders are named.
      return answer.verdicts.map((verdict) => {
        if (verdict.kind === 'refused') return verdict.kind
        return verdict.kind === 'full' ? { kind: verdict.kind, pool: verdict.pool } : verdict
      })
    case 'released':
      return { ids: [...answer.ids].sort((a, b) => a - b) }
    default:
      return answer
  }
}

function shown(now: Observation): object {
  const { due } = now
  return {
    ...now,
    entities: now.entities.map(withNamedId),
    // Children that are published together appear at once: in which order the feed names them is a store's own.
    births: [...now.births].sort((a, b) => a - b),
    pools: now.pools.map((pool) => ({ ...pool, holders: [...pool.holders].sort((a, b) => a.entity - b.entity) })),
    due: {
      parents: due.parents.map(({ entity }) => entity.id).sort((a, b) => a - b),
      timers: due.timers.map(({ id }) => id).sort((a, b) => a - b),
      purges: [...due.purges].sort((a, b) => a - b),
      next: due.next,
    },
  }
}

function withNamedId<Item extends { readonly id: number }>({ id, ...rest }: Item): unknown {
  return { entityId: id, ...rest }
}
