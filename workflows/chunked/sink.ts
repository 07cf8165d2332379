import { type Child, type Context, messageOf, SluiceError } from 'sluice'
import { type ChunkData, newChunk } from './chunk-data.ts'
import { firstAfterMs, type Known, type KnownStep, type Target } from './definitions.ts'
import type { JobAtHand } from './jobs-at-hand.ts'
import { notPlainAt } from './json-data.ts'
import { redactedText } from './redaction.ts'
import type { ChunkedLimits } from './settings.ts'
import type { Sink, StepSettings } from './step.ts'

/** Children that are handed to the engine together. */
const groupMax = 500
/** Accepted and not yet written, if nobody awaits accept. */
const waitingMax = 10_000

/** A step's checkpoint: where it goes on, and what it had given out that stays with its chunk. */
export interface Saved {
  readonly cursor: unknown
  readonly kept: {
    readonly output: readonly unknown[] | null
    readonly warnings: readonly string[] | null
    readonly warned: number
    readonly recovered: number
  }
}

interface Gathering {
  items: unknown[]
  bytes: number
}

/**
 * What one run of a step gives out. Nothing of it is seen before the chunk's own completion; if the run ends in any other way, or runs
 * again, nothing of it is left.
 */
export class ChunkSink implements Sink {
  readonly #context: Context<ChunkData>
  readonly #known: Known
  readonly #step: KnownStep
  readonly #limits: ChunkedLimits
  readonly #secrets: readonly string[]
  #buffer: Child[] = []
  #gatherings: Map<Target, Gathering> | null = null
  #writing: Promise<void> | null = null
  #fault: SluiceError | null = null
  #ended = false
  output: unknown[] | null = null
  #outputBytes = 0
  warnings: string[] | null = null
  warned = 0
  recovered = 0

  constructor(
    context: Context<ChunkData>,
    known: Known,
    step: KnownStep,
    { secrets }: Pick<JobAtHand, 'secrets'>,
    limits: ChunkedLimits,
    saved: Saved | null = null,
  ) {
    this.#context = context
    this.#known = known
    this.#step = step
    this.#limits = limits
    this.#secrets = secrets
    if (!saved) return
    const { output, warnings, warned, recovered } = saved.kept
    this.output = output && [...output]
    this.#outputBytes = output ? Buffer.byteLength(JSON.stringify(output)) : 0
    this.warnings = warnings && [...warnings]
    this.warned = warned
    this.recovered = recovered
  }

  /** What is not with the engine yet, and must come back after a crash together with the cursor. */
  get kept(): Saved['kept'] {
    const { output, warnings, warned, recovered } = this
    return { output, warnings, warned, recovered }
  }

  /** What went wrong with what was given out: such a chunk fails, whatever its step makes of it. */
  get fault(): SluiceError | null {
    return this.#fault
  }

  get isUsed(): boolean {
    return this.#buffer.length > 0 || this.#gatherings !== null || this.#writing !== null
  }

  accept(data: unknown): Promise<void> {
    const { feedsReducer, targets, step } = this.#step
    this.#check()
    if (feedsReducer) return this.#keep(data)
    const [next] = targets
    if (next) return this.#give(next, data)
    throw this.#fail(`Step ${step.id} is the last one: there is nobody to accept what it gives out`)
  }

  acceptFor(stepId: string, data: unknown): Promise<void> {
    this.#check()
    const target = this.#step.targets.find(({ step }) => step.id === stepId)
    if (target) return this.#give(target, data)
    const { id } = this.#step.step
    const later = this.#step.targets.map(({ step }) => step.id).join(', ') || 'none'
    const { definition } = this.#known
    const why =
      definition.reduction?.id === stepId
        ? 'only the step before a reducer gives it data, by accept'
        : definition.steps.some((step) => step.id === stepId)
          ? `it does not come after ${id}`
          : 'there is no such step'
    throw this.#fail(`Step ${id} cannot give anything to ${stepId}: ${why}. Later steps: ${later}`)
  }

  warn(message: string): void {
    const { warningsMax, messageMax } = this.#limits
    this.warned += 1
    this.warnings ??= []
    if (this.warnings.length < warningsMax)
      this.warnings.push(redactedText(String(message), this.#secrets).slice(0, messageMax))
  }

  recoveredError(message: string): void {
    this.recovered += 1
    this.warn(message)
  }

  /** Nothing is accepted from now on; all that was accepted is with the engine. */
  async close(): Promise<void> {
    this.end()
    await this.flush()
  }

  end(): void {
    this.#ended = true
  }

  /** Lists that are not full yet are handed over as they are. */
  async flush(): Promise<void> {
    while (this.#writing) await this.#writing
    for (const [target, { items }] of this.#gatherings ?? []) this.#push(target, items)
    this.#gatherings = null
    await this.#write()
    if (this.#fault) throw this.#fault
  }

  #check(): void {
    if (this.#fault) throw this.#fault
    if (this.#context.aborted) {
      throw new SluiceError(
        'lease_lost',
        `Step ${this.#step.step.id} was told to end: what it gives out now is dropped.`,
      )
    }
    if (this.#ended) {
      throw new SluiceError('conflict', `Step ${this.#step.step.id} has ended: what it gives out now is dropped.`)
    }
    if (this.#buffer.length >= waitingMax) {
      throw this.#fail(`Step ${this.#step.step.id} gives out faster than can be written; await sink.accept`)
    }
  }

  #give(target: Target, data: unknown): Promise<void> {
    const item = this.#fitting(target.input, data, target.step.id)
    const { chunkSize } = target.step
    if (chunkSize === null) this.#push(target, item)
    else this.#gather(target, item, chunkSize)
    return this.#buffer.length >= groupMax ? this.#write() : settled
  }

  #gather(target: Target, item: unknown, chunkSize: number): void {
    this.#gatherings ??= new Map()
    const bytes = bytesOf(item)
    let gathering = this.#gatherings.get(target)
    // Long items make smaller lists: a chunk must fit into its row.
    if (gathering && (gathering.items.length >= chunkSize || gathering.bytes + bytes > this.#limits.listBytesMax)) {
      this.#push(target, gathering.items)
      gathering = undefined
    }
    if (!gathering) {
      gathering = { items: [], bytes: 0 }
      this.#gatherings.set(target, gathering)
    }
    gathering.items.push(item)
    gathering.bytes += bytes
  }

  #push({ step, state, limit }: Target, data: unknown): void {
    const { priority } = this.#context.entity
    const chunk = newChunk(this.#known.name, data, limit)
    const child: Child = { machine: 'chunked_chunk', of: 'parent', lane: step.id, state, data: chunk, priority }
    this.#buffer.push(state === 'poll_waiting' ? this.#pollingFrom(child, chunk, step.polling) : child)
  }

  #pollingFrom(child: Child, chunk: ChunkData, polling: StepSettings['polling']): Child {
    const at = this.#context.now() + firstAfterMs(polling)
    return { ...child, data: { ...chunk, nextPollTimestamp: at }, at }
  }

  #keep(data: unknown): Promise<void> {
    const item = this.#fitting(this.#step.step.output, data, this.#known.reducer?.id ?? '')
    this.#outputBytes += bytesOf(item)
    if (this.#outputBytes > this.#limits.listBytesMax) {
      throw this.#fail(
        `Step ${this.#step.step.id} gave its reducer more than ${this.#limits.listBytesMax} bytes from one chunk; give out less, or store it elsewhere and give out a reference`,
      )
    }
    this.output ??= []
    this.output.push(item)
    return settled
  }

  #fitting(schema: KnownStep['step']['output'], data: unknown, taker: string): unknown {
    const { id } = this.#step.step
    if (!schema) throw this.#fail(`Step ${id} gives something to ${taker}, and declares no output`)
    const parsed = schema.safeParse(data)
    if (parsed.success) {
      // Numbers and texts, most of what is given out, are not looked into.
      const strange = typeof parsed.data === 'object' ? notPlainAt(parsed.data) : null
      if (strange === null) return parsed.data
      throw this.#fail(`What step ${id} gave to ${taker} cannot be kept as JSON: ${strange}; give out plain data`)
    }
    const faults = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'data'}: ${issue.message}`)
    throw this.#fail(`What step ${id} gave to ${taker} does not fit: ${faults.slice(0, 5).join('; ')}`)
  }

  /** One group after another, in the order in which they were given out. */
  #write(): Promise<void> {
    if (this.#writing) return this.#writing
    if (this.#buffer.length === 0) return settled
    const group = this.#buffer
    this.#buffer = []
    this.#writing = this.#context.spawn(group).then(
      () => {
        this.#writing = null
        return this.#buffer.length >= groupMax ? this.#write() : undefined
      },
      (error: unknown) => {
        this.#writing = null
        // Whoever has lost the lease has nothing to report; anything else is what this chunk gave out.
        if (error instanceof SluiceError && error.code === 'lease_lost') throw error
        throw this.#fail(`What step ${this.#step.step.id} gave out could not be kept: ${messageOf(error)}`)
      },
    )
    // Seen by whoever awaits accept, and at the end in any case.
    this.#writing?.catch(() => {})
    return this.#writing ?? settled
  }

  #fail(message: string): SluiceError {
    this.#fault ??= new SluiceError('invalid', `${message.replace(/\.$/, '')}.`, { step: this.#step.step.id })
    return this.#fault
  }
}

const settled = Promise.resolve()

/** As JSON; of numbers and the like an upper bound is enough. */
function bytesOf(item: unknown): number {
  if (typeof item === 'number' || typeof item === 'boolean' || item === null) return 25
  return Buffer.byteLength(JSON.stringify(item) ?? 'null')
}
