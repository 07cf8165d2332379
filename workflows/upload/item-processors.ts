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
import { type LoadedGroup, type Remark, type VerdictGroup, verdicts } from './desk/wire.ts'
import { EntitySlots } from './entity-slots.ts'
import { type ItemType, itemTypes } from './hn-item.ts'
import type { ItemData } from './item-data.ts'
import { isOfContent } from './item-reasons.ts'
import { namingTrouble } from './item-trouble.ts'

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
    const remarks = new Map<number, Remark>()
    for (const remark of loaded.remarks) remarks.set(remark.position, remark)
    const now = timeOf(contexts)
    const outcomes: Outcome[] = []
    for (const { entity, data } of contexts) {
      const position = outcomes.length
      found.keep(entity.id, loaded, position)
      outcomes.push(ingested(data, now, loaded, position, remarks))
    }
    return outcomes
  }

  const deduplicate: GroupProcessor<ItemData> = async (contexts) => {
    const known: (Verdict | undefined)[] = []
    for (const { entity } of contexts) known.push(found.verdict(entity.id))
    const group = known.includes(undefined) ? await desk.compare(contexts) : null
    const now = timeOf(contexts)
    const outcomes: (Outcome | undefined)[] = []
    for (const { data } of contexts) {
      const position = outcomes.length
      outcomes.push(compared(data, now, group ? verdictAt(group, position) : known[position]!))
    }
    return outcomes
  }

  const resolve: GroupProcessor<ItemData> = async (contexts) => {
    const known: (boolean | undefined)[] = []
    for (const { entity, data } of contexts) known.push(data.parent === undefined || found.isParentKnown(entity.id))
    const parents = known.includes(undefined) ? await desk.known(contexts) : null
    const outcomes: Outcome[] = []
    for (const { data } of contexts) {
      const position = outcomes.length
      outcomes.push(linked(data, parents ? parents[position] === 1 : !!known[position]))
    }
    return outcomes
  }

  const index: GroupProcessor<ItemData> = async (contexts) => {
    for (const { entity } of contexts) found.forget(entity.id)
    const group = await desk.index(contexts)
    const now = timeOf(contexts)
    const outcomes: (Outcome | undefined)[] = []
    for (const { data } of contexts) outcomes.push(indexed(data, now, group, outcomes.length))
    return outcomes
  }

  return {
    HNItemIngestionProcessor: named('HNItemIngestionProcessor', ingest),

    // A retried item comes here without having been read: what failed before may have been the reading itself.
    HNItemValidationProcessor: named('HNItemValidationProcessor', (contexts) =>
      contexts.some(isUnread) ? ingest(contexts) : new Array<undefined>(contexts.length).fill(undefined),
    ),

    HNItemDeduplicationProcessor: named('HNItemDeduplicationProcessor', deduplicate),
    HNItemHierarchyProcessor: named('HNItemHierarchyProcessor', resolve),
    HNItemIndexingProcessor: named('HNItemIndexingProcessor', index),
  } satisfies Record<string, ItemProcessor>
}

function named(name: string, many: GroupProcessor<ItemData>): ItemProcessor {
  return inGroups(namingTrouble(name, many))
}

/** What the desk found when it loaded items that are not yet indexed. What is forgotten is asked again. */
class Found {
  readonly #slots = new EntitySlots()
  readonly #groups = new Array<LoadedGroup | null>(this.#slots.count).fill(null)
  readonly #positions = new Uint32Array(this.#slots.count)

  keep(entity: number, loaded: LoadedGroup, position: number): void {
    const slot = this.#slots.take(entity)
    this.#groups[slot] = loaded
    this.#positions[slot] = position
  }

  /** Undefined: it was not looked for. */
  verdict(entity: number): Verdict | undefined {
    const slot = this.#slots.of(entity)
    return slot < 0 ? undefined : verdictAt(this.#groups[slot]!, this.#positions[slot]!)
  }

  isParentKnown(entity: number): boolean | undefined {
    const slot = this.#slots.of(entity)
    return slot < 0 ? undefined : this.#groups[slot]!.knownParents[this.#positions[slot]!] === 1
  }

  forget(entity: number): void {
    const slot = this.#slots.of(entity)
    if (slot < 0) return
    this.#slots.free(slot)
    this.#groups[slot] = null
  }
}

/** While it is put together: copied piece by piece, a million items would be copied many times over. */
type Open<T> = { -readonly [K in keyof T]: T[K] }

const mergedOne = { merged: 1 } as const

/** All of a group are looked at in the same moment. */
function timeOf([first]: readonly Context<ItemData>[]): number {
  return first?.now() ?? 0
}

function isUnread({ data }: Context<ItemData>): boolean {
  return data.type === undefined
}

function ingested(
  data: ItemData,
  now: number,
  { types, hnIds, parents }: LoadedGroup,
  position: number,
  remarks: ReadonlyMap<number, Remark>,
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
  const item: Open<ItemData> = { ...data, hnId, type, ingestedAt: now }
  if (!Number.isNaN(parent)) item.parent = parent
  if (remark?.warnings) item.warnings = remark.warnings
  return done(item)
}

interface Verdict {
  readonly code: number | undefined
  readonly of: number
}

function verdictAt({ codes, of }: VerdictGroup, position: number): Verdict {
  return { code: codes[position], of: of[position] as number }
}

/** Undefined: no duplicate, as far as is known. */
function compared(data: ItemData, now: number, { code, of }: Verdict): Outcome | undefined {
  switch (code) {
    case verdicts.duplicate:
      return done({ ...data, duplicateOf: of, lastUpdated: now } satisfies ItemData)
    case verdicts.repeat:
      return done({ ...data, duplicateOfIndex: of, lastUpdated: now } satisfies ItemData)
    default:
      return undefined
  }
}

function indexed(data: ItemData, now: number, group: VerdictGroup, position: number): Outcome | undefined {
  switch (group.codes[position]) {
    case verdicts.duplicate:
    case verdicts.repeat:
      return compared(data, now, verdictAt(group, position))
    case verdicts.merged:
      return done({ ...data, merged: true, lastUpdated: now }, mergedOne)
    default:
      return done({ ...data, lastUpdated: now })
  }
}

function linked(data: ItemData, isResolved: boolean): Outcome {
  const link = data.parent === undefined ? 'none' : isResolved ? 'resolved' : 'unresolved'
  return done({ ...data, link } satisfies ItemData)
}

export const itemAssigns = {
  HNItemFailureProcessor: ({ data, state }, { now, error, reason, actor }) => ({
    data: {
      ...data,
      errorType: data.errorType ?? (reason !== null && isOfContent(reason) ? 'VALIDATION' : 'PROCESSING'),
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
    const { batchId, sourceType, itemIndex, file, offset, length, hnId, earlier, retryCount = 0, lastFailureAt } = data
    const known = {
      ...(hnId === undefined ? {} : { hnId }),
      ...(earlier === undefined ? {} : { earlier }),
      ...(lastFailureAt === undefined ? {} : { lastFailureAt }),
    }
    return {
      data: { batchId, sourceType, itemIndex, file, offset, length, ...known, retryCount, retryAttemptAt: now },
      log: { level: 'debug', message: 'item retried', fields: { itemIndex, hnId, retryCount } },
    }
  },
} satisfies Record<string, Assign<ItemData>>
