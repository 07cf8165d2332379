import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { actionsOf, chooseRun, decide, decideIdle, type Occurrence } from './decide.ts'
import type { Entity } from './entity.ts'
import { isSluiceError } from './errors.ts'
import { type Facts, type Implementation, implement } from './implementation.ts'
import { emptyLane, type Lane } from './lane.ts'
import { defineMachine } from './machine.ts'
import { waitIn } from './path.ts'

const at = 1_000_000

function anEntity(state: string, changes: Partial<Entity> = {}): Entity {
  return {
    id: 7,
    machine: 'm',
    version: 1,
    state,
    born: state,
    seq: 3,
    epoch: 5,
    generation: 0,
    settled: false,
    attempts: 1,
    suspect: 0,
    parent: null,
    lane: 'm@1',
    source: null,
    ordinal: null,
    labels: [],
    priority: 0,
    data: '{}',
    wait: { for: 'nothing' },
    request: null,
    owner: 1,
    stopped: false,
    spawned: 0,
    checkpoint: null,
    progress: null,
    reason: null,
    sums: null,
    error: null,
    key: null,
    createdAt: at - 1_000,
    createdBy: null,
    changedAt: at - 500,
    ...changes,
  }
}

const facts: Facts = { now: at, random: 0, lanes: null, holds: [], input: null, actor: null, reason: null, error: null }

function aLane(name: string, changes: Partial<Lane> = {}): Lane {
  return { ...emptyLane(7, name, 'item', 1, []), ...changes }
}

function decided(
  implementation: Implementation,
  entity: Entity,
  occurrence: Occurrence,
  more: Partial<Facts> = {},
  attempts = 1,
) {
  return decide(implementation, entity, JSON.parse(entity.data), attempts, occurrence, { ...facts, ...more }, 100)
}

const pathOf = (decision: { hops: readonly { transition: string; to: string }[] }) =>
  decision.hops.map((hop) => `${hop.transition}>${hop.to}`).join(' ')

describe('a processor returned', () => {
  const machine = defineMachine({
    name: 'm',
    version: 1,
    initial: ['uploaded'],
    settled: ['stored', 'failed'],
    final: ['stored'],
    states: { uploaded: 'u', checked: 'c', big: 'b', stored: 's', failed: 'f' },
    policies: { read: { attemptsMax: 3, backoff: { firstMs: 100, factor: 2, maxMs: 1_000, jitter: 0.5 } } },
    transitions: {
      validate: { from: 'uploaded', to: 'checked', on: 'done', processor: 'read', ensure: 'valid', assign: 'stamp' },
      set_aside: { from: 'checked', to: 'big', on: 'done', when: 'isBig', inline: true },
      keep: { from: 'checked', to: 'stored', on: 'done', inline: true },
      fail: { from: 'uploaded', to: 'failed', on: 'fail', assign: 'note' },
      look_again: { from: 'big', to: 'checked', on: 'action', action: 'accept' },
      drop: { from: 'big', to: 'failed', on: 'action', when: 'isBig' },
      reopen: { from: 'failed', to: 'uploaded', on: 'action' },
    },
  })
  const implementation = implement(machine, {
    processors: { read: () => undefined },
    criteria: {
      valid: (entity) => (entity.data as { size?: number }).size !== undefined || 'size is missing',
      isBig: (entity) => (entity.data as { size: number }).size > 10,
    },
    assigns: {
      stamp: (entity, { now }) => ({ data: { ...(entity.data as object), at: now }, sums: { bytes: 1 } }),
      note: (entity, { error }) => ({ data: { ...(entity.data as object), error } }),
    },
  })
  const validate = machine.edges.find((edge) => edge.name === 'validate')!

  test('its edge is taken, then the inline edges, as one move', () => {
    const decision = decided(implementation, anEntity('uploaded'), { cause: 'done', edge: validate, data: { size: 1 } })
    assert.equal(pathOf(decision), 'validate>checked keep>stored')
    assert.deepEqual(decision.data, { size: 1, at })
    assert.equal(decision.settled, true)
    assert.deepEqual(decision.wait, { for: 'nothing' })
    assert.deepEqual(decision.change.sums, { bytes: 1 })
    assert.equal(decision.attempts, 'reset')
  })

  test('an inline edge with a criterion is chosen by the data that the hop before left', () => {
    const decision = decided(implementation, anEntity('uploaded'), {
      cause: 'done',
      edge: validate,
      data: { size: 11 },
    })
    assert.equal(pathOf(decision), 'validate>checked set_aside>big')
  })

  test('`ensure` that does not hold is a failure with its reason', () => {
    const decision = decided(implementation, anEntity('uploaded'), { cause: 'done', edge: validate, data: {} })
    assert.equal(pathOf(decision), 'fail>failed')
    assert.equal(decision.reason, 'size is missing')
    assert.deepEqual(decision.data, { error: 'size is missing' })
  })

  test('a retry without an edge keeps the state and waits for the backoff', () => {
    const decision = decided(
      implementation,
      anEntity('uploaded'),
      { cause: 'retry', error: 'busy', processor: 'read' },
      {},
      2,
    )
    assert.equal(decision.hops.length, 0)
    assert.deepEqual(decision.wait, { for: 'run', at: at + 200 })
    assert.equal(decision.error, 'busy')
    assert.equal(decision.attempts, 'stay')
  })

  test('a retry with a delay of its own waits that long', () => {
    const decision = decided(implementation, anEntity('uploaded'), {
      cause: 'retry',
      error: 'busy',
      delayMs: 7,
      processor: 'read',
    })
    assert.deepEqual(decision.wait, { for: 'run', at: at + 7 })
  })

  test('the last attempt that ends in an error fails', () => {
    const decision = decided(
      implementation,
      anEntity('uploaded'),
      { cause: 'retry', error: 'busy', processor: 'read' },
      {},
      3,
    )
    assert.equal(pathOf(decision), 'fail>failed')
    assert.deepEqual([decision.reason, decision.error], ['attempts spent', 'After 3 of 3 attempts: busy'])
  })

  test('a poll gives its attempt back', () => {
    const decision = decided(implementation, anEntity('uploaded'), { cause: 'poll', afterMs: 60_000 })
    assert.deepEqual(decision.wait, { for: 'run', at: at + 60_000 })
    assert.equal(decision.attempts, 'back')
  })

  test('an action that is not there says which are', () => {
    assert.throws(
      () => decided(implementation, anEntity('big'), { cause: 'action', action: 'delete' }),
      (error) =>
        isSluiceError(error, 'conflict') &&
        /is big; it cannot delete\. Allowed now: accept, drop\./.test(error.message),
    )
  })

  test('an action whose criterion does not hold says why', () => {
    const entity = anEntity('big', { data: '{"size":1}' })
    assert.throws(
      () => decided(implementation, entity, { cause: 'action', action: 'drop' }),
      /cannot drop now: isBig does not hold/,
    )
    const choices = actionsOf(implementation, entity, { size: 1 }, facts)
    assert.deepEqual(
      choices.map((choice) => [choice.action, choice.refusal]),
      [
        ['accept', null],
        ['drop', 'isBig does not hold'],
      ],
    )
  })

  test('an edge is found by its action, and by the state it leads to', () => {
    const entity = anEntity('big', { data: '{"size":1}' })
    assert.equal(
      pathOf(decided(implementation, entity, { cause: 'action', action: 'accept', to: 'checked' })),
      'look_again>checked keep>stored',
    )
    assert.throws(
      () => decided(implementation, entity, { cause: 'action', action: 'accept', to: 'stored' }),
      /cannot accept to stored/,
    )
  })

  test('leaving a settled state begins a new generation without the old failure', () => {
    const entity = anEntity('failed', { settled: true, generation: 2, reason: 'busy', error: 'busy' })
    const decision = decided(implementation, entity, { cause: 'action', action: 'reopen' })
    assert.equal(decision.generation, 3)
    assert.equal(decision.reason, null)
    assert.equal(decision.error, null)
    assert.deepEqual(decision.wait, { for: 'run', at })
  })

  test('a criterion that throws does not hold, and says what it threw', () => {
    const entity = anEntity('big', { data: 'null' })
    assert.throws(() => decided(implementation, entity, { cause: 'action', action: 'drop' }), /isBig threw: /)
  })
})

describe('over children', () => {
  const machine = defineMachine({
    name: 'm',
    version: 1,
    initial: ['one'],
    settled: ['done', 'failed'],
    final: ['done'],
    watches: ['failed'],
    states: { one: 'working', done: 'd', failed: 'f' },
    transitions: {
      give_up: { from: 'one', to: 'failed', on: 'children', when: 'anyFailed', children: 'rest' },
      advance: { from: 'one', to: 'one', on: 'children', when: 'stepDone', assign: 'next' },
      finish: { from: 'one', to: 'done', on: 'children', when: 'lastDone' },
      cancel: { from: 'one', to: 'failed', on: 'action', children: 'stop' },
      too_late: { from: 'one', to: 'failed', on: 'time', afterMs: 60_000 },
    },
  })
  const stepOf = (data: unknown) => (data as { step: number }).step
  const openIn = (lanes: readonly Lane[] | null, step: number) =>
    lanes?.find((lane) => lane.name === `${step}`)?.open ?? 0
  const implementation = implement(machine, {
    criteria: {
      anyFailed: (_entity, { lanes }) => (lanes ?? []).some((lane) => (lane.counts.failed ?? 0) > 0),
      stepDone: ({ data }, { lanes }) => stepOf(data) < 5 && openIn(lanes, stepOf(data)) === 0,
      lastDone: ({ data }, { lanes }) => stepOf(data) === 5 && openIn(lanes, 5) === 0,
    },
    assigns: { next: ({ data }) => ({ data: { step: stepOf(data) + 1 }, open: [`${stepOf(data) + 1}`] }) },
  })

  test('any number of empty lanes is passed in one decision', () => {
    const lanes = [aLane('1'), aLane('4', { open: 2, total: 2, counts: { ready: 2 } })]
    const decision = decided(implementation, anEntity('one', { data: '{"step":1}' }), { cause: 'children' }, { lanes })
    assert.equal(pathOf(decision), 'advance>one advance>one advance>one')
    assert.deepEqual(decision.change.open, ['2', '3', '4'])
    assert.deepEqual(decision.data, { step: 4 })
    assert.deepEqual(decision.wait, { for: 'children', at })
  })

  test('all lanes empty: through to the end', () => {
    const decision = decided(
      implementation,
      anEntity('one', { data: '{"step":1}' }),
      { cause: 'children' },
      { lanes: [] },
    )
    assert.equal(decision.state, 'done')
    assert.equal(decision.hops.length, 5)
  })

  test('the first sibling that holds is taken', () => {
    const lanes = [aLane('1', { counts: { failed: 1 } })]
    const decision = decided(implementation, anEntity('one', { data: '{"step":1}' }), { cause: 'children' }, { lanes })
    assert.equal(pathOf(decision), 'give_up>failed')
    assert.equal(decision.lanes, 'rest')
  })

  test('none holds: it waits on, and its timer with it', () => {
    const lanes = [aLane('1', { open: 1 })]
    const decision = decided(implementation, anEntity('one', { data: '{"step":1}' }), { cause: 'children' }, { lanes })
    assert.equal(decision.hops.length, 0)
    assert.deepEqual(decision.wait, { for: 'children', at: at - 500 + 60_000 })
  })

  test('a timer is taken when its time has come, not before', () => {
    const entity = anEntity('one', { data: '{"step":1}' })
    assert.equal(decided(implementation, entity, { cause: 'time' }).hops.length, 0)
    assert.equal(pathOf(decided(implementation, entity, { cause: 'time' }, { now: at + 60_000 })), 'too_late>failed')
  })

  test('a cancel says what becomes of the children', () => {
    assert.equal(decided(implementation, anEntity('one'), { cause: 'action', action: 'cancel' }).lanes, 'stop')
  })
})

describe('edges whose processor must run first', () => {
  const machine = defineMachine({
    name: 'm',
    version: 1,
    initial: ['open'],
    settled: ['closed', 'failed'],
    final: ['closed'],
    states: { open: 'o', closed: 'c', failed: 'f' },
    transitions: {
      close: { from: 'open', to: 'closed', on: 'children', processor: 'report' },
      mark_failed: { from: 'open', to: 'failed', on: 'action', processor: 'capture' },
      fail: { from: 'open', to: 'failed', on: 'fail' },
      reopen: { from: 'failed', to: 'open', on: 'action' },
    },
  })
  const implementation = implement(machine, { processors: { report: () => undefined, capture: () => undefined } })

  test('an unguarded edge over children waits for the last one', () => {
    const open = decided(implementation, anEntity('open'), { cause: 'children' }, { lanes: [aLane('x', { open: 1 })] })
    assert.equal(open.request, null)
    const settled = decided(implementation, anEntity('open'), { cause: 'children' }, { lanes: [aLane('x')] })
    assert.equal(settled.request?.name, 'close')
    assert.equal(settled.hops.length, 0)
    assert.deepEqual(settled.wait, { for: 'run', at })
  })

  test('what was requested is what runs', () => {
    const request = {
      edge: 'mark_failed',
      actor: 'ann',
      role: null,
      reason: null,
      requestId: null,
      input: null,
      read: null,
    }
    assert.equal(chooseRun(implementation, anEntity('open', { request }), {}, facts)?.name, 'mark_failed')
    assert.equal(chooseRun(implementation, anEntity('open'), {}, facts), null)
    assert.deepEqual(decideIdle(implementation, anEntity('open'), facts).wait, { for: 'children', at: null })
  })
})

describe('what a state waits for', () => {
  const chunk = defineMachine({
    name: 'chunk',
    version: 1,
    initial: ['ready', 'gate_waiting', 'poll_waiting'],
    settled: ['completed', 'failed'],
    final: ['completed'],
    parent: 'job',
    states: {
      ready: 'r',
      gate_waiting: 'g',
      poll_waiting: 'p',
      queued: 'q',
      in_progress: 'i',
      error: 'e',
      completed: { purpose: 'c', retentionMs: 1_000 },
      failed: 'f',
    },
    transitions: {
      open_gate: { from: 'gate_waiting', to: 'ready', on: 'gate' },
      poll_again: { from: 'poll_waiting', to: 'ready', on: 'time', afterMs: 60_000 },
      queue: { from: 'ready', to: 'queued', on: 'claim' },
      start: { from: ['queued', 'error'], to: 'in_progress', on: 'claim' },
      complete: { from: 'in_progress', to: 'completed', on: 'done', processor: 'step' },
      try_again: { from: 'in_progress', to: 'error', on: 'retry' },
      poll_later: { from: 'in_progress', to: 'poll_waiting', on: 'poll' },
      fail: { from: 'in_progress', to: 'failed', on: 'fail' },
    },
  })
  const implementation = implement(chunk, { processors: { step: () => undefined } })

  test('each by its edges', () => {
    assert.deepEqual(waitIn(chunk, 'ready', false, at), { for: 'run', at })
    assert.deepEqual(waitIn(chunk, 'gate_waiting', false, at), { for: 'run', at, gated: true })
    assert.deepEqual(waitIn(chunk, 'poll_waiting', false, at), { for: 'run', at: at + 60_000 })
    assert.deepEqual(waitIn(chunk, 'failed', true, at), { for: 'nothing' })
    assert.deepEqual(waitIn(chunk, 'completed', true, at), { for: 'purge', at: at + 1_000 })
    assert.deepEqual(waitIn(chunk, 'completed', false, at), { for: 'nothing' })
  })

  test('poll and retry with an edge wait in the state they lead to', () => {
    const poll = decided(implementation, anEntity('in_progress'), { cause: 'poll', afterMs: 5 })
    assert.equal(poll.state, 'poll_waiting')
    assert.deepEqual(poll.wait, { for: 'run', at: at + 5 })
    const retry = decided(implementation, anEntity('in_progress'), {
      cause: 'retry',
      error: 'x',
      delayMs: 9,
      processor: 'step',
    })
    assert.equal(retry.state, 'error')
    assert.deepEqual(retry.wait, { for: 'run', at: at + 9 })
  })
})

test('a machine that goes round in circles is stopped, loudly', () => {
  const machine = defineMachine({
    name: 'm',
    version: 1,
    initial: ['a'],
    settled: ['b'],
    final: ['b'],
    states: { a: 'a', b: 'b' },
    transitions: {
      round: { from: 'a', to: 'a', on: 'children', when: 'always' },
      out: { from: 'a', to: 'b', on: 'action' },
    },
  })
  const implementation = implement(machine, { criteria: { always: () => true } })
  assert.throws(
    () => decided(implementation, anEntity('a'), { cause: 'children' }, { lanes: [] }),
    /took 100 hops in one move/,
  )
})
