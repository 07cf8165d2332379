import { type Entity, rootLane } from '../../src/entity.ts'
import type { MoveRecord } from '../../src/event.ts'
import type { Lane } from '../../src/lane.ts'
import { emptyLane } from '../../src/lane.ts'
import type { Machine } from '../../src/machine.ts'
import type { Evidence, StoreDump } from './evidence.ts'
import type { Note } from './journal.ts'

type Mutable<T> = { -readonly [Field in keyof T]: T[Field] }

/** Evidence that a test can spoil. */
export type Draft = {
  -readonly [Field in keyof Evidence]: Evidence[Field] extends readonly (infer Item)[]
    ? Mutable<Item>[]
    : Evidence[Field]
} & {
  histories: Record<number, Mutable<MoveRecord>[]>
}

interface Born {
  readonly parent?: number
  readonly lane?: string
  readonly ordinal?: number
  readonly state?: string
  readonly key?: string
  readonly data?: unknown
}

/** Writes a history by hand, one move after another: what it says of rows, feed and lanes fits together by construction. */
export class Story {
  readonly #machines: readonly Machine[]
  readonly #entities = new Map<number, Mutable<Entity>>()
  readonly #feed: MoveRecord[] = []
  readonly #notes: Note[] = []
  #at = 1_000

  constructor(machines: readonly Machine[]) {
    this.#machines = machines
  }

  note(...notes: readonly Note[]): this {
    this.#notes.push(...notes)
    return this
  }

  /** Submitted, acknowledged and stored. */
  submit(id: number, machine: string, key: string, data: unknown): this {
    this.note({ kind: 'submit', phase: 'invoke', key }, { kind: 'submit', phase: 'ok', key, id, existing: false })
    return this.born(id, machine, { key, data })
  }

  born(id: number, name: string, born: Born): this {
    const machine = this.#machine(name)
    const state = born.state ?? machine.initial[0]!
    this.#at += 1
    this.#entities.set(id, {
      id,
      machine: name,
      version: 1,
      state,
      born: state,
      seq: 0,
      epoch: 0,
      generation: 0,
      settled: machine.settled.includes(state),
      attempts: 0,
      suspect: 0,
      parent: born.parent ?? null,
      lane: born.lane ?? rootLane(name, 1),
      source: born.parent ?? null,
      ordinal: born.ordinal ?? null,
      labels: [],
      priority: 0,
      data: JSON.stringify(born.data ?? {}),
      wait: { for: 'run', at: 0 },
      request: null,
      owner: null,
      stopped: false,
      spawned: 0,
      checkpoint: null,
      progress: null,
      reason: null,
      sums: null,
      error: null,
      key: born.key ?? null,
      createdAt: this.#at,
      createdBy: null,
      changedAt: this.#at,
    })
    return this
  }

  /** One move along these transitions. A claim raises the epoch, and so does what comes from outside. */
  move(id: number, cause: string, transitions: readonly string[], changes: Partial<MoveRecord> = {}): this {
    const entity = this.#entities.get(id)!
    const machine = this.#machine(entity.machine)
    this.#at += 1
    const hops = transitions.map((name) => {
      const edge = machine.edges.find((edge) => edge.name === name && edge.from === entity.state)
      if (!edge) throw new Error(`${entity.machine} has no ${name} from ${entity.state}.`)
      if (machine.settled.includes(entity.state)) entity.generation += 1
      entity.state = edge.to
      return { transition: name, from: edge.from, to: edge.to }
    })
    entity.seq += 1
    if (cause !== 'done') entity.epoch += 1
    entity.settled = machine.settled.includes(entity.state)
    entity.wait = entity.settled ? { for: 'nothing' } : { for: 'run', at: this.#at }
    entity.changedAt = this.#at
    this.#feed.push({
      entity: id,
      seq: entity.seq,
      epoch: entity.epoch,
      generation: entity.generation,
      at: this.#at,
      cause,
      hops,
      actor: null,
      role: null,
      reason: null,
      requestId: null,
      error: null,
      ...changes,
    })
    return this
  }

  /** An action that a person asked for, and its answer. */
  act(id: number, action: string, request: string): this {
    this.note({ kind: 'act', phase: 'invoke', request, id, action }, { kind: 'act', phase: 'ok', request, id, action })
    return this.move(id, 'action', [action], { actor: 'tester', role: 'operator', reason: 'test', requestId: request })
  }

  effect(id: number, edge: string, generation = 0): this {
    return this.note({ kind: 'effect', key: `${id}:${generation}:${edge}`, body: `body of ${id}` })
  }

  evidence(rest: Partial<StoreDump>): Draft {
    const entities = [...this.#entities.values()]
    return structuredClone({
      notes: this.#notes,
      entities,
      histories: Object.fromEntries(entities.map(({ id }) => [id, this.#feed.filter((move) => move.entity === id)])),
      feed: this.#feed,
      lanes: lanesOf(entities),
      drifts: [],
      tombstones: [],
      pools: [],
      workers: [],
      integrity: ['ok'],
      ...rest,
    }) as Draft
  }

  #machine(name: string): Machine {
    const machine = this.#machines.find((machine) => machine.name === name)
    if (!machine) throw new Error(`There is no machine ${name}.`)
    return machine
  }
}

function lanesOf(entities: readonly Entity[]): readonly Lane[] {
  const groups = Map.groupBy(entities, (entity) => `${entity.parent}/${entity.lane}`)
  return [...groups.values()].map((group) => {
    const { parent, lane, machine } = group[0]!
    const counts = [...Map.groupBy(group, (entity) => entity.state)].map(([state, same]) => [state, same.length])
    return {
      ...emptyLane(parent, lane, machine, 1, []),
      counts: Object.fromEntries(counts) as Record<string, number>,
      total: group.length,
      open: group.filter((entity) => !entity.settled).length,
    }
  })
}
