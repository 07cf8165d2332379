import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { type PoisonOrder, poisonStoreName } from './crash/poison.ts'
import { Scene } from './crash/scene.ts'
import { durableStore } from './durable-store.ts'

test('an entity that ends its process fails at last, and none of its 199 neighbours does', async (t) => {
  await using scene = new Scene('poison')
  const order: PoisonOrder = { folder: scene.folder, count: 200, poison: 137 }
  // The group of suspects halves at each death (200, 100, 50, 25, 12, 6, 3), then the poison dies alone three times.
  const deathsMax = 14
  let deaths = 0
  for (; ; deaths += 1) {
    const { code, signal, errors } = await scene.start(new URL('./crash/poison.ts', import.meta.url), order).ended()
    if (code === 0) break
    assert.equal(signal, 'SIGKILL', errors)
    assert.ok(deaths < deathsMax, `It has killed ${deaths + 1} processes and goes on.`)
  }
  t.diagnostic(`${deaths} processes died`)
  assert.ok(deaths >= 3, `${deaths} deaths are fewer than its attempts.`)
  const store = durableStore(join(scene.folder, poisonStoreName))
  try {
    const { entities } = await store.list({ limit: 1_000 })
    assert.equal(entities.length, order.count)
    const poisoned = entities.filter(({ data }) => JSON.parse(data).number === order.poison)
    assert.deepEqual(
      poisoned.map(({ state, owner }) => [state, owner]),
      [['failed', null]],
    )
    assert.match(poisoned[0]?.error ?? '', /attempts are spent/)
    const neighbours = entities.filter((entity) => !poisoned.includes(entity))
    assert.deepEqual(
      neighbours.filter(({ state, owner }) => state !== 'completed' || owner !== null),
      [],
    )
    assert.deepEqual(await store.recount([null], null), [])
  } finally {
    await store.close()
  }
})
