import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Entity } from './entity.ts'
import { birthEvent, eventsOf, type MoveRecord } from './event.ts'

const claimed: MoveRecord = {
  entity: 7,
  seq: 1,
  epoch: 1,
  generation: 0,
  at: 50,
  cause: 'claim',
  hops: [
    { transition: 'open_gate', from: 'gate_waiting', to: 'ready' },
    { transition: 'queue', from: 'ready', to: 'queued' },
    { transition: 'start', from: 'queued', to: 'in_progress' },
  ],
  actor: 'worker 1',
  role: null,
  reason: null,
  requestId: 'r1',
  error: null,
}

test('a move of three hops is three events, each with what the move says of all', () => {
  const events = eventsOf(claimed)
  assert.deepEqual(
    events.map(({ hop, transition, from, to }) => [hop, transition, from, to]),
    [
      [0, 'open_gate', 'gate_waiting', 'ready'],
      [1, 'queue', 'ready', 'queued'],
      [2, 'start', 'queued', 'in_progress'],
    ],
  )
  for (const event of events) {
    const { hop: _hop, transition: _transition, from: _from, to: _to, ...rest } = event
    const { hops: _hops, ...record } = claimed
    assert.deepEqual(rest, record)
  }
})

test('the events of a move form a path', () => {
  const events = eventsOf(claimed)
  for (const [index, event] of events.entries()) if (index > 0) assert.equal(event.from, events[index - 1]?.to)
})

test('the first event comes from the row itself: the state it was born in, not the one it is in', () => {
  const entity = {
    id: 7,
    state: 'completed',
    born: 'gate_waiting',
    seq: 4,
    epoch: 3,
    generation: 1,
    createdAt: 40,
    createdBy: 'ann',
    changedAt: 90,
  } as Entity
  assert.deepEqual(birthEvent(entity), {
    entity: 7,
    seq: 0,
    hop: 0,
    at: 40,
    transition: 'create',
    from: null,
    to: 'gate_waiting',
    cause: 'create',
    generation: 0,
    epoch: 0,
    actor: 'ann',
    role: null,
    reason: null,
    requestId: null,
    error: null,
  })
})
