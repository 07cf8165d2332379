import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isSluiceError } from 'sluice'
import type { HNItem } from '../hn-item.ts'
import type { Catalogue } from './catalogue.ts'
import { Documents, folderOf, withCatalogue } from './sample-items.ts'

/** The parent of each of the ids from 1 on; null: a root. Some parents do not exist, and cycles are common. */
const anyParents = fc.array(fc.option(fc.integer({ min: 1, max: 30 })), { minLength: 1, maxLength: 25, size: 'max' })

function fill(catalogue: Catalogue, documents: Documents, parents: readonly (number | null)[]): void {
  const items = parents.map(
    (parent, index): HNItem => ({ hnId: index + 1, type: 'comment', ...(parent === null ? {} : { parent }) }),
  )
  catalogue.put(items.map((item) => documents.entry(item.hnId, 1, item)))
}

/** Up from an item, one step after another. */
function naiveAncestors(parents: readonly (number | null)[], hnId: number, depthMax: number) {
  const way: number[] = []
  let at = parents[hnId - 1] ?? null
  while (at !== null) {
    if (at === hnId || way.includes(at)) return { way, end: 'cycle' }
    if (at > parents.length) return { way, end: 'unresolved' }
    if (way.length === depthMax) return { way, end: 'depth' }
    way.push(at)
    at = parents[at - 1] ?? null
  }
  return { way, end: 'root' }
}

/** Whoever has this item among those above it is below it, by as many steps. */
function naiveDescendants(parents: readonly (number | null)[], hnId: number, depthMax: number): [number, number][] {
  const below: [number, number][] = []
  for (let id = 1; id <= parents.length; id += 1) {
    const depth = naiveAncestors(parents, id, 1_000).way.indexOf(hnId) + 1
    if (id !== hnId && depth > 0 && depth <= depthMax) below.push([depth, id])
  }
  return below.sort(([depth, id], [otherDepth, otherId]) => depth - otherDepth || id - otherId)
}

test('ancestors, descendants and depth agree with a walk by hand, cycles and gaps included', (context) => {
  const folder = folderOf(context)
  let run = 0
  fc.assert(
    fc.property(
      anyParents,
      fc.integer({ min: 1, max: 6 }),
      fc.integer({ min: 1, max: 5 }),
      (parents, depthMax, limit) => {
        const documents = new Documents()
        run += 1
        withCatalogue({ folder, file: `${folder}/${run}.db` }, (catalogue) => {
          fill(catalogue, documents, parents)
          for (let hnId = 1; hnId <= parents.length; hnId += 1) {
            const { way, end } = naiveAncestors(parents, hnId, depthMax)
            const above = catalogue.ancestors(hnId, { depthMax })
            assert.deepEqual([above.nodes.map((node) => node.hnId), above.end], [way, end])
            const whole = naiveAncestors(parents, hnId, 1_000)
            assert.deepEqual(catalogue.depth(hnId), { depth: whole.way.length, end: whole.end })
            assert.deepEqual(pagesBelow(catalogue, hnId, depthMax, limit), naiveDescendants(parents, hnId, depthMax))
          }
        })
      },
    ),
    { numRuns: 40 },
  )
})

function pagesBelow(catalogue: Catalogue, hnId: number, depthMax: number, limit: number): [number, number][] {
  const below: [number, number][] = []
  let after: string | null = null
  do {
    const page = catalogue.descendants(hnId, { depthMax, limit, ...(after === null ? {} : { after }) })
    assert.ok(page.nodes.length <= limit)
    below.push(...page.nodes.map((node): [number, number] => [node.depth, node.hnId]))
    after = page.next
  } while (after !== null)
  return below
}

test('a chain longer than any limit ends at the limit, and says so', (context) => {
  const documents = new Documents()
  withCatalogue({ folder: folderOf(context) }, (catalogue) => {
    fill(
      catalogue,
      documents,
      Array.from({ length: 1_500 }, (_, index) => (index === 0 ? null : index)),
    )
    assert.deepEqual(catalogue.depth(1_500), { depth: 1_000, end: 'depth' })
    assert.deepEqual(catalogue.depth(1_001), { depth: 1_000, end: 'root' })
    assert.equal(catalogue.ancestors(1_500).nodes.length, 100)
    assert.equal(catalogue.descendants(1, { depthMax: 1_000, limit: 1_000 }).nodes.at(-1)?.depth, 1_000)
  })
})

test('an unknown item is not found, and options out of range are refused', (context) => {
  const documents = new Documents()
  withCatalogue({ folder: folderOf(context) }, (catalogue) => {
    fill(catalogue, documents, [null])
    for (const ask of [
      () => catalogue.ancestors(9),
      () => catalogue.descendants(9),
      () => catalogue.depth(9),
      () => catalogue.depth(Number.NaN),
    ]) {
      assert.throws(
        ask,
        (error) => isSluiceError(error, 'not_found') && error.message.includes('is not in the catalogue'),
      )
    }
    for (const [field, options] of [
      ['depthMax', { depthMax: 0 }],
      ['depthMax', { depthMax: 1_001 }],
      ['limit', { limit: 1_001 }],
      ['after', { after: '1;2' }],
    ] as const) {
      assert.throws(
        () => catalogue.descendants(1, options),
        (error) => isSluiceError(error, 'invalid') && error.message.includes(field),
      )
    }
  })
})
