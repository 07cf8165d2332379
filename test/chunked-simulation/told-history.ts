import type { Entity } from '../../src/entity.ts'
import type { Machine } from '../../src/machine.ts'
import { isSettled } from '../../src/machine.ts'
import type { Move } from '../../src/store.ts'
import { aMove } from '../../src/testing/builders.ts'
import type { WorkloadRules } from '../../src/testing/simulation/facts.ts'
import type { Invariant } from '../../src/testing/simulation/index.ts'
import { type Known, Model } from '../../src/testing/simulation/model.ts'
import { type ChunkData, chunkedChunk, chunkedJob, type JobData } from '../../workflows/chunked/index.ts'
import { Book } from './book.ts'
import { chunkedInvariants } from './invariants.ts'

const rules: WorkloadRules = { fanOuts: {}, joins: new Set(), never: new Set(), pools: {}, shares: [] }
const jobMachine = chunkedJob as Machine
const chunkMachine = chunkedChunk as Machine

/** What a test says of one move, beside its hops. */
export interface Told {
  readonly at?: number
  readonly generation?: number
  /** Changes of the entity's data. */
  readonly data?: Partial<JobData & ChunkData>
  readonly move?: Partial<Move>
}

/** A history by hand: what was born and what moved, judged as the simulation judges it. Nothing here ever ran. */
export class ToldHistory {
  readonly model = new Model([jobMachine, chunkMachine])
  readonly complaints: string[] = []
  readonly book = new Book((invariant, message) => this.complaints.push(`${invariant}: ${message}`))
  readonly #invariants: readonly Invariant[] = chunkedInvariants(this.book, {
    rulesOf: () => ({ attemptsMax: 3, concurrency: 1 }),
    knows: () => true,
  })
  #ids = 0

  /** Three steps, the second and third gated, with a reducer unless told otherwise. */
  job(state = 'in_progress', data: Partial<JobData> = {}, plan: Partial<JobData['plan']> = {}): Known {
    const step = (id: string, gated: boolean) => ({
      id,
      gated,
      polling: false,
      pollAfterMs: null,
      limit: null,
      weight: null,
    })
    const whole = {
      definition: 'told',
      version: 1,
      currentStep: 'one',
      report: null,
      plan: {
        steps: [step('one', false), step('two', true), step('three', true)],
        reducer: 'reduce',
        reducerWeight: null,
        tolerance: { failures: 0 },
        tells: { completed: false, failed: false },
        ...plan,
      },
      ...data,
    }
    return this.#bear(jobMachine, state, whole, {})
  }

  chunk(job: Known, lane: string, state: string, data: Partial<ChunkData> = {}, place: Partial<Entity> = {}): Known {
    const whole: ChunkData = {
      definition: 'told@1',
      data: null,
      nextPollTimestamp: null,
      pollAttempts: 0,
      errorCount: 0,
      ...data,
    }
    return this.#bear(chunkMachine, state, whole, { parent: job.id, lane, ...place })
  }

  /** One move, as `edge from → to` each, and what is said against it. */
  move(known: Known, cause: string, hops: readonly string[], told: Told = {}): readonly string[] {
    const parsed = hops.map((text) => {
      const [, transition, from, to] = /^(\w+) (\w+) → (\w+)$/.exec(text)!
      return { transition: transition!, from: from!, to: to! }
    })
    const { at = 1_000, generation = known.generation, data, move = {} } = told
    const whole = data ? JSON.stringify({ ...(JSON.parse(known.row.data) as object), ...data }) : null
    const epoch = known.epoch + 1
    const record = {
      entity: known.id,
      seq: known.seq + 1,
      epoch,
      generation,
      at,
      cause,
      hops: parsed,
      actor: null,
      role: null,
      reason: null,
      requestId: null,
      error: null,
    }
    const edges = parsed.map(({ transition, from }) =>
      known.machine.edges.find((edge) => edge.name === transition && edge.from === from),
    )
    const by = ['done', 'retry', 'poll', 'fail'].includes(cause) ? 'lease' : 'outside'
    const sent = cause === 'claim' ? null : aMove(known.row, { by, cause, hops: parsed, data: whole, ...move })
    const fact = { record, known, edges, move: sent, sender: null, wasInvoked: true, model: this.model, rules }
    for (const invariant of this.#invariants) this.#note(invariant, invariant.move?.(fact) ?? null)
    for (const edge of edges) {
      if (edge?.on === 'children') this.model.joins.add(`${known.id} ${edge.name} ${generation}`)
    }
    this.model.apply(known, record)
    return this.row(known, { state: known.state, ...(whole === null ? {} : { data: whole }) })
  }

  /** Its row as the store now shows it. */
  row(known: Known, changes: Partial<Entity> = {}): readonly string[] {
    const before = known.row
    known.row = { ...before, ...changes, settled: known.settled }
    const fact = { row: known.row, before, known, model: this.model, released: null, saved: null, isUnderWay: false }
    for (const invariant of this.#invariants) this.#note(invariant, invariant.row?.(fact) ?? null)
    return this.complaints
  }

  #bear(machine: Machine, state: string, data: unknown, place: Partial<Entity>): Known {
    this.#ids += 1
    const row = {
      id: this.#ids,
      machine: machine.name,
      version: 1,
      state,
      born: state,
      seq: 0,
      epoch: 0,
      generation: 0,
      settled: isSettled(machine, state),
      attempts: 1,
      parent: null,
      lane: machine.name,
      source: null,
      ordinal: null,
      labels: [],
      data: JSON.stringify(data),
      wait: { for: 'run', at: 0 },
      request: null,
      owner: null,
      ...place,
    } as unknown as Entity
    return this.model.bear(row, machine)
  }

  #note({ name }: Invariant, complaint: string | null): void {
    if (complaint !== null) this.complaints.push(`${name}: ${complaint}`)
  }
}
