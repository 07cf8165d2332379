import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Lane } from '../lane.ts'
import { emptyLane } from '../lane.ts'
import { progressOf } from './progress.ts'
import { Rates } from './rate.ts'
import { Registry } from './registry.ts'

const registry = new Registry([])
const entity = {
  ...{ id: 1, machine: 'batch', version: 1, data: '{}', state: 'open', settled: false, createdAt: 0, changedAt: 0 },
}

/** Asks for the progress of 10,000 children at each of these seconds, with so many settled by then. */
function askedAt(settledBy: readonly (readonly [second: number, settled: number])[]) {
  const rates = new Rates()
  let now = 0
  const services = { registry, store: { time: () => now }, troubles: { current: () => null } }
  const total = 10_000
  return settledBy.map(([second, settled]) => {
    now = second * 1_000
    const lane: Lane = {
      ...emptyLane(1, 'step', 'item', 1, []),
      total,
      open: total - settled,
      counts: { done: settled },
    }
    return progressOf(services as never, entity as never, [lane], rates)
  })
}

const every5s = (settledAt: (second: number) => number, until: number) =>
  Array.from({ length: until / 5 + 1 }, (_, index) => [index * 5, settledAt(index * 5)] as const)

test('an even rate gives one number and no band', () => {
  const last = askedAt(every5s((second) => second * 10, 60)).at(-1)!
  assert.deepEqual([last.ratePerSecond, last.etaMs], [10, 940_000])
  assert.deepEqual([last.etaLowMs, last.etaHighMs], [null, null])
})

test('a rate that varies gives a band around the number', () => {
  const uneven = (second: number) => (second <= 30 ? second * 5 : 150 + (second - 30) * 20)
  const last = askedAt(every5s(uneven, 60)).at(-1)!
  const { etaMs, etaLowMs, etaHighMs } = last
  assert.ok(etaLowMs !== null && etaMs !== null && etaHighMs !== null)
  assert.ok(etaLowMs < etaMs && etaMs < etaHighMs, JSON.stringify({ etaLowMs, etaMs, etaHighMs }))
  assert.deepEqual([etaLowMs, etaHighMs], [(last.open / 20) * 1_000, (last.open / 5) * 1_000])
})

test('there is no number before anything has settled, nor when nothing settles any more', () => {
  const [first] = askedAt([[0, 0]])
  assert.deepEqual([first?.ratePerSecond, first?.etaMs, first?.etaLowMs], [null, null, null])
  const stopped = askedAt(every5s((second) => Math.min(second, 30) * 10, 60))
  assert.ok(stopped[6]!.etaMs !== null, 'it still settles')
  assert.deepEqual([stopped.at(-1)!.etaMs, stopped.at(-1)!.etaLowMs], [null, null], 'since half a minute nothing does')
})

test('what is slow by nature has not stopped', () => {
  const slow = askedAt(every5s((second) => Math.floor(second / 30), 55)).at(-1)!
  assert.ok(slow.etaMs !== null, JSON.stringify(slow))
})
