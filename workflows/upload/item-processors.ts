import { type Assign, type Context, done, fail, type Outcome, type Processor } from 'sluice'
import type { Desk, Loaded } from './desk/desk.ts'
import type { ItemData } from './item-data.ts'

type ItemProcessor = Processor<ItemData>
type ItemContext = Context<ItemData>

/**
 * All that reads content or the catalogue asks the desk, which answers for many items at once. What it found when it loaded an item
 * is remembered until the next processors of the same cascade use it; after a restart they ask themselves. Neither answer
 * has to be the last word: the catalogue compares again when the item is written.
 */
export function itemProcessors(desk: Desk) {
  const found = new Found()
  const ingest = ({ data, entity, now }: ItemContext) =>
    desk.load(entity.id, data).then((loaded) => {
      if (!loaded.fault) found.keep(entity.id, loaded)
      return ingested(data, loaded, now())
    })
  return {
    HNItemIngestionProcessor: ingest,

    // A retried item comes here without having been read: what failed before may have been the reading itself.
    HNItemValidationProcessor: (context) => (context.data.type === undefined ? ingest(context) : undefined),

    HNItemDeduplicationProcessor: (context) => {
      const { data, entity, now } = context
      const known = found.of(entity.id)
      if (known) return compared(data, known.duplicateOf, now)
      return desk.compare(entity.id, data).then((duplicateOf) => compared(data, duplicateOf, now))
    },

    HNItemHierarchyProcessor: ({ data, entity }) => {
      if (data.parent === undefined) return linked(data, 'none')
      const known = found.of(entity.id)
      if (known) return linked(data, known.isParentKnown ? 'resolved' : 'unresolved')
      return desk.isKnown(entity.id, data).then((isKnown) => linked(data, isKnown ? 'resolved' : 'unresolved'))
    },

    HNItemIndexingProcessor: (context) => {
      const { data, entity, now } = context
      found.forget(entity.id)
      return desk.index(entity.id, data).then((indexed) => {
        switch (indexed.kind) {
          case 'added':
            return done({ ...data, lastUpdated: now() })
          case 'merged':
            return done({ ...data, merged: true, lastUpdated: now() }, mergedOne)
          case 'duplicate':
            return compared(data, indexed.of, now)
          default:
            return indexed satisfies never
        }
      })
    },
  } satisfies Record<string, ItemProcessor>
}

/** Items that were loaded and not yet indexed. What is forgotten is asked again. */
class Found {
  readonly #byEntity = new Map<number, Loaded>()
  readonly #max = 16_384

  keep(entity: number, loaded: Loaded): void {
    if (this.#byEntity.size >= this.#max) this.#byEntity.delete(this.#byEntity.keys().next().value as number)
    this.#byEntity.set(entity, loaded)
  }

  of(entity: number): Loaded | undefined {
    return this.#byEntity.get(entity)
  }

  forget(entity: number): void {
    this.#byEntity.delete(entity)
  }
}

const mergedOne = { merged: 1 } as const

function ingested(data: ItemData, { fault, hnId, type, parent, warnings }: Loaded, now: number): Outcome {
  if (fault) {
    const known = hnId === null ? {} : { hnId }
    return fail(fault.reason, fault.message, { ...data, ...known, errorType: 'VALIDATION' } satisfies ItemData)
  }
  const item: ItemData = { ...data, hnId: hnId as number, type, ingestedAt: now }
  const linkedItem = parent === null ? item : { ...item, parent }
  return done(warnings === null ? linkedItem : { ...linkedItem, warnings })
}

function compared(data: ItemData, duplicateOf: number | null, now: () => number): Outcome | undefined {
  return duplicateOf === null ? undefined : done({ ...data, duplicateOf, lastUpdated: now() } satisfies ItemData)
}

function linked(data: ItemData, link: NonNullable<ItemData['link']>): Outcome {
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
