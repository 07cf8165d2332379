import type { Criterion } from 'sluice'
import { hours } from './batch-criteria.ts'
import { itemTypes } from './hn-item.ts'
import type { ItemData } from './item-data.ts'
import type { UploadLimits } from './settings.ts'

type ItemCriterion = Criterion<ItemData>

/** Reasons are short phrases of a small set: a batch counts its failures by them. */
export function itemCriteria({ retriesMax, retryWindowMs }: Pick<UploadLimits, 'retriesMax' | 'retryWindowMs'>) {
  return {
    HNItemValidCriterion: ({ data }) => {
      if (data.hnId === undefined || data.hnId <= 0) return 'hnId is missing'
      return (data.type !== undefined && itemTypes.includes(data.type)) || 'type is missing or unknown'
    },

    HNItemDuplicateCriterion: ({ data }) => data.duplicateOf !== undefined || data.duplicateOfIndex !== undefined,

    HNItemHierarchyValidCriterion: ({ data }) => hierarchyFault(data) ?? true,

    HNItemCompleteCriterion: ({ data }) => {
      if (data.ingestedAt === undefined) return 'ingestedAt is not set'
      if (data.lastUpdated === undefined) return 'lastUpdated is not set'
      return hierarchyFault(data) ?? true
    },

    HNItemRetryableCriterion: ({ data }, { now }) => {
      const failures = data.retryCount ?? 0
      const age = now - (data.lastFailureAt ?? now)
      if (data.hnId === undefined) return 'its hnId is not known: the file itself must be mended'
      if (failures >= retriesMax)
        return `it has failed ${failures} times; at most ${retriesMax} failures may be retried`
      return age < retryWindowMs || `it failed ${hours(age)} ago; it may be retried within ${hours(retryWindowMs)}`
    },
  } satisfies Record<string, ItemCriterion>
}

function hierarchyFault({ type, parent }: ItemData): string | null {
  if (parent !== undefined) return null
  if (type === 'comment') return 'comment without parent'
  return type === 'pollopt' ? 'pollopt without poll' : null
}
