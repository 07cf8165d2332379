import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Host } from './host.ts'
import { instantOf, momentOf, relativeOf, shortMomentOf, withMoments } from './moment.ts'

const now = new Date(2026, 10, 18, 20, 3, 5, 42).getTime()
const reader = (isRead: boolean) =>
  ({ terminal: { isRead }, clock: { now: () => now } }) as unknown as Pick<Host, 'terminal' | 'clock'>

test('a person reads a local time and how long ago it was', () => {
  const person = reader(true)
  assert.equal(momentOf(now - 185_000, person), '2026-11-18 20:00:00 (3 min ago)')
  assert.equal(shortMomentOf(now - 185_000, person), '3 min ago')
  assert.equal(shortMomentOf(now - 5 * 86_400_000, person), '2026-11-13 20:03')
  assert.equal(instantOf(now, person), '2026-11-18 20:03:05.042')
  const iso = new Date(now - 12_000).toISOString()
  assert.equal(withMoments(`It is sent since ${iso}.`, person), 'It is sent since 2026-11-18 20:02:53 (12 s ago).')
})

test('a program reads ISO 8601', () => {
  const program = reader(false)
  const iso = new Date(now).toISOString()
  for (const text of [momentOf(now, program), shortMomentOf(now, program), instantOf(now, program)])
    assert.equal(text, iso)
  assert.equal(withMoments(`since ${iso}.`, program), `since ${iso}.`)
  assert.deepEqual(
    [null, undefined, 'soon', 9e15].map((time) => momentOf(time, program)),
    ['–', '–', '–', '–'],
  )
})

test('distances are rough, and tell what is to come', () => {
  const distances = [-400, -12_000, -185_000, -7_800_000, -200_000_000, 90_000]
  assert.deepEqual(distances.map(relativeOf), [
    'now',
    '12 s ago',
    '3 min ago',
    '2 h 10 min ago',
    '2 days ago',
    'in 1 min',
  ])
})
