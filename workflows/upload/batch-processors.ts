import { type Child, type Context, done, fail, messageOf, type Outcome, type Processor } from 'sluice'
import { type BatchData, metadataOf } from './batch-data.ts'
import { nothingToRetry } from './batch-failure.ts'
import { sendsMax, uploadBatch } from './batch-machine.ts'
import type { Desk, Elements } from './desk/desk.ts'
import type { Cursor } from './files/file-fault.ts'
import { itemCounts } from './item-counts.ts'
import type { ItemData } from './item-data.ts'
import { uploadItem } from './item-machine.ts'
import { lastMessage, troubleOf } from './item-reasons.ts'
import { isPermanent, type Notifier } from './notification/index.ts'
import type { UploadLimits } from './settings.ts'
import { errorSummaryOf, noticeOf, resultSummaryOf } from './summary.ts'

type BatchContext = Context<BatchData>
type BatchProcessor = Processor<BatchData>

export interface BatchTools {
  readonly desk: Desk
  readonly notifier: Notifier | null
  readonly limits: UploadLimits
  /** Bytes of a stored file; null: it is not there. */
  readonly storedBytes: (sha256: string) => Promise<number | null>
}

export function batchProcessors(tools: BatchTools) {
  const processors = {
    UploadBatchInitProcessor: (context) => initialise(tools, context),
    UploadBatchValidationProcessor: (context) => validate(tools, context),
    UploadBatchExtractionProcessor: (context) => extract(tools, context),
    UploadBatchProcessingProcessor: monitor,
    UploadBatchCompletionProcessor: (context) => complete(tools, context),
    UploadBatchPartialCompletionProcessor: (context) => completePartially(tools, context),
    UploadBatchRetryFailedItemsProcessor: retryFailedItems,
    UploadBatchNotificationProcessor: (context) => notify(tools, context),
  } satisfies Record<string, BatchProcessor>
  return mapValues(processors, keepingErrors)
}

async function initialise({ storedBytes }: BatchTools, context: BatchContext): Promise<Outcome> {
  const { data, log } = context
  const { received } = data
  const now = context.now()
  const bytes = await storedBytes(data.sha256)
  if (bytes !== received.storedBytes) {
    return changed(
      data,
      bytes === null ? 'it is not there' : `it has ${bytes} bytes instead of ${received.storedBytes}`,
    )
  }
  log.info(
    {
      fileName: data.fileName,
      fileSize: received.fileSize,
      fileMd5Hash: received.md5,
      contentType: received.contentType,
    },
    'batch initialised',
  )
  return done({
    ...data,
    ...metadataOf(data),
    processingStartedAt: now,
    itemsProcessed: 0,
    itemsErrored: 0,
    itemsSkipped: 0,
    retryCount: data.retryCount ?? 0,
  } satisfies BatchData)
}

/** The file that was received is not there any more as it was. Once it is restored or uploaded again, the batch can be retried. */
function changed(data: BatchData, found: string): Outcome {
  const message = `The stored file of ${data.fileName} was looked for, and ${found}. Upload the file again, then retry the batch.`
  return fail('stored file is missing or changed', message)
}

/** One pass over the file that parses nothing: whether it is what was received, whether it is whole, how many items it holds, and how many lack what is required. */
async function validate({ desk, limits }: BatchTools, context: BatchContext): Promise<Outcome> {
  const { data, log, signal } = context
  const isReadable = (data.fileSize ?? 0) > 0 && (data.contentType?.includes('json') ?? false)
  const isSmall = Math.max(data.received.storedBytes, data.received.fileSize) <= limits.fileBytesMax
  if (!isSmall) {
    const message = `The file has ${data.received.storedBytes} bytes; at most ${limits.fileBytesMax} are taken.`
    return fail('file is too big', message)
  }
  // What is empty or no JSON is refused by the criterion, by name; there is nothing to count in it.
  if (!isReadable) return done({ ...data, totalItemsInFile: 0 })
  const { storedBytes } = data.received
  const onProgress = (bytes: number) => context.progress({ validated: bytes, of: storedBytes })
  const { form, total, withoutId, withoutType, fault, bytes, sha256 } = await desk.check(
    data.sha256,
    onProgress,
    signal,
  )
  if (bytes !== storedBytes) return changed(data, `it has ${bytes} bytes instead of ${storedBytes}`)
  if (sha256 !== (data.received.storedSha256 ?? sha256)) return changed(data, 'its content is not what was received')
  const validation = { form, withoutId, withoutType, fault: fault && `${fault.reason}: ${fault.message}` }
  log.info({ totalItemsInFile: total, ...validation }, 'file validated')
  return done({ ...data, totalItemsInFile: total, validation } satisfies BatchData)
}

interface ExtractionCursor {
  readonly at: Cursor
  readonly extracted: number
}

/**
 * Group by group, with a checkpoint behind each: a crash loses at most the group under way, and the rows of that one are
 * found again by their ordinals. The next group is read and parsed by the desk while this one is written.
 */
async function extract({ desk, limits }: BatchTools, context: BatchContext): Promise<Outcome> {
  const { data, entity, log } = context
  const cursor = context.cursor as ExtractionCursor | null
  let extracted = cursor?.extracted ?? 0
  let coming: Promise<Elements> | null = desk.elements(data.sha256, cursor?.at ?? null, limits.groupMax)
  while (coming) {
    const group: Elements = await coming
    if (group.fault !== null) return fail('file cannot be read', group.fault)
    coming = group.next && desk.elements(data.sha256, group.next, limits.groupMax)
    // Nobody awaits it while this group is written; whoever does then sees its failure.
    coming?.catch(() => {})
    await context.spawn(itemsOf(group, entity.id, data, context.now()))
    extracted += group.offsets.length
    context.progress({ extracted, of: data.totalItemsInFile ?? extracted })
    if (group.next) await context.checkpoint({ at: group.next, extracted } satisfies ExtractionCursor)
  }
  const { validation, totalItemsInFile = extracted } = data
  if (validation && extracted !== totalItemsInFile) {
    return changed(data, `it has ${extracted} elements instead of the ${totalItemsInFile} that were counted before`)
  }
  log.info({ extracted }, 'items extracted')
  return done({ ...data, totalItemsInFile: extracted, processingCompletedAt: context.now() } satisfies BatchData)
}

function itemsOf(group: Elements, batchId: number, { file }: BatchData, now: number): Child[] {
  const { first, offsets, lengths, hnIds } = group
  const children: Child[] = new Array(offsets.length)
  for (let position = 0; position < offsets.length; position += 1) {
    const itemIndex = first + position
    const hnId = hnIds[position]!
    const place = { batchId, sourceType: 'BULK_UPLOAD', itemIndex, file } as const
    const [offset, length] = [offsets[position]!, lengths[position]!]
    const data: ItemData = Number.isNaN(hnId) ? { ...place, offset, length } : { ...place, offset, length, hnId }
    children[position] = { machine: uploadItem.name, ordinal: itemIndex, data }
  }
  for (const { position, earlier } of group.repeats) {
    const child = children[position] as Child
    children[position] = { ...child, data: { ...(child.data as ItemData), earlier } satisfies ItemData }
  }
  for (const { position, reason, message } of group.faults) {
    const child = children[position] as Child
    const failure = { errorType: 'VALIDATION', errorMessage: message, retryCount: 1, lastFailureAt: now } as const
    children[position] = { ...child, state: 'failed', reason, data: { ...(child.data as ItemData), ...failure } }
  }
  return children
}

/** When items begin, and every minute while they run: how far they are, and when they will be through. */
async function monitor(context: BatchContext): Promise<Outcome> {
  const { data, log } = context
  const now = context.now()
  const counts = itemCounts(await context.readLanes(), data.totalItemsInFile ?? 0)
  const settled = counts.total - counts.pending
  const elapsedMs = now - (data.processingStartedAt ?? now)
  const estimatedCompletionTime = settled > 0 ? now + Math.round((elapsedMs / settled) * counts.pending) : null
  log.info({ ...counts, estimatedCompletionTime }, 'batch processing')
  return done({
    ...data,
    itemsProcessed: counts.completed,
    itemsErrored: counts.failed,
    itemsSkipped: counts.skipped,
    estimatedCompletionTime,
  } satisfies BatchData)
}

async function complete(tools: BatchTools, context: BatchContext): Promise<Outcome> {
  const data = await closed(tools, context)
  context.log.info({ ...data.resultSummary }, 'batch completed')
  return done({ ...data, errorSummary: null } satisfies BatchData)
}

async function completePartially(tools: BatchTools, context: BatchContext): Promise<Outcome> {
  const data = await closed(tools, context)
  const counts = itemCounts(context.lanes, data.totalItemsInFile ?? 0)
  const errorSummary = await errorSummaryOf(context, counts, tools.limits)
  const byReason = Object.fromEntries(errorSummary.byReason.map(({ reason, count }) => [reason, count]))
  const state = counts.failed === counts.total ? 'failed' : 'partially_completed'
  context.log.warn(
    { ...data.resultSummary, byReason },
    state === 'failed' ? 'every item failed' : 'batch partially completed',
  )
  return done({ ...data, errorSummary } satisfies BatchData)
}

async function closed({ desk, notifier }: BatchTools, context: BatchContext): Promise<BatchData> {
  const { lastError: _last, ...data } = context.data
  const now = context.now()
  const counts = itemCounts(context.lanes, data.totalItemsInFile ?? 0)
  const unresolvedLinks = await desk.unresolved(context.entity.id)
  return {
    ...data,
    itemsProcessed: counts.completed,
    itemsErrored: counts.failed,
    itemsSkipped: counts.skipped,
    processingCompletedAt: now,
    estimatedCompletionTime: null,
    resultSummary: resultSummaryOf(counts, unresolvedLinks, now - (data.processingStartedAt ?? now)),
    ...(notifier && context.entity.version === 1
      ? { notification: { sent: false, error: olderVersion, at: now } }
      : {}),
  }
}

const olderVersion =
  'This batch was begun by an older version of Sluice, whose batches are finished without a notification.'

/** With settings that no process has, a notification waits this long for one that has them. */
const settingsWaitMs = 24 * 3_600_000
const settingsPollMs = 60_000

/**
 * Runs after the end, in a state that is settled already. The receiver gets the same key with every attempt. If it cannot be reached
 * in all of them, or never could be, the batch says so.
 */
async function notify({ notifier }: BatchTools, context: BatchContext): Promise<Outcome> {
  const { data, entity, attempt, log, signal } = context
  const at = context.now()
  const ended = (sent: boolean, error: string | null) =>
    done({ ...data, notification: { sent, error, at, attempts: attempt } } satisfies BatchData)
  if (!notifier) {
    // Another process that works on this store may have the settings.
    if (at - (data.notification?.at ?? at) < settingsWaitMs) return { kind: 'poll', afterMs: settingsPollMs }
    return ended(false, 'No process that has settings for notifications came within 24 hours.')
  }
  const key = `upload-${data.identity ?? data.sha256.slice(0, 26)}-${context.idempotencyKey}`
  try {
    await notifier.send(noticeOf(entity.id, data, entity.state), { key, signal })
    log.info({ key }, 'completion notification sent')
    return ended(true, null)
  } catch (error) {
    if (signal.aborted) throw error
    const message = messageOf(error)
    if (attempt >= sendsMax || isPermanent(error)) {
      log.error({ error: message }, 'completion notification not sent')
      return ended(false, message)
    }
    log.warn({ error: message }, 'completion notification failed, and is tried again')
    const { at: askedAt = at } = data.notification ?? {}
    const notification = { sent: false, waiting: true, error: message, at: askedAt, attempts: attempt }
    return { kind: 'retry', error: message, data: { ...data, notification } satisfies BatchData }
  }
}

async function retryFailedItems(context: BatchContext): Promise<Outcome> {
  const { data, log } = context
  const counts = await context.actOnChildren('retry_processing', { states: ['failed'] })
  const retried = counts.done ?? 0
  const refused = counts.refused ?? 0
  // Counted against what had failed when the batch closed: after a crash in the middle, items that were retried before are not found again.
  if (retried === 0 && refused >= (data.itemsErrored ?? 0)) {
    const why = `None of the ${refused} failed items may be retried any more: each has failed too often, too long ago, or is no item at all.`
    return fail(nothingToRetry, why)
  }
  log.info({ retried, refused }, 'failed items retried')
  const sentence = `${retried} failed items are retried; ${refused} may not be retried any more.`
  return done({
    ...data,
    itemRetry: { retried, refused, at: context.now(), sentence },
    processingStartedAt: context.now(),
    processingCompletedAt: null,
    errorSummary: null,
    resultSummary: null,
    notification: null,
    lastError: null,
  } satisfies BatchData)
}

/** What an attempt throws is kept with the batch, so that a failure for good can tell where it came from. */
function keepingErrors(processor: BatchProcessor, name: string): BatchProcessor {
  return async (context) => {
    try {
      return await processor(context)
    } catch (error) {
      if (context.signal.aborted) throw error
      const message = messageOf(error)
      context.log.warn({ error: message }, 'attempt failed')
      const stack = (error instanceof Error ? (error.stack ?? message) : message).slice(0, stackMax)
      const lastError = { message, stack, processor: name, attempt: context.attempt }
      const data = { ...context.data, lastError } satisfies BatchData
      const { attemptsMax } = uploadBatch.policies[name]!
      if (context.attempt < attemptsMax) return { kind: 'retry', error: message, data }
      return fail(troubleOf(error), lastMessage(message, context.attempt), data)
    }
  }
}

const stackMax = 8_000

function mapValues<T extends Record<string, BatchProcessor>>(
  values: T,
  map: (value: BatchProcessor, name: string) => BatchProcessor,
): { [K in keyof T]: BatchProcessor } {
  const entries = Object.entries(values).map(([name, value]) => [name, map(value, name)])
  return Object.fromEntries(entries) as { [K in keyof T]: BatchProcessor }
}
