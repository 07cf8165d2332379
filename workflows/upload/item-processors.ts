import {
  type Assign,
  type Context,
  done,
  fail,
  type GroupProcessor,
  inGroups,
  type Outcome,
  type Processor,
} from 'sluice'
import type { Desk } from './desk/desk.ts'
import { type LoadedGroup, type VerdictGroup, verdicts } from './desk/wire.ts'
import { type ItemType, itemTypes } from './hn-item.ts'
import type { ItemData } from './item-data.ts'

type ItemProcessor = Processor<ItemData>

/**
 * All that reads content or the catalogue asks the desk, for all items of a group at once. What it found when it loaded them
 * is remembered until the next processors of the same cascade use it; after a restart they ask themselves. Neither answer
 * has to be the last word: the catalogue compares again when an item is written.
 */
export function itemProcessors(desk: Desk) {
  const found = new Found()

  const ingest: GroupProcessor<ItemData> = async (contexts) => {
    const loaded = await desk.load(contexts)
    const remarks = new Map(loaded.remarks.map((remark) => [remark.position, remark]))
    return contexts.map((context, position) => {
      found.keep(context.entity.id, loaded, position)
      return ingested(context, loaded, position, remarks)
    })
  }

  const deduplicate: GroupProcessor<ItemData> = async (contexts) => {
    const known = contexts.map((context) => found.duplicateOf(context.entity.id))
    if (!known.includes(undefined))
      return contexts.map((context, position) => compared(context, known[position] ?? null))
    const group = await desk.compare(contexts)
    return contexts.map((context, position) => compared(context, duplicateOf(group, position)))
  }

  const resolve: GroupProcessor<ItemData> = async (contexts) => {
    const known = contexts.map(({ entity, data }) => data.parent === undefined || found.isParentKnown(entity.id))
    const parents = known.includes(undefined) ? await desk.known(contexts) : null
    return contexts.map(({ data }, position) => linked(data, parents ? parents[position] === 1 : !!known[position]))
  }

  const index: GroupProcessor<ItemData> = async (contexts) => {
    for (const { entity } of contexts) found.forget(entity.id)
    const group = await desk.index(contexts)
    return contexts.map((context, position) => {
      const { data } = context
      if (group.codes[position] === verdicts.duplicate) return compared(context, duplicateOf(group, position))
      const lastUpdated = context.now()
      if (group.codes[position] === verdicts.merged) return done({ ...data, merged: true, lastUpdated }, mergedOne)
      return done({ ...data, lastUpdated })
    })
  }

  return {
    HNItemIngestionProcessor: inGroups(ingest),

    // A retried item comes here without having been read: what failed before may have been the reading itself.
    HNItemValidationProcessor: inGroups((contexts) =>
      contexts.some(({ data }) => data.type === undefined) ? ingest(contexts) : contexts.map(() => undefined),
    ),

    HNItemDeduplicationProcessor: inGroups(deduplicate),
    HNItemHierarchyProcessor: inGroups(resolve),
    HNItemIndexingProcessor: inGroups(index),
  } satisfies Record<string, ItemProcessor>
}

/** What the desk found when it loaded items that are not yet indexed. What is forgotten is asked again. */
class Found {
  readonly #byEntity = new Map<number, { readonly loaded: LoadedGroup; readonly position: number }>()
  readonly #max = 16_384

  keep(entity: number, loaded: LoadedGroup, position: number): void {
    if (this.#byEntity.size >= this.#max) this.#byEntity.delete(this.#byEntity.keys().next().value as number)
    this.#byEntity.set(entity, { loaded, position })
  }

  /** Null: of none. Undefined: it was not looked for. */
  duplicateOf(entity: number): number | null | undefined {
    const found = this.#byEntity.get(entity)
    if (!found) return undefined
    const of = found.loaded.duplicatesOf[found.position] as number
    return Number.isNaN(of) ? null : of
  }

  isParentKnown(entity: number): boolean | undefined {
    const found = this.#byEntity.get(entity)
    return found && found.loaded.knownParents[found.position] === 1
  }

  forget(entity: number): void {
    this.#byEntity.delete(entity)
  }
}

/** While it is put together: copied piece by piece, a million items would be copied many times over. */
type Open<T> = { -readonly [K in keyof T]: T[K] }

const mergedOne = { merged: 1 } as const

function ingested(
  { data, now }: Context<ItemData>,
  { types, hnIds, parents }: LoadedGroup,
  position: number,
  remarks: ReadonlyMap<number, LoadedGroup['remarks'][number]>,
): Outcome {
  const remark = remarks.size === 0 ? undefined : remarks.get(position)
  const hnId = hnIds[position] as number
  if (remark?.fault) {
    const known = Number.isNaN(hnId) ? {} : { hnId }
    const { reason, message } = remark.fault
    return fail(reason, message, { ...data, ...known, errorType: 'VALIDATION' } satisfies ItemData)
  }
  const type = itemTypes[types[position] as number] as ItemType
  const parent = parents[position] as number
  const item: Open<ItemData> = { ...data, hnId, type, ingestedAt: now() }
  if (!Number.isNaN(parent)) item.parent = parent
  if (remark?.warnings) item.warnings = remark.warnings
  return done(item)
}

function duplicateOf({ codes, of }: VerdictGroup, position: number): number | null {
  return codes[position] === verdicts.duplicate ? (of[position] as number) : null
}

function compared({ data, now }: Context<ItemData>, duplicateOf: number | null): Outcome | undefined {
  return duplicateOf === null ? undefined : done({ ...data, duplicateOf, lastUpdated: now() } satisfies ItemData)
}

function linked(data: ItemData, isResolved: boolean): Outcome {
  const link = data.parent === undefined ? 'none' : isResolved ? 'resolved' : 'unresolved'
  return done({ ...data, link } satisfies ItemData)
}

export const itemAssigns = {
  HNItemFailureProcessor: ({ data, state }, { now, error, reason, actor }) => ({
    data: {
      ...data,
      errorType: data.errorType ?? (state === 'initial_state' || state === 'ingested' ? 'VALIDATION' : 'PROCESSING'),
      errorMessage: error ?? reason ?? `marked as failed by ${actor ?? 'somebody'}`,
      retryCount: (data.retryCount ?? 0) + 1,
      lastFailureAt: now,
    },
    log: {
      level: 'debug',
      message: 'item failed',
      fields: { itemIndex: data.itemIndex, hnId: data.hnId, state, reason, error },
    },
  }),

  // Whether its parent is known is left to the catalogue above all: there the answer is that of the day on which it is asked.
  keepOrigin: ({ data }) => {
    const { batchId, sourceType, itemIndex, file, offset, length, hnId, merged, warnings, retryCount } = data
    const origin: Open<ItemData> = { batchId, sourceType, itemIndex, file, offset, length }
    if (hnId !== undefined) origin.hnId = hnId
    if (merged) origin.merged = merged
    if (warnings) origin.warnings = warnings
    if (retryCount) origin.retryCount = retryCount
    return { data: origin }
  },

  HNItemRetryProcessor: ({ data }, { now }) => {
    // What was read before is read again, and what was decided about it is decided again.
    const { batchId, sourceType, itemIndex, file, offset, length, hnId, retryCount = 0, lastFailureAt } = data
    const known = { ...(hnId === undefined ? {} : { hnId }), ...(lastFailureAt === undefined ? {} : { lastFailureAt }) }
    return {
      data: { batchId, sourceType, itemIndex, file, offset, length, ...known, retryCount, retryAttemptAt: now },
      log: { level: 'debug', message: 'item retried', fields: { itemIndex, hnId, retryCount } },
    }
  },
} satisfies Record<string, Assign<ItemData>>
