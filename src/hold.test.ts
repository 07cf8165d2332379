import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Hold, type Holdable, type HoldScope, isActive, stops } from './hold.ts'
import { nobody } from './store.ts'

const job: Holdable = { id: 7, machine: 'ingest_job', state: 'pending', parent: 3, labels: ['maps', null] }

const labelNames = (machine: string): readonly string[] => (machine === 'ingest_job' ? ['collection', 'owner'] : [])

function holdOver(scope: HoldScope, until: number | null = null): Hold {
  return { id: 1, scope, reason: 'The disk is full.', owner: 'ann', since: 0, until, by: nobody, ended: null }
}

function isStopped(scope: HoldScope, change: Partial<Holdable> = {}, holdable = true): boolean {
  return stops(holdOver(scope), { ...job, ...change }, holdable, labelNames, 5)
}

test('a hold lasts until it is lifted, or ends by itself at its time', () => {
  assert.equal(isActive(holdOver({}), Number.MAX_SAFE_INTEGER), true)
  assert.equal(isActive(holdOver({}, 10), 9), true)
  assert.equal(isActive(holdOver({}, 10), 10), false)
  assert.equal(stops(holdOver({ entity: 7 }, 10), job, true, labelNames, 10), false)
})

test('each thing that a hold names must match', () => {
  assert.equal(isStopped({ machine: 'ingest_job' }), true)
  assert.equal(isStopped({ machine: 'ingest_batch' }), false)
  assert.equal(isStopped({ state: 'pending' }), true)
  assert.equal(isStopped({ state: 'recording' }), false)
  assert.equal(isStopped({ parent: 3 }), true)
  assert.equal(isStopped({ parent: 4 }), false)
  assert.equal(isStopped({ parent: 3 }, { parent: null }), false)
  assert.equal(isStopped({ entity: 7 }), true)
  assert.equal(isStopped({ entity: 8 }), false)
  assert.equal(isStopped({ entity: 7, state: 'recording' }), false)
  assert.equal(isStopped({ machine: 'ingest_job', state: 'pending', parent: 3, entity: 7 }), true)
})

test('a label is found by its name in the machine of the entity', () => {
  const maps = { label: { name: 'collection', value: 'maps' } }
  assert.equal(isStopped(maps), true)
  assert.equal(isStopped(maps, { labels: ['letters', 'maps'] }), false)
  assert.equal(isStopped({ label: { name: 'owner', value: 'maps' } }), false)
  assert.equal(isStopped({ label: { name: 'shelf', value: 'maps' } }), false)
  assert.equal(isStopped(maps, { machine: 'upload_item' }), false)
  assert.equal(isStopped(maps, { labels: [] }), false)
})

test('a hold by label stops what is holdable; one that names state, parent or entity stops what it names', () => {
  const label = { name: 'collection', value: 'maps' }
  assert.equal(isStopped({ label }, {}, false), false)
  assert.equal(isStopped({ machine: 'ingest_job' }, {}, false), false)
  assert.equal(isStopped({ label, state: 'pending' }, {}, false), true)
  assert.equal(isStopped({ label, parent: 3 }, {}, false), true)
  assert.equal(isStopped({ entity: 7 }, {}, false), true)
})
