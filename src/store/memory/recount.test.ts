import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultLimits } from '../../limits.ts'
import { nobody } from '../../store.ts'
import { aBirth, aChild, manualClock, waitForChildren } from '../../testing/builders.ts'
import { Memory } from './memory.ts'
import { recount } from './recount.ts'

test('a drift is named and mended, and the parent looks again', () => {
  const memory = new Memory(manualClock(), defaultLimits)
  const parent = memory.bear(aBirth({ wait: waitForChildren }), null, 0)
  memory.publish(parent, 0)
  memory.publish(memory.bear(aChild(1, 0), 1, 0), 0)
  const lane = memory.lanes.find(1, 'parcels')!
  assert.deepEqual(recount(memory, [null, 1], null, 0), [])
  memory.lanes.set(lane, { ...lane.lane, open: 3, counts: { lost: 3 } }, 0)
  const drift = {
    parent: 1,
    lane: 'parcels',
    said: { open: 3, 'counts.lost': 3, 'counts.ready': 0 },
    counted: { open: 1, 'counts.lost': 0, 'counts.ready': 1 },
  }
  assert.deepEqual(recount(memory, [null, 1], nobody, 0), [drift])
  assert.deepEqual(recount(memory, [null, 1], null, 0), [])
  assert.deepEqual([lane.lane.wake, [...memory.lanes.woken()]], [2, [1]])
})
