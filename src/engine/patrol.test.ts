import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Entity } from '../entity.ts'
import { Patrol } from './patrol.ts'
import type { Running } from './running.ts'
import { RunningSet } from './running-set.ts'
import type { Services } from './services.ts'

test('with more runs than one question may name, the ended one is found wherever it stands', async () => {
  const running = new RunningSet()
  const all = [1, 2, 3, 4, 5].map(
    (id) => ({ place: -1, startedAt: id, entity: { id, epoch: 1, seq: 0 } as Entity }) as Running,
  )
  for (const one of all) running.add(one)
  const asked: number[][] = []
  const services = {
    limits: { pageMax: 2 },
    log: { debug: (fields: unknown) => assert.fail(JSON.stringify(fields)) },
    store: {
      time: () => 0,
      // Somebody else has the last one by now.
      async get(ids: readonly number[]) {
        asked.push([...ids])
        return ids.map((id) => ({ id, epoch: id === 5 ? 2 : 1, seq: 0, owner: 7, stopped: false }))
      },
    },
  } as unknown as Services
  const dropped: number[] = []
  const patrol = new Patrol(services, running, {
    id: () => 7,
    watch() {},
    drop: ({ entity }) => void dropped.push(entity.id),
    timeOut() {},
    giveBack() {},
  })
  for (let look = 0; look < 4; look += 1) await patrol.lookForEnded()
  assert.deepEqual(asked, [[1, 2], [3, 4], [5], [1, 2]])
  assert.deepEqual(dropped, [5])
  asked.length = 0
  await patrol.lookForEnded(1)
  await patrol.lookForEnded(0)
  assert.deepEqual(asked, [[1]], 'Those that had begun by then, if there are any.')
})
