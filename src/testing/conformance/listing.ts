import assert from 'node:assert/strict'
import type { EntityId } from '../../entity.ts'
import type { Filter } from '../../store.ts'
import { aMove, someChildren } from '../builders.ts'
import type { Story, Tell } from './story.ts'
import { idsOf } from './story.ts'

async function listed(story: Story, filter: Partial<Filter> = {}): Promise<readonly EntityId[]> {
  return idsOf((await story.store.list({ limit: 100, ...filter })).entities)
}

/** Reads page after page, as a person would, and says how many there were. */
async function paged(story: Story, filter: Filter): Promise<{ ids: readonly EntityId[]; pages: number }> {
  const ids: EntityId[] = []
  let next: EntityId | null = null
  for (let pages = 1; pages < 100; pages += 1) {
    const page = await story.store.list(next === null ? filter : { ...filter, after: next })
    assert.ok(page.entities.length <= filter.limit)
    ids.push(...idsOf(page.entities))
    next = page.next
    if (next === null) return { ids, pages }
  }
  return assert.fail('paging comes to an end')
}

/** What people and programs find, and in which order. */
export function listing(tell: Tell): void {
  tell('get answers in the order asked, with null for what is not there', async (story) => {
    const [first, second] = await story.createMany(2)
    assert.deepEqual(await story.store.get([second!.id, 99_999, first!.id, second!.id]), [second, null, first, second])
    assert.deepEqual(await story.store.get([]), [])
  })

  tell('a list is in the order of ids, or the other way round', async (story) => {
    const ids = idsOf(await story.createMany(5))
    assert.deepEqual(await listed(story), ids)
    assert.deepEqual(await listed(story, { newestFirst: true }), [...ids].reverse())
  })

  tell('a list shows entities as get does', async (story) => {
    const { parent, children } = await story.createParent(2)
    await story.claim(await story.register(), 1)
    const ids = [parent.id, ...idsOf(children)]
    assert.deepEqual((await story.store.list({ limit: 10 })).entities, await story.store.get(ids))
  })

  for (const newestFirst of [false, true]) {
    tell(`pages ${newestFirst ? 'of the newest first' : 'in order'} hold everything once`, async (story) => {
      const ids = idsOf(await story.createMany(10))
      const expected = newestFirst ? [...ids].reverse() : ids
      for (const [limit, pages] of [
        [1, 10],
        [3, 4],
        [5, 2],
        [10, 1],
        [11, 1],
      ] as const) {
        assert.deepEqual(await paged(story, { limit, newestFirst }), { ids: expected, pages }, `pages of ${limit}`)
      }
    })
  }

  tell('what is created meanwhile comes on a later page, and nothing twice', async (story) => {
    const first = idsOf(await story.createMany(4))
    const page = await story.store.list({ limit: 3 })
    const later = idsOf(await story.createMany(2))
    const rest = await story.store.list({ limit: 10, after: page.next! })
    assert.deepEqual([...idsOf(page.entities), ...idsOf(rest.entities)], [...first, ...later])
  })

  tell('a list up to an id ends there, whatever came since', async (story) => {
    const ids = idsOf(await story.createMany(6))
    assert.deepEqual(await listed(story, { upTo: ids[3]! }), ids.slice(0, 4))
    assert.deepEqual(await listed(story, { upTo: ids[3]!, after: ids[0]! }), ids.slice(1, 4))
    assert.deepEqual(await paged(story, { upTo: ids[3]!, limit: 2 }), { ids: ids.slice(0, 4), pages: 2 })
  })

  tell('what some entities have spawned is listed by (source, ordinal), whoever was first', async (story) => {
    const [late, early] = await story.createMany(2)
    const spawn = async (source: typeof late, count: number) =>
      story.saved(aMove(source!, { children: someChildren(source!.id, count), spawned: count }))
    await spawn(early, 3)
    await spawn(late, 2)
    const sources = [early!.id, late!.id, 99_999]
    const page = (limit: number, after: { source: number; ordinal: number } | null, more: Partial<Filter> = {}) =>
      story.store.list({ limit, spawnedBy: { sources, after }, ...more })
    const places = ({ entities }: { entities: readonly { source: number | null; ordinal: number | null }[] }) =>
      entities.map(({ source, ordinal }) => [source, ordinal])
    const all = [...[0, 1].map((ordinal) => [late!.id, ordinal]), ...[0, 1, 2].map((ordinal) => [early!.id, ordinal])]
    const whole = await page(10, null)
    assert.deepEqual(places(whole), all)
    assert.equal(whole.next, null)
    const first = await page(3, null)
    assert.deepEqual(places(first), all.slice(0, 3))
    assert.notEqual(first.next, null, 'there is more')
    const { source, ordinal } = first.entities.at(-1)!
    assert.deepEqual(places(await page(3, { source: source!, ordinal: ordinal! })), all.slice(3))
    assert.deepEqual(places(await page(10, null, { parent: late!.id })), all.slice(0, 2))
    assert.deepEqual(places(await page(10, null, { states: ['nowhere'] })), [])
    assert.deepEqual((await story.store.list({ limit: 5, spawnedBy: { sources: [], after: null } })).entities, [])
  })

  tell('filters: machine, version, state, settled', async (story) => {
    const parcel = await story.create()
    const packed = await story.create({ state: 'packed' })
    const done = await story.create({ state: 'done' })
    const newer = await story.create({ version: 2 })
    const shipment = await story.create({ machine: 'shipment', state: 'packed', labels: [null] })
    assert.deepEqual(await listed(story, { machine: 'parcel' }), idsOf([parcel, packed, done, newer]))
    assert.deepEqual(await listed(story, { machine: 'parcel', version: 1 }), idsOf([parcel, packed, done]))
    assert.deepEqual(await listed(story, { states: ['packed'] }), idsOf([packed, shipment]))
    assert.deepEqual(await listed(story, { states: ['packed', 'done'], machine: 'parcel' }), idsOf([packed, done]))
    assert.deepEqual(await listed(story, { states: [] }), [])
    assert.deepEqual(await listed(story, { settled: true }), [done.id])
    assert.deepEqual(await listed(story, { settled: false, machine: 'shipment' }), [shipment.id])
    assert.deepEqual(await listed(story, { machine: 'nobody' }), [])
  })

  tell('filters: states of some machine versions, each with its own', async (story) => {
    const packed = await story.create({ state: 'packed' })
    const done = await story.create({ state: 'done' })
    await story.create({ version: 2, state: 'packed' })
    await story.create({ machine: 'shipment', state: 'packed', labels: [null] })
    const shipped = await story.create({ machine: 'shipment', state: 'done', labels: [null] })
    const parcels = { machine: 'parcel', version: 1, states: ['packed', 'done'] }
    const shipments = { machine: 'shipment', version: 1, states: ['done', 'never_written'] }
    assert.deepEqual(await listed(story, { anyOf: [parcels, shipments] }), idsOf([packed, done, shipped]))
    assert.deepEqual(await listed(story, { anyOf: [parcels, shipments], states: ['done'] }), idsOf([done, shipped]))
    assert.deepEqual(await listed(story, { anyOf: [parcels, shipments], parent: null, states: ['done', 'packed'] }), [
      ...idsOf([packed, done, shipped]),
    ])
    assert.deepEqual(await listed(story, { anyOf: [shipments], machine: 'parcel' }), [])
    assert.deepEqual(await listed(story, { anyOf: [] }), [])
    assert.deepEqual(await listed(story, { anyOf: [{ machine: 'nobody', version: 1, states: ['done'] }] }), [])
  })

  tell('filters: parent and lane; null asks for roots', async (story) => {
    const { parent, children } = await story.createParent(2, { lane: 'first' })
    await story.saved(aMove(children[0]!, { children: someChildren(parent, 2, { lane: 'second' }) }))
    const root = await story.create()
    assert.deepEqual(await listed(story, { parent: null }), [parent.id, root.id])
    assert.deepEqual((await listed(story, { parent: parent.id })).length, 4)
    assert.deepEqual(await listed(story, { parent: parent.id, lane: 'first' }), idsOf(children))
    assert.deepEqual((await listed(story, { parent: parent.id, lane: 'second' })).length, 2)
    assert.deepEqual(await listed(story, { parent: parent.id, states: ['done'] }), [children[0]!.id])
  })

  tell('filters: label by name, in every machine that has it', async (story) => {
    const parcel = await story.create({ labels: ['maps', 'books'] })
    await story.create({ labels: ['books', 'maps'] })
    const shipment = await story.create({ machine: 'shipment', labels: ['maps'] })
    const label = { name: 'collection', value: 'maps' }
    assert.deepEqual(await listed(story, { label }), [parcel.id, shipment.id])
    assert.deepEqual(await listed(story, { label, machine: 'parcel' }), [parcel.id])
    assert.deepEqual(await listed(story, { label: { name: 'owner', value: 'books' } }), [parcel.id])
    assert.deepEqual(await listed(story, { label: { name: 'colour', value: 'maps' } }), [])
  })

  tell('filters: reason', async (story) => {
    const [torn, wet] = await story.createMany(2)
    await story.saved(aMove(torn!, { state: 'failed', reason: 'torn' }))
    await story.saved(aMove(wet!, { state: 'failed', reason: 'wet' }))
    assert.deepEqual(await listed(story, { reason: 'torn' }), [torn!.id])
  })

  tell('a filter sees what was moved since', async (story) => {
    const entity = await story.create({ labels: ['maps', null] })
    const label = { name: 'collection', value: 'maps' }
    assert.deepEqual(await listed(story, { label, states: ['ready'] }), [entity.id])
    await story.saved(aMove(entity, { state: 'packed', labels: ['books', null] }))
    assert.deepEqual(await listed(story, { label }), [])
    assert.deepEqual(await listed(story, { states: ['ready'] }), [])
  })
}
