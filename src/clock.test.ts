import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Clock, delayMsMax, sleep, systemClock } from './clock.ts'

test('a wall clock that is set back stands still until it has caught up', (context) => {
  const readings = [100, 250, 40, 249, 251]
  context.mock.method(globalThis.Date, 'now', () => readings.shift())
  const clock = systemClock()
  assert.deepEqual(
    Array.from({ length: 5 }, () => clock.now()),
    [100, 250, 250, 250, 251],
  )
})

test('after calls back once, later, unless it is cancelled', async () => {
  const clock = systemClock()
  const calls: string[] = []
  const cancel = clock.after(0, () => calls.push('cancelled'))
  cancel()
  await new Promise<void>((resolve) => {
    clock.after(-5, () => {
      calls.push('kept')
      resolve()
    })
    calls.push('asked')
  })
  assert.deepEqual(calls, ['asked', 'kept'])
  cancel()
})

test('a delay beyond what a timer can hold is cut, not taken as none', async () => {
  const clock = systemClock()
  let called = false
  const cancel = clock.after(delayMsMax * 4, () => {
    called = true
  })
  await sleep(clock, 5)
  cancel()
  assert.equal(called, false)
})

test('soon lets what is pending have its turn', async () => {
  const clock = systemClock()
  const order: string[] = []
  const soon = new Promise<void>((resolve) =>
    clock.soon(() => {
      order.push('soon')
      resolve()
    }),
  )
  await Promise.resolve().then(() => order.push('pending'))
  await soon
  assert.deepEqual(order, ['pending', 'soon'])
})

test('random is in [0, 1)', () => {
  const clock = systemClock()
  for (let turn = 0; turn < 100; turn++) {
    const random = clock.random()
    assert.ok(random >= 0 && random < 1)
  }
})

// ---- Sleep, by a clock that is moved by hand ----

interface HandClock extends Clock {
  readonly timers: Set<{ readonly at: number; readonly callback: () => void }>
  move(byMs: number): void
}

function handClock(): HandClock {
  let now = 0
  const timers: HandClock['timers'] = new Set()
  return {
    timers,
    now: () => now,
    after(delayMs, callback) {
      const timer = { at: now + delayMs, callback }
      timers.add(timer)
      return () => timers.delete(timer)
    },
    soon: (callback) => callback(),
    random: () => 0,
    move(byMs) {
      now += byMs
      for (const timer of timers) if (timer.at <= now) timer.callback()
    },
  }
}

test('sleep ends when its time has come, and leaves no timer behind', async () => {
  const clock = handClock()
  let isAwake = false
  const sleeping = sleep(clock, 10).then(() => {
    isAwake = true
  })
  clock.move(9)
  await Promise.resolve()
  assert.equal(isAwake, false)
  clock.move(1)
  await sleeping
  assert.equal(clock.timers.size, 0)
})

test('sleep ends at once when it is aborted, and cancels its timer', async () => {
  const clock = handClock()
  const abort = new AbortController()
  const sleeping = sleep(clock, 10, abort.signal)
  assert.equal(clock.timers.size, 1)
  abort.abort()
  await sleeping
  assert.equal(clock.timers.size, 0)
})

test('sleep with a signal that is aborted already does not begin', async () => {
  const clock = handClock()
  await sleep(clock, 10, AbortSignal.abort())
  assert.equal(clock.timers.size, 0)
})

test('sleep that ended by itself listens no longer', async () => {
  const clock = handClock()
  const abort = new AbortController()
  const removed: string[] = []
  const { removeEventListener } = abort.signal
  abort.signal.removeEventListener = (...given: Parameters<typeof removeEventListener>) => {
    removed.push(given[0])
    removeEventListener.apply(abort.signal, given)
  }
  const sleeping = sleep(clock, 10, abort.signal)
  clock.move(10)
  await sleeping
  assert.deepEqual(removed, ['abort'])
})
