import { z } from 'zod'
import type { ListFilter } from '../../control.ts'
import { stateOutcomes } from '../../state-outcome.ts'
import { flagText, idNumber, idText, nameText, parentText, repeated, wholeNumber } from '../asked-schemas.ts'
import type { HttpLimits } from '../http-limits.ts'

/** So many ids of any size fit into an address. */
const sourcesMax = 400

/** The query of a list of entities. */
export function filterFields(limits: HttpLimits) {
  return {
    machine: nameText.optional(),
    version: wholeNumber(0, 1_000_000_000).optional(),
    state: repeated(nameText, 100).optional().describe('States of the machine; may be repeated.'),
    outcome: repeated(z.enum(stateOutcomes), stateOutcomes.length).optional(),
    lane: nameText.optional(),
    label: nameText.optional().describe('The name of a label; goes together with `value`.'),
    value: z.string().max(200).optional().describe('The value of `label`.'),
    settled: flagText.optional(),
    reason: z.string().max(2_000).optional(),
    key: z.string().min(1).max(200).optional(),
    after: idText.optional().describe('`next` of the page before.'),
    upTo: idText.optional(),
    limit: wholeNumber(1, limits.pageMax).optional(),
    newest: flagText.optional(),
    spawnedBy: repeated(idText, sourcesMax).optional(),
    afterSource: idText.optional().describe('With `spawnedBy`; goes together with `afterOrdinal`.'),
    afterOrdinal: idText.optional(),
  }
}

export const parentField = {
  parent: parentText.optional().describe('Children of this entity; `none`: roots.'),
}

/** Fields that only make sense together. */
export function isPaired(query: {
  label?: string | undefined
  value?: string | undefined
  afterSource?: number | undefined
  afterOrdinal?: number | undefined
}): boolean {
  return (
    (query.label === undefined) === (query.value === undefined) &&
    (query.afterSource === undefined) === (query.afterOrdinal === undefined)
  )
}
export const pairFault = 'label and value go together, and so do afterSource and afterOrdinal'

type FilterQuery = z.output<z.ZodObject<ReturnType<typeof filterFields>>> & { parent?: number | null | undefined }

export function filterOf(query: FilterQuery, limits: HttpLimits): ListFilter {
  const { machine, version, state, outcome, parent, lane, label, value, settled, reason, key, after, upTo, newest } =
    query
  const { spawnedBy, afterSource, afterOrdinal } = query
  return {
    limit: query.limit ?? limits.pageDefault,
    ...(machine === undefined ? {} : { machine }),
    ...(version === undefined ? {} : { version }),
    ...(state === undefined ? {} : { states: state }),
    ...(outcome === undefined ? {} : { outcomes: outcome }),
    ...(parent === undefined ? {} : { parent }),
    ...(lane === undefined ? {} : { lane }),
    ...(label === undefined || value === undefined ? {} : { label: { name: label, value } }),
    ...(settled === undefined ? {} : { settled }),
    ...(reason === undefined ? {} : { reason }),
    ...(key === undefined ? {} : { key }),
    ...(after === undefined ? {} : { after }),
    ...(upTo === undefined ? {} : { upTo }),
    ...(newest === undefined ? {} : { newestFirst: newest }),
    ...(spawnedBy === undefined
      ? {}
      : {
          spawnedBy: {
            sources: spawnedBy,
            after:
              afterSource === undefined || afterOrdinal === undefined
                ? null
                : { source: afterSource, ordinal: afterOrdinal },
          },
        }),
  }
}

/** The filter of an act on many, as a body has it. */
export const filterBody = z.strictObject({
  machine: nameText.optional(),
  version: z.int().min(0).optional(),
  states: z.array(nameText).max(100).optional(),
  outcomes: z.array(z.enum(stateOutcomes)).max(stateOutcomes.length).optional(),
  parent: idNumber.nullable().optional(),
  lane: nameText.optional(),
  label: z.strictObject({ name: nameText, value: z.string().max(200) }).optional(),
  settled: z.boolean().optional(),
  reason: z.string().max(2_000).optional(),
  after: idNumber.optional(),
  upTo: idNumber.optional(),
}) as unknown as z.ZodType<Omit<ListFilter, 'limit' | 'newestFirst' | 'spawnedBy'>>
