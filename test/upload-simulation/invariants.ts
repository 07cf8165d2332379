import type { Invariant, Known, Model, MoveFact } from '../../src/testing/simulation/index.ts'
import type { Complain } from '../../src/testing/simulation/judge.ts'
import type { Catalogue } from '../../workflows/upload/catalogue/catalogue.ts'
import { type BatchData, type ItemData, uploadBatch, uploadItem } from '../../workflows/upload/index.ts'
import type { DrawnFile, Expected } from './drawn-file.ts'

export type FileOf = (sha256: string) => DrawnFile

const isBatch = ({ machine }: Known): boolean => machine.name === uploadBatch.name
const isItem = ({ machine }: Known): boolean => machine.name === uploadItem.name
const dataOf = <D>({ row }: Known): D => JSON.parse(row.data) as D

/** What the file says must become of an item. */
function expectedOf(model: Model, fileOf: FileOf, { parent, ordinal }: Known): Expected | undefined {
  const batch = parent === null ? undefined : model.find(parent)
  return batch && ordinal !== null ? fileOf(dataOf<BatchData>(batch).sha256).elements[ordinal] : undefined
}

/** The promises of the upload family, each with its check. */
export function uploadInvariants(fileOf: FileOf): readonly Invariant[] {
  return [
    {
      name: 'U1 position',
      sentence:
        'Whether an item is completed, merged or skipped follows from its file alone, in whatever order items run.',
      move(fact) {
        const { known, record, model } = fact
        const to = record.hops.at(-1)?.to
        if (!isItem(known) || (to !== 'completed' && to !== 'skipped')) return null
        const expected = expectedOf(model, fileOf, known)
        if (!expected) return `The file has no element ${known.ordinal}.`
        if (to !== expected.state) return `It is ${to}; by its place in the file it is ${expected.state}.`
        const merged = fact.move?.sums?.merged === 1
        return !fact.move || to !== 'completed' || merged === expected.merged
          ? null
          : `It is${merged ? '' : ' not'} merged; by its place in the file it is${expected.merged ? '' : ' not'}.`
      },
    },
    {
      name: 'U2 elements',
      sentence: 'Each element of a file is one item, and no item is without an element.',
      move: (fact) => (isBatch(fact.known) ? extractionOf(fact, fileOf) : null),
    },
    {
      name: 'U3 report',
      sentence: 'A batch closes when no item is open, and its summary has the counts of its items.',
      move: (fact) => (isBatch(fact.known) ? reportOf(fact) : null),
    },
  ]
}

function extractionOf({ known, record, model }: MoveFact, fileOf: FileOf): string | null {
  if (!record.hops.some(({ transition }) => transition === 'start_processing')) return null
  const { elements } = fileOf(dataOf<BatchData>(known).sha256)
  const indexes = new Set(model.childrenOf(known.id).map(({ ordinal }) => ordinal))
  return indexes.size === elements.length && elements.every((_, index) => indexes.has(index))
    ? null
    : `It has items ${[...indexes].join(', ')}; the file has ${elements.length} elements.`
}

const closing = new Set(['complete_batch', 'partial_completion', 'all_items_failed'])

function reportOf({ known, record, model, move }: MoveFact): string | null {
  const edge = record.hops.find(({ transition }) => closing.has(transition))
  if (!edge || !move?.data) return null
  const counts = model.tally(known.id, uploadItem.name)?.counts ?? new Map<string, number>()
  const { resultSummary } = JSON.parse(move.data) as BatchData
  const [completed, skipped, failed] = ['completed', 'skipped', 'failed'].map((state) => counts.get(state) ?? 0)
  const open = [...counts].filter(([state]) => !uploadItem.settled.includes(state)).map(([, count]) => count)
  if (open.some((count) => count > 0)) return `It takes ${edge.transition} with ${open.join(' + ')} items open.`
  const told = [resultSummary?.completed, resultSummary?.skipped, resultSummary?.failed]
  return told.join() === [completed, skipped, failed].join()
    ? null
    : `It reports ${told.join(', ')} completed, skipped and failed; there are ${[completed, skipped, failed].join(', ')}.`
}

/** When everything has come to rest: the catalogue holds the newest version of all that was put, and nothing failed without a reason. */
export function checkAtRest(model: Model, fileOf: FileOf, catalogue: Catalogue, complain: Complain): void {
  for (const batch of model.all) {
    if (!isBatch(batch)) continue
    const items = model.childrenOf(batch.id)
    for (const item of items) {
      const complaint = failureOf(item, expectedOf(model, fileOf, item))
      if (complaint) complain('U4 failures', `upload_item ${item.id}: ${complaint}`)
    }
    for (const [hnId, versions] of versionsIn(items, fileOf(dataOf<BatchData>(batch).sha256))) {
      const complaint = documentOf(catalogue, hnId, versions)
      if (complaint) complain('U5 catalogue', `Item ${hnId} of batch ${batch.id}: ${complaint}`)
    }
  }
}

/** An item that is good fails only if a person gave it up or its attempts are spent. */
function failureOf(item: Known, expected: Expected | undefined): string | null {
  if (!item.settled || !expected) return null
  if (expected.state === 'failed') return item.state === 'failed' ? null : `It is ${item.state}, and no valid item.`
  if (item.state !== 'failed') return null
  const { errorType } = dataOf<ItemData>(item)
  return errorType === 'VALIDATION' ? `It is valid, and failed: ${item.row.reason} (${item.row.error}).` : null
}

interface Version {
  readonly score: number
  /** Whether the catalogue must have it: what failed or is not through may have it. */
  readonly isPut: boolean
}

function versionsIn(items: readonly Known[], { elements }: DrawnFile): ReadonlyMap<number, readonly Version[]> {
  const versions = new Map<number, Version[]>()
  for (const { ordinal, state } of items) {
    const expected = ordinal === null ? undefined : elements[ordinal]
    if (!expected || expected.hnId === null) continue
    const isPut = state === 'completed' || state === 'skipped'
    versions.set(expected.hnId, [...(versions.get(expected.hnId) ?? []), { score: expected.score, isPut }])
  }
  return versions
}

function documentOf(catalogue: Catalogue, hnId: number, versions: readonly Version[]): string | null {
  const put = versions.filter(({ isPut }) => isPut).map(({ score }) => score)
  if (put.length === 0) return null
  const row = catalogue.item(hnId)
  if (!row) return 'An item of this id is completed or skipped, and the catalogue does not know it.'
  const [least, most] = [Math.max(...put), Math.max(...versions.map(({ score }) => score))]
  const score = row.score ?? 0
  return score >= least && score <= most
    ? null
    : `The catalogue has the version of score ${score}; the newest that was put has ${least}.`
}
