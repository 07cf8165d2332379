import assert from 'node:assert/strict'
import { test } from 'node:test'
import { delivery, parcel } from '../../../examples/machines.ts'
import type { Progress } from '../../control.ts'
import type { Machine } from '../../machine.ts'
import { exitOfEntity } from './outcome.ts'

const machines = [delivery, parcel] as readonly unknown[] as readonly Machine[]

function exitOf(state: string, outcomes: Partial<Progress['outcomes']> = {}, settled = true, machine = 'delivery') {
  const counts = { success: 0, failure: 0, attention: 0, neutral: 0, ...outcomes }
  return exitOfEntity(machines, { machine, version: 1, state, settled }, { outcomes: counts } as Progress)
}

test('the exit status follows the declared outcome, never the name of a state', () => {
  assert.equal(exitOf('delivered', { success: 9 }), 0)
  assert.equal(exitOf('delivered', { success: 9, failure: 1 }), 1)
  assert.equal(exitOf('delivered', { success: 9, attention: 1 }), 1)
  assert.equal(exitOf('partly_delivered'), 1)
  assert.equal(exitOf('failed'), 2)
  assert.equal(exitOf('lost', {}, true, 'parcel'), 2)
  assert.equal(exitOf('on_the_road', {}, false), 2, 'still open')
  assert.equal(exitOf('completed', {}, true, 'unknown'), 1, 'nothing says that it went well')
})
