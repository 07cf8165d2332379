import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { Campaign, type Death } from '../crash/campaign.ts'
import { check } from '../crash/checker.ts'
import { crashExpectations } from '../crash/expectations.ts'
import { readJournals } from '../crash/journal.ts'
import { storeName } from '../crash/order.ts'
import { Random } from '../crash/random.ts'
import { Scene } from '../crash/scene.ts'
import { fewDeaths } from './crash-deaths.ts'

/** Each soon after an answer of the store: the process has said that it got it, and dies when it asks again. */
const deaths: readonly Death[] = [
  { kind: 'trap', point: 'create:before', nth: 2 },
  { kind: 'trap', point: 'claim:before', nth: 4 },
  { kind: 'trap', point: 'create:before', nth: 3 },
  { kind: 'trap', point: 'claim:before', nth: 7 },
  { kind: 'trap', point: 'commit:before', nth: 3 },
]

// No test of the test command: planted.test.ts runs it, with each bug that the crash checker must catch and once without.
test(fewDeaths, async () => {
  await using scene = new Scene('planted')
  const campaign = new Campaign(scene, 'file', new Random(1))
  for (const death of deaths) {
    await campaign.kill(death)
    assert.deepEqual(await lostSubmits(campaign.folder), [], 'acknowledged and lost')
  }
  assert.deepEqual(check(await campaign.settle(), crashExpectations), [])
})

/** What was acknowledged and is not there, before anybody can submit it again: that would hide the loss under the same id. */
async function lostSubmits(folder: string): Promise<readonly string[]> {
  const acknowledged = readJournals(folder).flatMap((note) =>
    note.kind === 'submit' && note.phase === 'ok' ? [{ key: note.key, id: note.id }] : [],
  )
  const ids = acknowledged.map(({ id }) => id)
  const store = sqliteStore({ file: join(folder, storeName) })
  try {
    const entities = await store.get(ids)
    const tombstones = await store.tombstones(ids)
    return acknowledged
      .filter(({ key }, index) => (entities[index] ?? tombstones[index])?.key !== key)
      .map(({ key, id }) => `${key} (${id})`)
  } finally {
    await store.close()
  }
}
