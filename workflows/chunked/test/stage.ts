import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import {
  type Clock,
  type Control,
  type Detail,
  isSluiceError,
  type Limits,
  openSluice,
  type Sluice,
  systemClock,
} from 'sluice'
import { memoryStore } from 'sluice/memory'
import { type TestKit, type TestKitOptions, testKit } from 'sluice/testing'
import { type Chunked, type ChunkedOptions, openChunked, type StartOptions } from '../chunked.ts'
import type { JobDefinition } from '../job-definition.ts'
import type { ChunkView, JobView } from '../job-view.ts'
import type { Sink } from '../step.ts'
import { durableStore, isPostgres } from './durable-store.ts'

export type StoreKind = 'sqlite' | 'memory' | 'postgres'
/** What is told once for each store. On PostgreSQL, where everything else is told again, there is but one. */
export const storeKinds: readonly StoreKind[] = isPostgres ? ['postgres'] : ['sqlite', 'memory']

export interface StageOptions extends Pick<ChunkedOptions, 'limits'> {
  readonly engineLimits?: Partial<Limits>
}

/** A backoff that costs a test no time. */
export const soon = { attemptsMax: 4, backoff: { firstMs: 1, maxMs: 1 } } as const

/** How long a small job may take on a busy machine: only a test that fails waits for it. */
const patienceMs = 30_000

/** The family on a control that a test brings, or on an engine that runs in a folder of its own. All is removed at the end. */
export class Stage implements AsyncDisposable {
  readonly chunked: Chunked
  readonly control: Control
  readonly folder: string
  /** What the engine logged as a warning or worse. */
  readonly warnings: readonly string[]
  readonly #close: () => Promise<void>

  private constructor(parts: Pick<Stage, 'chunked' | 'control' | 'folder' | 'warnings'>, close: () => Promise<void>) {
    this.chunked = parts.chunked
    this.control = parts.control
    this.folder = parts.folder
    this.warnings = parts.warnings
    this.#close = close
  }

  static async open(
    kind: StoreKind,
    definitions: readonly JobDefinition[],
    options: StageOptions = {},
  ): Promise<Stage> {
    const folder = await newFolder()
    const { limits = {}, engineLimits = {} } = options
    const chunked = openChunked({ definitions, folder, limits })
    const store =
      kind === 'memory' && !isPostgres ? memoryStore() : durableStore(join(folder, 'sluice.db'), engineLimits)
    const warnings: string[] = []
    const log = pino({ level: 'warn' }, { write: (line) => warnings.push(line) })
    const sluice: Sluice = await openSluice({
      store,
      implementations: chunked.implementations,
      limits: engineLimits,
      log,
    })
    return new Stage({ chunked, control: sluice, folder, warnings }, async () => {
      await sluice.stop()
      await store.close()
    })
  }

  /** Time, crashes and the number of engines are the test's own. */
  static async kit(
    definitions: readonly JobDefinition[],
    options: StageOptions & Omit<TestKitOptions, 'implementations' | 'limits'> = {},
  ): Promise<{ readonly stage: Stage; readonly kit: TestKit; readonly clock: Clock }> {
    const folder = await newFolder()
    const { limits = {}, engineLimits = {}, ...rest } = options
    let kit!: TestKit
    const clock: Clock = { ...systemClock(), now: () => kit.clock.now() }
    const chunked = openChunked({ definitions, folder, limits, clock })
    // Each process has a family of its own: what it keeps in memory dies with it.
    const implementations = () => openChunked({ definitions, folder, limits, clock }).implementations
    kit = testKit({ implementations, limits: engineLimits, ...rest })
    const parts = { chunked, control: kit.control, folder, warnings: kit.warnings }
    return { stage: new Stage(parts, () => kit.stop()), kit, clock }
  }

  async start<P, In>(job: JobDefinition<P, In>, parameters: In, options: StartOptions = {}): Promise<number> {
    return (await this.chunked.start(this.control, job, parameters, options)).id
  }

  /** Starts a job and waits until it has settled. */
  async run<P, In>(job: JobDefinition<P, In>, parameters: In, options: StartOptions = {}): Promise<JobView> {
    return this.settled(await this.start(job, parameters, options))
  }

  async settled(id: number): Promise<JobView> {
    const detail = await this.control.settled(id, patienceMs)
    if (!detail) assert.fail(`Job ${id} did not settle: ${(await this.control.explain(id)).sentence}`)
    return this.view(id)
  }

  /** What is true of every job at every moment at which anybody looks. */
  async view(id: number): Promise<JobView> {
    const view = await this.chunked.job(this.control, id)
    assert.equal(view.percent === 100, view.state === 'completed', `${view.percent} per cent in ${view.state}`)
    for (const step of view.steps) {
      const counted = Object.values(step.chunks).reduce((sum, count) => sum + count, 0)
      assert.equal(counted, step.total, `chunks of ${step.id} by state add up`)
      assert.ok(step.settled <= step.total)
    }
    return view
  }

  /** Waits for something that follows a job's end, such as its handler. */
  async until(id: number, what: string, holds: (detail: Detail) => boolean): Promise<Detail> {
    const ended = AbortSignal.timeout(patienceMs)
    for await (const _ of this.control.watch({ ids: [id], after: 0, signal: ended })) {
      const detail = await this.control.get(id)
      if (holds(detail)) return detail
    }
    assert.fail(`Job ${id}: ${what} did not come. ${(await this.control.explain(id)).sentence}`)
  }

  /** All chunks of a job, or of one step, by id. */
  async chunks(id: number, step?: string): Promise<ChunkView[]> {
    const all: ChunkView[] = []
    for (let after: number | undefined; ; ) {
      const filter = { limit: 1_000, ...(step ? { step } : {}), ...(after === undefined ? {} : { after }) }
      const page = await this.chunked.chunks(this.control, id, filter)
      all.push(...page.chunks)
      if (page.next === null) return all
      after = page.next
    }
  }

  /** Counts of a step's chunks by state. */
  async counts(id: number, step: string): Promise<Readonly<Record<string, number>>> {
    return (await this.view(id)).steps.find((one) => one.id === step)!.chunks
  }

  /** The names of an entity's transitions, in order. */
  async history(id: number): Promise<string[]> {
    return (await this.control.history(id)).map(({ transition }) => transition)
  }

  /** The states that an entity was in, in order. */
  async path(id: number): Promise<string[]> {
    return (await this.control.history(id)).map(({ to }) => to ?? '')
  }

  /** Counters that have drifted, of this job and of all roots. */
  async drift(id: number): Promise<readonly unknown[]> {
    return this.control.check([id, null])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close()
    await rm(this.folder, { recursive: true, force: true })
  }
}

export async function* bytesOf(content: string | Uint8Array, pieceBytes = 65_536): AsyncGenerator<Uint8Array> {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes)
}

/** A promise that the test resolves: steps wait for it, whatever the time. */
export function gateOf<T = void>(): { readonly passed: Promise<T>; readonly open: (value: T) => void } {
  const { promise, resolve } = Promise.withResolvers<T>()
  return { passed: promise, open: resolve }
}

export function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index)
}

function newFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'sluice-chunked-'))
}

/** A step that gives out the numbers from 0 on. */
export function numbers(count: number): (_: unknown, sink: Pick<Sink<number>, 'accept'>) => Promise<void> {
  return async (_, sink) => {
    for (const number of range(count)) await sink.accept(number)
  }
}

/** The error code and message of what a promise is refused with. */
export function refused(code: string, message: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(isSluiceError(error), `expected a SluiceError, found ${String(error)}`)
    assert.equal(error.code, code)
    assert.match(error.message, message)
    return true
  }
}
