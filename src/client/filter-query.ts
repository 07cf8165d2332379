import type { ListFilter } from '../control.ts'
import type { Query } from './transport.ts'

/** A filter as the address of a list has it. */
export function queryOf(filter: ListFilter): Query {
  const { machine, version, states, outcomes, parent, lane, label, settled, reason, key } = filter
  const { after, upTo, newestFirst, limit } = filter
  const { sources, after: place } = filter.spawnedBy ?? { sources: undefined, after: null }
  return {
    ...{ machine, version, state: states, outcome: outcomes, lane, settled, reason, key, after, upTo, limit },
    parent: parent === null ? 'none' : parent,
    label: label?.name,
    value: label?.value,
    newest: newestFirst,
    spawnedBy: sources,
    afterSource: place?.source,
    afterOrdinal: place?.ordinal,
  }
}
