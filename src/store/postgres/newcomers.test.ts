import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../testing/builders.ts'
import { Newcomers } from './newcomers.ts'

function open() {
  const clock = manualClock()
  const told: number[] = []
  const newcomers = new Newcomers(clock, () => told.push(clock.now()))
  const from = clock.now()
  return { clock, newcomers, timesTold: () => told.map((at) => at - from) }
}

test('where nobody claims, others are told at once', () => {
  const { clock, newcomers } = open()
  assert.equal(newcomers.keep(1), false)
  newcomers.claiming()
  clock.advance(3_001)
  assert.equal(newcomers.keep(1), false, 'the last claim is long ago')
})

test('of what is claimed here in a moment others hear nothing', () => {
  const { clock, newcomers, timesTold } = open()
  newcomers.claiming()
  assert.ok(newcomers.keep(1) && newcomers.keep(2))
  newcomers.claimed([{ id: 1 }, { id: 7 }])
  clock.advance(1)
  newcomers.claimed([{ id: 2 }])
  clock.advance(10)
  assert.deepEqual(timesTold(), [])
})

test('of what is left others hear once, in two milliseconds', () => {
  const { clock, newcomers, timesTold } = open()
  newcomers.claiming()
  assert.ok(newcomers.keep(1))
  clock.advance(1)
  assert.ok(newcomers.keep(2))
  newcomers.claimed([{ id: 1 }])
  clock.advance(10)
  assert.deepEqual(timesTold(), [2])
  assert.ok(newcomers.keep(3))
  clock.advance(10)
  assert.deepEqual(timesTold(), [2, 13])
})

test('of many others hear at once', () => {
  const { newcomers } = open()
  newcomers.claiming()
  const kept = Array.from({ length: 70 }, (_, id) => newcomers.keep(id))
  assert.equal(kept.indexOf(false), 64)
})

test('nothing is told any more by one that was stopped', () => {
  const { clock, newcomers, timesTold } = open()
  newcomers.claiming()
  newcomers.keep(1)
  newcomers.stop()
  clock.advance(10)
  assert.deepEqual(timesTold(), [])
})
