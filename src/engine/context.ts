import type { Logger } from 'pino'
import type { Checkpoint, Entity } from '../entity.ts'
import { messageOf, SluiceError } from '../errors.ts'
import type { Child, ChildFilter, Context, SiblingFilter, View } from '../implementation.ts'
import { viewOf } from '../implementation.ts'
import type { Lane } from '../lane.ts'
import type { Path } from '../path.ts'
import type { ChildBirth, Page } from '../store.ts'
import type { Edge } from '../transition.ts'
import { actOn } from './actions.ts'
import { childOf, jsonText } from './births.ts'
import { asideOf } from './moves.ts'
import { leaseLost, type RunServices, runServices } from './run-services.ts'
import type { Running } from './running.ts'
import type { Services } from './services.ts'

/** What one run of a processor is given, and what it leaves for the commit. */
export class ProcessorContext implements Context {
  data: unknown
  lanes: readonly Lane[]
  /** Made when first needed: most runs spawn nothing, and a hundred thousand of them begin each second. */
  #fanOut: FanOut | null = null
  #view: View | null = null
  #log: Logger | null = null
  #forRun: RunServices | null = null
  #progress: string | null = null
  #saying = false
  readonly #services: Services
  readonly #running: Running
  #edge: Edge
  /** Which of the edge's processors runs. */
  #processor: string | undefined
  #state: string
  #generation: number
  #attempt: number
  /** Writes the hops taken in memory, so that a checkpoint is not ahead of its state. */
  readonly #settle: () => Promise<void>

  constructor(
    services: Services,
    running: Running,
    path: Path,
    edge: Edge,
    attempt: number,
    lanes: readonly Lane[],
    settle: () => Promise<void>,
  ) {
    this.#services = services
    this.#running = running
    this.#edge = edge
    this.#processor = edge.processor
    this.#state = path.state
    this.#generation = path.generation
    this.#attempt = attempt
    this.data = path.data
    this.lanes = lanes
    this.#settle = settle
  }

  get entity(): View {
    this.#view ??= viewOf(this.#running.entity, this.data, this.#state, this.#generation)
    return this.#view
  }

  get idempotencyKey(): string {
    return `${this.#running.entity.id}:${this.#generation}:${this.#edge.name}`
  }

  get attempt(): number {
    return this.#attempt
  }

  get signal(): AbortSignal {
    return this.#running.signal
  }

  get aborted(): boolean {
    return this.#running.aborted
  }

  get log(): Logger {
    const { id, machine } = this.#running.entity
    this.#log ??= this.#services.log.child({
      entity: id,
      machine,
      processor: this.#processor,
      attempt: this.#attempt,
    })
    return this.#log
  }

  /** The processor threw. A run that was aborted often ends so, and is no fault. */
  threw(error: unknown): void {
    if (this.#running.aborted || this.#running.dropped) return
    const { id, machine } = this.#running.entity
    const fields = { entity: id, machine, processor: this.#processor, attempt: this.#attempt, err: error }
    this.#services.report.write('warn', `throw ${machine} ${this.#processor}`, fields, 'a processor threw')
  }

  get input(): unknown {
    const input = this.#running.entity.request?.input
    return input ? JSON.parse(input) : null
  }

  get actor(): string | null {
    return this.#running.entity.request?.actor ?? null
  }

  get services(): RunServices {
    this.#forRun ??= runServices(this.#services, this.#running)
    return this.#forRun
  }

  get cursor(): unknown {
    return this.#fanOut || this.#running.entity.checkpoint ? this.#out().cursor : null
  }

  #out(): FanOut {
    this.#fanOut ??= fanOutOf(this.#running.entity)
    return this.#fanOut
  }

  // What a processor calls is read as a bound function, so that it may be taken out of the context: `({ data, spawn }) => …`.
  get spawn(): Context['spawn'] {
    return (children) => this.#spawn(children)
  }

  get checkpoint(): Context['checkpoint'] {
    return (cursor) => this.#checkpoint(cursor)
  }

  get progress(): Context['progress'] {
    return (value) => this.#report(value)
  }

  get children(): Context['children'] {
    return (filter = {}) => pagesOf(this.services, this.#running.entity, filter)
  }

  get parent(): Context['parent'] {
    return async () => {
      const { parent } = this.#running.entity
      return parent === null ? null : ((await this.services.store.get([parent]))[0] ?? null)
    }
  }

  get siblings(): Context['siblings'] {
    return (filter) => siblingsOf(this.services, this.#running.entity, filter)
  }

  get actOnChildren(): Context['actOnChildren'] {
    return (action, filter = {}, input = null) =>
      actOnChildren(this.services, this.#running.entity, this, action, filter, input)
  }

  get readLanes(): Context['readLanes'] {
    return () => this.services.store.lanes([this.#running.entity.id])
  }

  get now(): Context['now'] {
    return () => this.#services.store.time()
  }

  async #spawn(children: Child | readonly Child[]): Promise<void> {
    const { registry, limits, store } = this.#services
    const now = store.time()
    const out = this.#out()
    for (const child of Array.isArray(children) ? (children as readonly Child[]) : [children as Child]) {
      // A processor that never makes a checkpoint still must not hold a million children in memory. Those of a full group wait for the
      // checkpoint that usually follows: then both are one commit.
      if (out.buffer.length >= limits.spawnMax) await this.#write(this.#running.entity.checkpoint ?? undefined)
      const ordinal = child.ordinal ?? out.spawned
      out.spawned = Math.max(out.spawned, ordinal + 1)
      out.buffer.push(childOf(registry, this.#running.entity, child, ordinal, now, limits))
    }
  }

  async #checkpoint(cursor: unknown): Promise<void> {
    const text = jsonText(cursor, 'A checkpoint', this.#services.limits)
    const out = this.#out()
    await this.#write({ cursor: text, spawned: out.spawned })
    out.cursor = cursor
  }

  async #write(checkpoint: { cursor: string | null; spawned: number } | undefined): Promise<void> {
    if (this.#running.dropped) throw leaseLost(this.#running)
    const written = this.#writeOut(checkpoint)
    this.#running.writing = written.catch(() => {})
    await written
  }

  async #writeOut(checkpoint: { cursor: string | null; spawned: number } | undefined): Promise<void> {
    await this.#settle()
    const out = this.#out()
    const children = out.buffer
    out.buffer = []
    if (children.length > 0) out.isStaged = true
    const isFurther = isForgiven(this.#running.entity, checkpoint)
    const forgiven = (this.#running.entity.checkpoint?.forgiven ?? 0) + (isFurther ? 1 : 0)
    const saved = checkpoint && { ...checkpoint, ...(forgiven > 0 ? { forgiven } : {}) }
    // What was said about progress meanwhile goes along, instead of costing a commit of its own.
    const progress = this.#progress
    this.#progress = null
    await this.#save({
      ...(saved ? { checkpoint: saved } : {}),
      ...(children.length > 0 ? { children } : {}),
      ...(progress === null ? {} : { progress }),
      isFurther,
    })
    if (isFurther) this.#running.isFurther = true
    if (progress !== null) this.#running.entity = { ...this.#running.entity, progress }
    if (saved) this.#running.entity = { ...this.#running.entity, checkpoint: saved }
  }

  async #save(changes: Parameters<typeof asideOf>[1]): Promise<void> {
    const { entity, dropped } = this.#running
    if (dropped) throw leaseLost(this.#running)
    this.#running.wrote = true
    const verdict = await this.#services.completer.commit(asideOf(entity, changes))
    switch (verdict.kind) {
      case 'saved':
        return
      case 'stale':
        this.#running.dropped = true
        this.#running.abort(leaseLost(this.#running))
        throw leaseLost(this.#running)
      case 'full':
        throw new SluiceError('conflict', `A child's key is taken: ${verdict.pool} by ${verdict.holders.join(', ')}.`, {
          ...verdict,
        })
      case 'held':
      case 'refused':
        throw new SluiceError('invalid', verdict.kind === 'refused' ? verdict.message : `${entity.id} is held.`, {
          id: entity.id,
        })
      default:
        return verdict satisfies never
    }
  }

  /** The last word counts: while one is being written, later ones replace each other. */
  #report(value: unknown): void {
    this.#progress = jsonText(value, 'Progress', this.#services.limits)
    if (this.#saying) return
    this.#saying = true
    this.#services.clock.soon(() => void this.#say())
  }

  /** Nobody waits for it, and nothing depends on it: a word that comes too late is no reason to end the run. */
  async #say(): Promise<void> {
    try {
      while (this.#progress !== null) {
        const progress = this.#progress
        const { entity } = this.#running
        this.#progress = null
        this.#running.wrote = true
        const verdict = await this.#services.completer.commit(asideOf(entity, { progress }))
        if (verdict.kind !== 'saved') return
        if (this.#running.entity.seq === entity.seq) this.#running.entity = { ...this.#running.entity, progress }
      }
    } catch (error) {
      this.log.debug({ error: messageOf(error) }, 'progress was not saved')
    } finally {
      this.#saying = false
    }
  }

  /**
   * The next processor of the same cascade: it sees its own edge and data, and what those before it spawned stays with the move that
   * all of them make. One context for all of them, because a million cascades have several processors each.
   */
  turn(path: Path, edge: Edge, attempt: number, lanes: readonly Lane[]): void {
    this.#edge = edge
    this.#processor = edge.processor
    this.#state = path.state
    this.#generation = path.generation
    this.#attempt = attempt
    this.data = path.data
    this.lanes = lanes
    this.#view = null
    this.#log = null
    // A cursor is for the processor that wrote it, whether or not that one has looked at it in this run.
    if (this.#fanOut || this.#running.entity.checkpoint) this.#out().cursor = null
  }

  /** Its work was accepted: what it spawned belongs to the move. */
  keep(): void {
    if (!this.#fanOut) return
    this.#fanOut.kept = this.#fanOut.buffer.length
    this.#fanOut.keptSpawned = this.#fanOut.spawned
    this.#fanOut.isKeptStaged = this.#fanOut.isStaged
  }

  /** Its work was not accepted: what it spawned is dropped, and what it staged stays unseen. */
  drop(): void {
    const out = this.#out()
    out.buffer.length = out.kept
    out.spawned = out.keptSpawned
    out.isStaged = out.isKeptStaged
  }

  /** The same processor begins again in this run: only what is behind its last checkpoint, and the work before it, stands. */
  restart(): void {
    const out = this.#fanOut
    if (!out) return
    out.buffer.length = out.kept
    out.spawned = Math.max(out.keptSpawned, this.#running.entity.checkpoint?.spawned ?? 0)
  }

  /** The hops so far are about to be written: what the processors behind them have spawned goes with them. */
  settling(): Spawned {
    const { buffer, kept, keptSpawned, isKeptStaged } = this.#out()
    return { children: buffer.slice(0, kept), staging: isKeptStaged ? 'publish' : 'none', spawned: keptSpawned }
  }

  /** They have been written: this processor's own children begin from here. */
  settled(): void {
    const out = this.#out()
    out.buffer.splice(0, out.kept)
    out.kept = 0
    out.isKeptStaged = false
    out.isStaged = false
  }

  /** The edge's next processor goes on in the same run, with what the one before has left. */
  advance(processor: string, data: unknown): void {
    this.#processor = processor
    this.data = data
    this.#view = null
    this.#log = null
  }

  /** What the commit of a finished run takes along. */
  result(): Spawned {
    // The run has ended: what it has not said by now would be said of the next state.
    this.#progress = null
    if (!this.#fanOut && !mayHaveStaged(this.#running.entity)) return nothingSpawned(this.#running.entity)
    const { buffer, isStaged, spawned } = this.#out()
    return { children: buffer, staging: isStaged ? 'publish' : 'none', spawned }
  }
}

/** What a move takes along of its run's children. */
export interface Spawned {
  readonly children: readonly ChildBirth[]
  readonly staging: 'none' | 'publish'
  readonly spawned: number
}

/** Nothing new. Most have never spawned at all: these share one. */
export function nothingSpawned({ spawned }: Entity): Spawned {
  return spawned === 0 ? neverSpawned : { ...neverSpawned, spawned }
}

const neverSpawned: Spawned = { children: [], staging: 'none', spawned: 0 }

/** What a run spawns, and how far it has come. */
interface FanOut {
  /** Spawned and not yet written. */
  buffer: ChildBirth[]
  spawned: number
  /** Of these, what the processors before this one have spawned. */
  kept: number
  keptSpawned: number
  isKeptStaged: boolean
  isStaged: boolean
  cursor: unknown
}

/** An earlier attempt may have staged children and died: what it left beyond this run's is dropped when published. */
function mayHaveStaged({ checkpoint, attempts, suspect }: Entity): boolean {
  return checkpoint !== null || attempts > 1 || suspect > 0
}

function fanOutOf(entity: Entity): FanOut {
  const { checkpoint, spawned } = entity
  return {
    buffer: [],
    spawned: checkpoint?.spawned ?? spawned,
    kept: 0,
    keptSpawned: spawned,
    isKeptStaged: false,
    isStaged: mayHaveStaged(entity),
    cursor: checkpoint?.cursor ? JSON.parse(checkpoint.cursor) : null,
  }
}

/**
 * A processor that gets further each time is on its way, whatever kills its process or makes it throw; but not without end: a cursor that
 * goes to and fro looks like progress too. Deaths are forgiven more often, as they are mostly their host's.
 */
const forgivenMax = { deaths: 1_000, errors: 20 } as const

function isForgiven({ checkpoint: before, error, attempts }: Entity, checkpoint: Checkpoint | undefined): boolean {
  if (!checkpoint || attempts <= 1 || checkpoint.cursor === before?.cursor) return false
  return (before?.forgiven ?? 0) < (error === null ? forgivenMax.deaths : forgivenMax.errors)
}

async function* pagesOf(services: RunServices, parent: Entity, filter: ChildFilter): AsyncIterable<Entity> {
  let after: number | undefined
  for (;;) {
    const page = await services.store.list({
      ...filter,
      parent: parent.id,
      limit: services.limits.pageMax,
      ...(after === undefined ? {} : { after }),
    })
    yield* page.entities
    if (page.next === null) return
    after = page.next
  }
}

function siblingsOf({ store }: RunServices, { id, machine, parent }: Entity, filter: SiblingFilter): Promise<Page> {
  if (parent !== null) return store.list({ ...filter, parent })
  throw new SluiceError('invalid', `${machine} ${id} has no parent, and so no siblings.`, { id })
}

interface WalkCursor {
  readonly action: string
  /** Null: all pages are behind it. */
  readonly after: number | null
  readonly counts: Record<string, number>
}

/** Group by group, with a checkpoint behind each: after a crash it goes on where it was, and counts nothing twice. */
async function actOnChildren(
  services: RunServices,
  parent: Entity,
  context: ProcessorContext,
  action: string,
  filter: ChildFilter,
  input: unknown,
): Promise<Readonly<Record<string, number>>> {
  const saved = context.cursor as { walk?: WalkCursor } | null
  let { after, counts }: Omit<WalkCursor, 'action'> =
    saved?.walk?.action === action ? saved.walk : { after: 0, counts: {} as Record<string, number> }
  while (after !== null) {
    const page = await services.store.list({ ...filter, parent: parent.id, after, limit: services.limits.pageMax })
    const results = await actOn(
      services,
      page.entities,
      action,
      {
        actor: context.actor ?? `${parent.machine} ${parent.id}`,
        role: parent.request?.role ?? 'engine',
        reason: `${action} asked for by ${parent.machine} ${parent.id}`,
        requestId: parent.request?.requestId ?? context.idempotencyKey,
      },
      input,
    )
    counts = { ...counts }
    for (const result of results) counts[result.kind] = (counts[result.kind] ?? 0) + 1
    after = page.next
    await context.checkpoint({ walk: { action, after, counts } })
  }
  return counts
}
