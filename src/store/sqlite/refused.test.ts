import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import {
  aBirth,
  aChild,
  aMove,
  aRun,
  aWorker,
  manualClock,
  parcelMachine,
  shipmentMachine,
  waitForNothing,
} from '../../testing/builders.ts'
import { sqliteStore } from './index.ts'

test('what the database refuses of many rows at once is refused of that move alone, and leaves nothing', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-refused-'))
  const file = join(folder, 'sluice.db')
  const store = sqliteStore({ file, clock: manualClock() })
  t.after(async () => {
    await store.close()
    await rm(folder, { recursive: true, force: true })
  })
  await store.migrate()
  await store.define([parcelMachine, shipmentMachine])
  // No value that we let through is refused by our own tables: a stranger's rule stands in for what we did not think of.
  const stranger = new DatabaseSync(file)
  stranger.exec("CREATE UNIQUE INDEX no_twins ON entity (data) WHERE data LIKE '%twin%'")
  stranger.close()
  await store.create('births', [aBirth(), aBirth(), aBirth()])
  const { id: worker } = await store.renew({ id: null, identity: aWorker(), leaseMs: 10_000 })
  const { entities } = await store.claim({ worker, runs: [aRun()], limit: 10, bytes: 2 ** 30 })
  const moves = entities.map((parent, position) =>
    aMove(parent, {
      wait: waitForNothing,
      children: Array.from({ length: 30 }, (_, ordinal) =>
        aChild(parent, ordinal, { data: position === 1 && ordinal >= 28 ? '"twin"' : `${ordinal}` }),
      ),
    }),
  )
  const verdicts = await store.commit('moves', moves)
  assert.deepEqual(
    verdicts.map(({ kind }) => kind),
    ['saved', 'refused', 'saved'],
  )
  assert.deepEqual(await store.commit('moves', moves), verdicts, 'asked again, it is answered the same')
  const lanes = await store.lanes(entities.map(({ id }) => id))
  assert.deepEqual(
    lanes.filter(({ total }) => total > 0).map(({ parent, total }) => [parent, total]),
    [
      [entities[0]!.id, 30],
      [entities[2]!.id, 30],
    ],
  )
  assert.deepEqual(await store.recount([null, ...entities.map(({ id }) => id)], null), [])
  const [, refused] = await store.get(entities.map(({ id }) => id))
  assert.equal(refused?.seq, entities[1]!.seq, 'it stands where it stood')
})
