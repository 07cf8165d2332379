import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chunkedJob } from 'sluice/chunked'
import { uploadBatch, uploadItem } from 'sluice/upload'
import { delivery, parcel } from '../../../examples/machines.ts'
import { actionsOf, isRunningWithErrors, type MachineShape, needsAttention, stateText, toneOf } from './tone.ts'

const shape = (machine: unknown) => machine as MachineShape

test('states are coloured by what the machine says of them', () => {
  const tones = (machine: MachineShape) =>
    Object.fromEntries(Object.keys(machine.states).map((state) => [state, toneOf(machine, state)]))
  assert.deepEqual(tones(shape(uploadBatch)), {
    initial_state: 'active',
    uploaded: 'active',
    validated: 'waiting',
    extracting: 'active',
    processing: 'active',
    completed: 'good',
    failed: 'bad',
    partially_completed: 'warn',
  })
  assert.equal(toneOf(shape(uploadItem), 'skipped'), 'ended')
  assert.equal(toneOf(shape(uploadItem), 'failed'), 'bad')
  assert.equal(toneOf(shape(chunkedJob), 'cancelled'), 'ended')
})

test('no state is coloured by its name', () => {
  assert.equal(toneOf(undefined, 'failed'), 'waiting')
  assert.equal(toneOf(undefined, 'constructor'), 'waiting')
  const states = {
    error: { title: 'error', purpose: '' },
    completed: { title: 'completed', purpose: '', outcome: 'neutral' },
    cancelled: { title: 'cancelled', purpose: '', outcome: 'success' },
    done: { title: 'done', purpose: '', outcome: 'failure' },
  }
  const settled = ['completed', 'cancelled', 'done']
  const odd = { ...chunkedJob, states, settled, final: settled, edges: [] } as unknown as MachineShape
  assert.deepEqual(
    Object.keys(states).map((state) => toneOf(odd, state)),
    ['waiting', 'ended', 'good', 'bad'],
  )
  assert.deepEqual(
    Object.keys(states).filter((state) => needsAttention(odd, state)),
    ['done'],
  )
})

test('a delivery that lost parcels is not green, and needs attention', () => {
  const [batch, child] = [shape(delivery), shape(parcel)]
  assert.equal(toneOf(batch, 'partly_delivered'), 'warn')
  assert.ok(needsAttention(batch, 'partly_delivered'))
  assert.equal(toneOf(child, 'lost'), 'bad')
  assert.equal(toneOf(child, 'arrived'), 'good')
})

test('a job with errors is shown as running', () => {
  assert.ok(isRunningWithErrors(shape(chunkedJob), 'errored'))
  assert.equal(stateText(shape(chunkedJob), 'errored'), 'running, with errors')
  assert.equal(toneOf(shape(chunkedJob), 'errored'), 'warn')
  assert.equal(stateText(shape(uploadBatch), 'partially_completed'), 'partially completed')
})

test('each action is offered once, with all its edges', () => {
  const actions = actionsOf(shape(uploadBatch))
  assert.deepEqual(
    actions.map(({ action }) => action),
    ['mark_failed', 'retry_batch', 'retry_failed_items', 'notify'],
  )
  assert.equal(actions[0]?.edges.length, 5)
})
