import assert from 'node:assert/strict'
import type { Entity, Wait } from '../../src/entity.ts'
import type { Birth, ChildBirth, ClaimRun, Move, Store } from '../../src/store.ts'
import {
  aBirth,
  aMove,
  aRun,
  aWorker,
  type ManualClock,
  parcelMachine,
  shipmentMachine,
  someChildren,
  waitForChildren,
} from '../../src/testing/builders.ts'

const minuteMs = 60_000
export const hourMs = 60 * minuteMs

/** What comes in at each wave, and how it is worked off. */
export interface Wave {
  /** Shipments, and the parcels of each. */
  readonly shipments: number
  readonly parcels: number
  /** Parcels that belong to nobody; so many of them are removed one by one when their time is over. */
  readonly singles: number
  readonly brief: number
  /** Entities that are claimed, and committed, at once. */
  readonly group: number
}

/** Whatever has come to its end is kept so long. */
const retentionMs = 2 * hourMs
const leaseMs = 2 * hourMs
/** Each worker lives for so many waves. */
const lifetime = 4
const runs: readonly ClaimRun[] = [
  aRun(),
  aRun({ state: 'working', hops: [] }),
  // Those that stand alone run in a limited number, as those of a limited processor do.
  aRun({ state: 'limited', pool: { name: 'run:limited', ceiling: 5_000 } }),
]

/** A day of steady work by way of the store alone: batches with children, retries, polls, failures, limits, retention. */
export class Day {
  readonly #store: Store
  readonly #clock: ManualClock
  readonly #wave: Wave
  #operations = 0
  #workers: number[] = []
  #waves = 0
  /** What was worked, all in all, and what is to be there for ever. */
  worked = 0
  kept = 0

  constructor(store: Store, clock: ManualClock, wave: Wave) {
    this.#store = store
    this.#clock = clock
    this.#wave = wave
  }

  async begin(): Promise<void> {
    await this.#store.migrate()
    await this.#store.define([parcelMachine, shipmentMachine])
  }

  /** One wave: what comes in, until nothing of it is left to do. */
  async pass(durationMs: number): Promise<void> {
    const end = this.#clock.now() + durationMs
    await this.#changeWorkers()
    await this.#receive()
    // What is retried or polled becomes due in the minutes after; parents are judged when all is through.
    for (let open = true; open; ) {
      open = await this.#workOff()
      this.#clock.advance(2 * minuteMs)
      await this.#sweep()
    }
    this.#clock.advance(Math.max(0, end - this.#clock.now()))
    await this.#sweep()
    this.#waves += 1
  }

  #operation(): string {
    this.#operations += 1
    return `operation-${this.#operations}`
  }

  async #changeWorkers(): Promise<void> {
    const store = this.#store
    if (this.#waves % lifetime === 0) {
      for (const worker of this.#workers) await store.release({ kind: 'retire', worker })
      const named = ['north', 'south'].map((name) => store.renew({ id: null, identity: aWorker({ name }), leaseMs }))
      this.#workers = (await Promise.all(named)).map(({ id }) => id)
    }
    for (const id of this.#workers) await store.renew({ id, identity: aWorker(), leaseMs })
  }

  async #receive(): Promise<void> {
    const { shipments, parcels, singles, group } = this.#wave
    const store = this.#store
    const birth: Partial<Birth> = { machine: 'shipment', state: 'open', labels: ['north'], wait: { for: 'nothing' } }
    const births = Array.from({ length: shipments }, () => aBirth({ ...birth, key: this.#operation() }))
    const verdicts = await store.create(this.#operation(), births)
    for (const parent of await store.get(verdicts.map((verdict) => (verdict.kind === 'refused' ? 0 : verdict.id)))) {
      const changes: Partial<ChildBirth> = { labels: ['north', 'olga'], data: JSON.stringify({ note: 'x'.repeat(60) }) }
      const children = someChildren(parent!, parcels, changes)
      await this.#commit([aMove(parent!, { state: 'filled', wait: waitForChildren, children, spawned: parcels })])
    }
    for (let at = 0; at < singles; at += group) {
      const some = Array.from({ length: Math.min(group, singles - at) }, () => aBirth({ state: 'limited' }))
      await store.create(this.#operation(), some)
    }
  }

  /** False: nothing waits any more, now or later. */
  async #workOff(): Promise<boolean> {
    let delayed = 0
    for (let idle = 0, turn = 0; idle < this.#workers.length; turn += 1) {
      const worker = this.#workers[turn % this.#workers.length]!
      const { group: limit } = this.#wave
      const { entities } = await this.#store.claim({ worker, runs, limit, bytes: 2 ** 30 })
      if (entities.length === 0) {
        idle += 1
        continue
      }
      idle = 0
      const moves = entities.map((entity) => this.#outcome(entity))
      delayed += moves.filter(({ settled }) => !settled).length
      this.worked += entities.length
      // What is done goes out together, as it does in an engine; the rest comes in between.
      const [done, others] = [
        moves.filter(({ cause }) => cause === 'done'),
        moves.filter(({ cause }) => cause !== 'done'),
      ]
      await this.#commit(done)
      await this.#commit(others)
    }
    return delayed > 0
  }

  #outcome(entity: Entity): Move {
    const now = this.#clock.now()
    const isFirst = entity.attempts === 1
    const chance = this.#clock.random()
    if (isFirst && chance < 0.05) {
      const wait: Wait = { for: 'run', at: now + minuteMs }
      return aMove(entity, {
        cause: 'retry',
        hops: [],
        state: entity.state,
        settled: false,
        attempts: 'stay',
        wait,
        error: 'Not now.',
      })
    }
    // A poll gives its attempt back: it is told by its data that it was one.
    if (chance < 0.1 && entity.data !== '{"polled":true}') {
      const wait: Wait = { for: 'run', at: now + minuteMs }
      return aMove(entity, {
        cause: 'poll',
        hops: [],
        state: entity.state,
        settled: false,
        attempts: 'back',
        wait,
        data: '{"polled":true}',
      })
    }
    if (chance > 0.98)
      return aMove(entity, { cause: 'fail', state: 'failed', reason: 'torn', error: 'The paper tore.' })
    if (entity.parent === null && entity.id % this.#wave.singles < this.#wave.brief)
      return aMove(entity, { wait: { for: 'purge', at: now + retentionMs } })
    return aMove(entity)
  }

  async #sweep(): Promise<void> {
    for (;;) {
      const due = await this.#store.due(1_000)
      const now = this.#clock.now()
      const moves = due.parents.map(({ entity, lanes }) => {
        const read = lanes.map(({ name, wake }) => ({ lane: name, wake }))
        const isOver = lanes.every(({ open }) => open === 0)
        const wait: Wait = isOver ? { for: 'purge', at: now + retentionMs } : waitForChildren
        const state = isOver ? 'done' : entity.state
        return aMove(entity, {
          by: isOver ? 'outside' : 'aside',
          cause: 'children',
          state,
          settled: isOver,
          wait,
          read,
          attempts: 'stay',
        })
      })
      await this.#commit(moves)
      for (const root of due.purges) while (!(await this.#store.purge(root, 1_000)));
      if (moves.length === 0 && due.purges.length === 0) return
    }
  }

  async #commit(moves: readonly Move[]): Promise<void> {
    if (moves.length === 0) return
    const verdicts = await this.#store.commit(this.#operation(), moves)
    const wrong = verdicts.find(({ kind }) => kind !== 'saved')
    assert.equal(wrong, undefined, JSON.stringify(wrong))
  }
}
