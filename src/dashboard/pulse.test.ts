import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Clock, systemClock } from '../clock.ts'
import { implement } from '../implementation.ts'
import { openSluice } from '../index.ts'
import { defineMachine } from '../machine.ts'
import { done } from '../outcome.ts'
import { memoryStore } from '../store/memory/index.ts'
import { type Beat, Pulse } from './pulse.ts'

/** Two machines whose hops have the same names: only looking tells them apart. */
const machineOf = (name: string) =>
  defineMachine({
    name,
    version: 1,
    initial: ['new'],
    settled: ['finished', 'failed'],
    final: ['finished', 'failed'],
    states: { new: 'Begun.', finished: 'Over.', failed: 'Broken.' },
    transitions: {
      finish: { from: 'new', to: 'finished', on: 'done', processor: 'work' },
      fail: { from: 'new', to: 'failed', on: 'fail' },
    },
  })

/** Real time, save that each delay is over at once when the test says so. */
function handClock(): Clock & { fire(): void; readonly pending: number } {
  const real = systemClock()
  const waiting = new Set<() => void>()
  return {
    ...real,
    after(_delayMs, callback) {
      waiting.add(callback)
      return () => waiting.delete(callback)
    },
    fire() {
      for (const callback of [...waiting]) {
        waiting.delete(callback)
        callback()
      }
    },
    get pending() {
      return waiting.size
    },
  }
}

test('all that happened between two beats is told as sums, by machine and hop', async () => {
  const implementations = ['one', 'other'].map((name) =>
    implement(machineOf(name), { processors: { work: async () => done({}) }, criteria: {}, assigns: {} }),
  )
  const sluice = await openSluice({ store: memoryStore(), implementations })
  const clock = handClock()
  const pulse = new Pulse({ control: sluice, clock })
  try {
    const sum = { moves: 0, births: 0, edges: {} as Record<string, number> }
    const heard = (beat: Beat) => {
      sum.moves += beat.moves
      sum.births += beat.births
      for (const [edge, count] of Object.entries(beat.edges)) sum.edges[edge] = (sum.edges[edge] ?? 0) + count
    }
    const stop = pulse.listen(heard)
    assert.ok(stop)
    // The reader begins at the end of the feed; this makes sure that it has.
    await sluice.totals()
    const ids = [
      ...(await sluice.submitMany('one', [{ data: {} }, { data: {} }])),
      ...(await sluice.submitMany('other', [{ data: {} }])),
    ]
    for (const { id } of ids) await sluice.settled(id)
    while (sum.moves < 3) {
      clock.fire()
      await new Promise((resolve) => setImmediate(resolve))
    }
    assert.deepEqual(sum, {
      moves: 3,
      births: 3,
      edges: { 'one finish new finished': 2, 'other finish new finished': 1 },
    })
    assert.equal(
      pulse.history().seconds.reduce((all, { moves }) => all + moves, 0),
      3,
    )
    stop()
    // Nobody has come back in time: the reader ends, and with it what it knew.
    clock.fire()
    assert.deepEqual(pulse.history().seconds, [])
  } finally {
    pulse.close()
    await sluice.stop()
  }
})

test('there is an end to listeners', () => {
  const never = { async *watch() {}, machines: async () => [], get: async () => assert.fail() }
  const pulse = new Pulse({ control: never, clock: handClock() })
  const stops = Array.from({ length: 1_000 }, () => pulse.listen(() => {}))
  assert.ok(stops.every((stop) => stop !== null))
  assert.equal(
    pulse.listen(() => {}),
    null,
  )
  stops[0]?.()
  assert.notEqual(
    pulse.listen(() => {}),
    null,
  )
  pulse.close()
  assert.equal(
    pulse.listen(() => {}),
    null,
  )
})

test('a page that begins to listen is told the beats of the last ten seconds and since when they are known', async () => {
  const implementation = implement(machineOf('one'), {
    processors: { work: async () => done({}) },
    criteria: {},
    assigns: {},
  })
  const sluice = await openSluice({ store: memoryStore(), implementations: [implementation] })
  const clock = handClock()
  const pulse = new Pulse({ control: sluice, clock })
  try {
    let moves = 0
    const begun = clock.now()
    pulse.listen((beat) => {
      moves += beat.moves
    })
    await sluice.totals()
    const [first] = await sluice.submitMany('one', [{ data: {} }])
    await sluice.settled(first!.id)
    while (moves < 1) {
      clock.fire()
      await new Promise((resolve) => setImmediate(resolve))
    }
    const { since, now, beats } = pulse.history()
    assert.ok(since >= begun && since <= now)
    assert.deepEqual(
      beats.filter(({ edges }) => Object.keys(edges).length > 0).map(({ edges }) => edges),
      [{ 'one finish new finished': 1 }],
    )
  } finally {
    pulse.close()
    await sluice.stop()
  }
})
