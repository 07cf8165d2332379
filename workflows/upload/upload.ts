import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, type Control, type Implementation, implement, SluiceError, systemClock } from 'sluice'
import { batchCriteria } from './batch-criteria.ts'
import type { BatchData } from './batch-data.ts'
import { batchAssigns } from './batch-failure.ts'
import { uploadBatch } from './batch-machine.ts'
import { batchProcessors } from './batch-processors.ts'
import { batchErrors, batchView, type ErrorPage, type PageOptions, type UploadBatchView } from './batch-view.ts'
import type { SearchQuery } from './catalogue/catalogue.ts'
import { checkCatalogue } from './catalogue-check.ts'
import { Following } from './desk/following.ts'
import type { FoundPage, Hierarchy, HierarchyOptions } from './desk/found.ts'
import { ThreadDesk } from './desk/thread-desk.ts'
import { earlierVersion } from './earlier-version.ts'
import { FileStore, type StoredFile } from './files/file-store.ts'
import { type ItemContent, itemContent } from './item-content.ts'
import { itemCriteria } from './item-criteria.ts'
import { uploadItem } from './item-machine.ts'
import { itemAssigns, itemProcessors } from './item-processors.ts'
import { type NotificationSettings, notifierOf } from './notification/index.ts'
import { rebuildCatalogue } from './rebuild.ts'
import { type UploadLimits, uploadLimits } from './settings.ts'

export interface UploadOptions extends Partial<UploadLimits> {
  /** Where received files and the catalogue lie. Processes that work on the same batches share it. */
  readonly folder: string
  /** Whether titles and texts can be searched. Default true. */
  readonly textIndex?: boolean
  readonly notification?: NotificationSettings
  readonly clock?: Clock
}

/** A file that somebody hands over, and what is said about it. */
export interface Reception {
  readonly fileName: string
  /** As the sender's header says; otherwise it is told from name and content. */
  readonly contentType?: string
  /** If known: what is too big is refused before it is read, and what turns out to have another size is refused, too. */
  readonly expectedBytes?: number
  /** Digests of the bytes as they are sent, in hexadecimal, if known: a file that has another is refused. */
  readonly sha256?: string
  readonly md5?: string
  readonly uploadedBy: string
  /** Whose it is: a hold over the collection keeps the batch from being begun. */
  readonly collection?: string
  /** The same content from the same uploader is a new batch all the same. */
  readonly force?: boolean
  /** With `force`: the same key gives the same batch, so that a request may be repeated. */
  readonly key?: string
  readonly onProgress?: (bytes: number) => void
}

/** The upload family: its machines for an engine, and what people ask of its batches. */
export interface Upload {
  readonly implementations: readonly Implementation[]
  /** Stores the file durably, then submits its batch. The same file of the same uploader gives the same batch. */
  receive(control: Control, source: AsyncIterable<Uint8Array>, about: Reception): Promise<Received>
  batch(control: Control, id: number, options?: { readonly isOperator?: boolean }): Promise<UploadBatchView>
  errors(control: Control, id: number, page?: PageOptions): Promise<ErrorPage>
  /** The bytes of one item as they stand in its file, the first few thousand of them. */
  content(control: Control, id: number): Promise<ItemContent>
  /**
   * Throws if the catalogue, by which is searched and duplicates are found, does not belong to this store: it was lost, or the store was.
   * `receive` looks itself; whoever searches looks first.
   */
  checkCatalogue(control: Control): Promise<void>
  search(query: SearchQuery): Promise<FoundPage>
  ancestors(hnId: number, options?: HierarchyOptions): Promise<Hierarchy>
  descendants(hnId: number, options?: HierarchyOptions): Promise<Hierarchy>
  /** Builds the catalogue anew from the items and their files, with the text index as this family was opened. */
  rebuild(control: Control, onProgress?: (done: number, total: number) => void): Promise<{ readonly documents: number }>
  stop(): Promise<void>
}

export interface Received {
  readonly id: number
  /** This uploader sent the same content before: it is that batch. */
  readonly existing: boolean
}

const nameMax = 80
/** So long a catalogue that belonged to its store is not looked at again: searches come one after another. */
const checkedMs = 10_000

export async function openUpload(options: UploadOptions): Promise<Upload> {
  const { folder, textIndex = true, notification, clock = systemClock(), ...given } = options
  const limits = uploadLimits(given)
  const notifier = notifierOf(notification, { clock })
  const files = new FileStore({ folder: join(folder, 'files'), limits })
  const desk = new ThreadDesk({
    folder: join(folder, 'files'),
    catalogue: join(folder, 'catalogue.db'),
    textIndex,
    ...limits,
  })
  await desk.start()
  const storedBytes = (sha256: string) => bytesOf(files.pathOf(sha256))
  const isTold = notifier !== null
  const batch = implement(uploadBatch, {
    processors: batchProcessors({ desk, notifier, limits, storedBytes }),
    criteria: batchCriteria(limits, isTold),
    assigns: batchAssigns(isTold),
  })
  const item = implement(uploadItem, {
    processors: itemProcessors(desk),
    criteria: itemCriteria(limits),
    assigns: itemAssigns,
  })
  let checkedAt = Number.NEGATIVE_INFINITY
  const check = async (control: Control) => {
    if (clock.now() - checkedAt < checkedMs) return
    await checkCatalogue(control, desk)
    checkedAt = clock.now()
  }
  return {
    implementations: [batch, item, ...earlierVersion(batch, item)],
    async receive(control, source, about) {
      const uploadedBy = checkName('uploadedBy', about.uploadedBy)
      await check(control)
      const stored = await receiveWith(desk, files, source, about)
      const { sha256, fileName, fileSize, md5, contentType, storedBytes, storedSha256 } = stored
      const data: BatchData = {
        fileName,
        uploadedBy,
        ...(about.collection === undefined ? {} : { collection: checkName('collection', about.collection) }),
        sha256,
        identity: identityOf(clock),
        file: await desk.numberOf(sha256),
        received: { fileSize, md5, contentType, storedBytes, storedSha256, at: clock.now() },
      }
      // A file that is refused for its content type alone is another one when it is sent with the right one.
      const typed = contentType.includes('json') ? '' : `:${contentType}`
      const key = `upload:${uploadedBy}:${sha256}${typed}`
      const once = about.key ?? `${clock.now()}-${Math.floor(clock.random() * 1e9)}`
      const again = about.force ? `:${once}` : ''
      const { id, existing } = await control.submit(uploadBatch.name, data, { key: key + again, actor: uploadedBy })
      return { id, existing }
    },
    batch: (control, id, { isOperator = false } = {}) => batchView(control, id, isOperator),
    errors: (control, id, page) => batchErrors(control, id, page),
    content: (control, id) => itemContent(control, (sha256) => files.pathOf(sha256), id),
    checkCatalogue: check,
    search: (query) => desk.ask('search', query),
    ancestors: (hnId, options = {}) => desk.ask('hierarchy', { direction: 'ancestors', hnId, ...options }),
    descendants: (hnId, options = {}) => desk.ask('hierarchy', { direction: 'descendants', hnId, ...options }),
    rebuild: (control, onProgress = () => {}) => rebuildCatalogue(control, desk, limits.groupMax, onProgress),
    async stop() {
      await desk.stop()
      await notifier?.close?.()
    },
  }
}

/** 104 random bits: two batches never share them, in whatever stores they are. */
function identityOf(clock: Clock): string {
  return [clock.random(), clock.random()]
    .map((random) =>
      Math.floor(random * 2 ** 52)
        .toString(16)
        .padStart(13, '0'),
    )
    .join('')
}

/** The desk reads along: when the file is there, most of it has been checked. */
async function receiveWith(
  desk: ThreadDesk,
  files: FileStore,
  source: AsyncIterable<Uint8Array>,
  about: Reception,
): Promise<StoredFile> {
  const following = new Following(desk)
  const onWritten = (path: string, bytes: number) => following.wrote(path, bytes)
  try {
    const stored = await files.receive(source, { ...about, onWritten })
    following.ended(stored.sha256)
    return stored
  } catch (error) {
    following.ended(null)
    throw error
  }
}

function checkName(field: string, name: unknown): string {
  if (typeof name === 'string' && name !== '' && name.length <= nameMax) return name
  throw new SluiceError(
    'invalid',
    `${field} must be a name of 1 to ${nameMax} characters; it was ${JSON.stringify(name)}.`,
  )
}

async function bytesOf(path: string): Promise<number | null> {
  try {
    return (await stat(path)).size
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}
