import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { type Control, type Implementation, openSluice, type Processor, type Sluice } from 'sluice'
import { memoryStore } from 'sluice/memory'
import type { UploadBatchView } from '../batch-view.ts'
import type { ItemData } from '../item-data.ts'
import { openUpload, type Received, type Reception, type Upload, type UploadOptions } from '../upload.ts'
import { durableStore, isPostgres } from './durable-store.ts'

export type StoreKind = 'sqlite' | 'memory' | 'postgres'
/** What is told once for each store. On PostgreSQL, where everything else is told again, there is but one. */
export const storeKinds: readonly StoreKind[] = isPostgres ? ['postgres'] : ['sqlite', 'memory']

export type StageItem = ItemData & { readonly id: number; readonly state: string; readonly why: string | null }

export interface LogLine {
  readonly msg: string
  readonly level: number
  readonly entity?: number
  readonly processor?: string
  readonly [field: string]: unknown
}

export interface StageOptions extends Partial<UploadOptions> {
  /** Puts something of the test's own around what is bound. */
  readonly wrap?: (implementations: readonly Implementation[]) => readonly Implementation[]
}

/** How long a small batch may take on a busy machine: only a test that fails waits for it. */
const patienceMs = 30_000

/** The family in a folder of its own, on a control that a test brings or on an engine that runs. All is removed at the end. */
export class Stage implements AsyncDisposable {
  readonly folder: string
  readonly upload: Upload
  readonly control: Control
  /** What was logged, in order. */
  readonly lines: readonly LogLine[]
  readonly #close: () => Promise<void>

  private constructor(parts: Pick<Stage, 'folder' | 'upload' | 'control' | 'lines'>, close: () => Promise<void>) {
    this.folder = parts.folder
    this.upload = parts.upload
    this.control = parts.control
    this.lines = parts.lines
    this.#close = close
  }

  static async open(kind: StoreKind, { wrap = (bound) => bound, ...options }: StageOptions = {}): Promise<Stage> {
    const folder = await newFolder()
    const upload = await openUpload({ folder, ...options })
    const store = kind === 'memory' && !isPostgres ? memoryStore() : durableStore(join(folder, 'sluice.db'))
    const lines: LogLine[] = []
    const log = pino({ level: 'debug' }, { write: (line) => lines.push(JSON.parse(line) as LogLine) })
    const sluice: Sluice = await openSluice({ store, implementations: wrap(upload.implementations), log })
    return new Stage({ folder, upload, control: sluice, lines }, async () => {
      await sluice.stop()
      await store.close()
    })
  }

  /** Time and engines are the test's own. */
  static async with(
    options: Partial<UploadOptions>,
    begin: (upload: Upload) => { readonly control: Control; readonly stop: () => Promise<void> },
  ): Promise<Stage> {
    const folder = await newFolder()
    const upload = await openUpload({ folder, ...options })
    const { control, stop } = begin(upload)
    return new Stage({ folder, upload, control, lines: [] }, stop)
  }

  path(name: string): string {
    return join(this.folder, name)
  }

  send(content: string | Uint8Array, about: Partial<Reception> = {}): Promise<Received> {
    return this.upload.receive(this.control, bytesOf(content), { fileName: 'items.json', uploadedBy: 'ada', ...about })
  }

  /** Sends a file and waits until its batch has settled. */
  async run(content: string | Uint8Array, about: Partial<Reception> = {}): Promise<UploadBatchView> {
    const { id } = await this.send(content, about)
    return this.settled(id)
  }

  async settled(id: number): Promise<UploadBatchView> {
    const detail = await this.control.settled(id, patienceMs)
    if (!detail) assert.fail(`Batch ${id} did not settle: ${(await this.control.explain(id)).sentence}`)
    return this.view(id)
  }

  /** Counts add up at every moment at which anybody looks. */
  async view(id: number, options: { readonly isOperator?: boolean } = {}): Promise<UploadBatchView> {
    const view = await this.upload.batch(this.control, id, options)
    const { totalItemsInFile, itemsProcessed, itemsErrored, itemsSkipped, itemsPending } = view
    assert.equal(itemsProcessed + itemsErrored + itemsSkipped + itemsPending, totalItemsInFile)
    assert.ok(itemsPending >= 0, `${itemsPending} items are pending`)
    const reasons = Object.values(view.reasons).reduce((sum, count) => sum + count, 0)
    assert.equal(reasons, itemsErrored, 'every failure has a reason, and every reason a failure')
    return view
  }

  /** All items of a batch, in the order of the file; each index once. */
  async items(batch: number): Promise<StageItem[]> {
    const items: StageItem[] = []
    for (let after: number | undefined; ; ) {
      const page = await this.control.list({ parent: batch, limit: 1_000, ...(after === undefined ? {} : { after }) })
      for (const { id, state, reason, data } of page.entities)
        items.push({ ...(data as ItemData), id, state, why: reason })
      if (page.next === null) break
      after = page.next
    }
    items.sort((one, other) => one.itemIndex - other.itemIndex)
    assert.deepEqual(
      items.map(({ itemIndex }) => itemIndex),
      items.map((_, index) => index),
      'each index once',
    )
    return items
  }

  async history(id: number): Promise<string[]> {
    return (await this.control.history(id)).map(({ transition }) => transition)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close()
    await this.upload.stop()
    await rm(this.folder, { recursive: true, force: true })
  }
}

/** The same implementations, with something around one processor. */
export function around(
  implementations: readonly Implementation[],
  name: string,
  wrapped: (inner: Processor) => Processor,
): readonly Implementation[] {
  return implementations.map((bound) => {
    const inner = bound.processors[name]
    return inner ? { ...bound, processors: { ...bound.processors, [name]: wrapped(inner) } } : bound
  })
}

export interface Counts {
  readonly total: number
  readonly completed: number
  readonly failed: number
  readonly skipped: number
}

export function countsOf(view: UploadBatchView): Counts {
  return {
    total: view.totalItemsInFile,
    completed: view.itemsProcessed,
    failed: view.itemsErrored,
    skipped: view.itemsSkipped,
  }
}

/** In pieces, as a file or a socket brings it. */
export async function* bytesOf(content: string | Uint8Array, pieceBytes = 65_536): AsyncGenerator<Uint8Array> {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes)
}

function newFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'sluice-upload-'))
}
