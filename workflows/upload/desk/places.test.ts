import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ItemData } from '../item-data.ts'
import { placesOf } from './places.ts'

const item: ItemData = { batchId: 1, sourceType: 'BULK_UPLOAD', itemIndex: 0, file: 2, offset: 30, length: 5 }

test('places name entity, batch, file and bytes of each item, in order, also beyond 4 GiB', () => {
  const far = { ...item, batchId: 2 ** 40, offset: 9 * 1024 ** 3 }
  const { entities, batches, files, offsets, lengths } = placesOf([
    { entity: { id: 7 }, data: item },
    { entity: { id: 2 ** 41 }, data: far },
  ])
  assert.deepEqual([...entities], [7, 2 ** 41])
  assert.deepEqual([...batches], [1, 2 ** 40])
  assert.deepEqual([...files], [2, 2])
  assert.deepEqual([...offsets], [30, 9 * 1024 ** 3])
  assert.deepEqual([...lengths], [5, 5])
})

test('of nothing there are no places', () => {
  assert.equal(placesOf([]).entities.length, 0)
})
