import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as realSleep } from 'node:timers/promises'
import { z } from 'zod'
import { implement } from '../../implementation.ts'
import { defineMachine } from '../../machine.ts'
import { done, fail, poll, retry } from '../../outcome.ts'
import { durationMs, durationText } from './duration.ts'
import { simulatedClock } from './simulated-clock.ts'
import { type TestKit, type TestKitOptions, testKit } from './test-kit.ts'

const job = defineMachine({
  name: 'job',
  version: 1,
  initial: ['ready', 'later'],
  settled: ['finished', 'failed', 'expired'],
  final: ['finished', 'expired'],
  states: {
    ready: 'Waits for its processor.',
    later: 'Waits for its timer.',
    working: 'The processor is through; the next one runs.',
    finished: { purpose: 'All is done.', retentionMs: 3_600_000 },
    failed: 'It went wrong for good.',
    expired: 'Nobody cared in time.',
  },
  transitions: {
    work: { from: 'ready', to: 'working', on: 'done', processor: 'work' },
    finish: { from: 'working', to: 'finished', on: 'done', processor: 'finish' },
    fail: { from: ['ready', 'working'], to: 'failed', on: 'fail' },
    expire: { from: 'later', to: 'expired', on: 'time', afterMs: 20 * 86_400_000 },
    resume: { from: 'failed', to: 'ready', on: 'action' },
  },
  data: z.object({ name: z.string().default('it') }),
  labels: ['name'],
  policies: { work: { timeoutMs: 600_000 } },
})

type Bindings = Parameters<typeof implement<{ name: string }, 'work' | 'finish', never, never>>[1]['processors']

function kitWith(processors: Partial<Bindings>, options: Partial<TestKitOptions> = {}): TestKit {
  const bound = { work: () => done(), finish: () => done(), ...processors }
  return testKit({ implementations: [implement(job, { processors: bound })], ...options })
}

async function pathOf(kit: TestKit, id: number): Promise<string> {
  return (await kit.control.history(id)).map(({ to }) => to).join(' -> ')
}

describe('the simulated clock', () => {
  test('stands still until it is moved, and runs what becomes due in order, each at its time', async () => {
    const clock = simulatedClock(1_000)
    const seen: string[] = []
    clock.after(30, () => seen.push(`c ${clock.now()}`))
    clock.after(10, () => {
      seen.push(`a ${clock.now()}`)
      clock.after(5, () => seen.push(`b ${clock.now()}`))
    })
    clock.after(10, () => seen.push(`also a ${clock.now()}`))
    const cancel = clock.after(20, () => seen.push('never'))
    cancel()
    await clock.advance(0)
    assert.deepEqual(seen, [])
    await clock.advance(29)
    assert.deepEqual(seen, ['a 1010', 'also a 1010', 'b 1015'])
    await clock.advance(1)
    assert.deepEqual(seen.at(-1), 'c 1030')
    assert.equal(clock.now(), 1_030)
  })

  test('lets promises finish between two timers', async () => {
    const clock = simulatedClock(0)
    const seen: number[] = []
    const loop = async () => {
      for (let round = 0; round < 3; round++) {
        await clock.sleep('1s')
        seen.push(clock.now())
      }
    }
    void loop()
    await clock.advance('1h')
    assert.deepEqual(seen, [1_000, 2_000, 3_000])
  })

  test('gives the same chances for the same seed', () => {
    const numbers = (seed: number) => {
      const clock = simulatedClock(0, seed)
      return [clock.random(), clock.random(), clock.random()]
    }
    assert.deepEqual(numbers(7), numbers(7))
    assert.notDeepEqual(numbers(7), numbers(8))
  })

  test('durations are read and written as people write them', () => {
    assert.equal(durationMs('1h30m'), 5_400_000)
    assert.equal(durationMs('250ms'), 250)
    assert.equal(durationText(5_400_000), '1h 30m')
    assert.throws(() => durationMs('soon'), /is no duration/)
    assert.throws(() => durationMs(-1), /is no duration/)
  })
})

describe('drain', () => {
  test('passes over backoffs and polls in no real time', async () => {
    let polls = 0
    await using kit = kitWith({
      work: (context) => (context.attempt < 4 ? retry('not yet') : done()),
      finish: () => (++polls < 50 ? poll(3_600_000) : done()),
    })
    const begin = kit.clock.now()
    const { id } = await kit.control.submit('job', {})
    await kit.drain()
    assert.equal(await pathOf(kit, id), 'ready -> working -> finished')
    const passedMs = kit.clock.now() - begin
    assert.ok(passedMs > 49 * 3_600_000 && passedMs < 50 * 3_600_000, `${passedMs}`)
  })

  test('passes over timers, and does not purge what a test wants to look at', async () => {
    await using kit = kitWith({})
    const short = await kit.control.submit('job', {})
    const long = await kit.control.submit('job', {}, { state: 'later' })
    await kit.drain()
    assert.equal(await pathOf(kit, long.id), 'later -> expired')
    // Twenty days have passed, so the hour that finished jobs are kept has, too.
    assert.equal((await kit.control.get(short.id)).purged, true)

    const kept = await kit.control.submit('job', {})
    await kit.drain()
    assert.equal((await kit.control.get(kept.id)).purged, false)
    await kit.advance('2h')
    assert.equal((await kit.control.get(kept.id)).purged, true)
  })

  test('comes to rest before a hold, and goes on where the hold ends by itself', async () => {
    await using kit = kitWith({})
    const scope = { label: { name: 'name', value: 'maps' } }
    const hold = await kit.control.hold(scope, { reason: 'disk', owner: 'ann' })
    const { id } = await kit.control.submit('job', { name: 'maps' })
    await kit.drain()
    assert.equal((await kit.control.explain(id)).kind, 'held')
    await kit.control.release(hold.id)
    await kit.drain()
    assert.equal((await kit.control.get(id)).state, 'finished')

    await kit.control.hold(scope, { reason: 'disk', owner: 'ann', until: kit.clock.now() + 86_400_000 })
    const other = await kit.control.submit('job', { name: 'maps' })
    await kit.drain()
    assert.equal((await kit.control.get(other.id)).state, 'finished')
  })

  test('waits in real time for what is real', async () => {
    await using kit = kitWith({
      async work() {
        await realSleep(30)
        return done()
      },
    })
    const { id } = await kit.control.submit('job', {})
    await kit.drain()
    assert.equal((await kit.control.get(id)).state, 'finished')
    assert.equal((await kit.control.history(id))[1]?.at, (await kit.control.get(id)).createdAt)
  })

  test('a processor that waits for nothing that can come is named', async () => {
    const kit = kitWith({ work: () => new Promise(() => {}) }, { patienceMs: 40 })
    await kit.control.submit('job', {})
    await assert.rejects(kit.drain(), /work of job 1 did not return within 40ms of real time/)
  })

  test('a processor that sleeps on the clock outruns its timeout, not the test', async () => {
    const aborted: string[] = []
    const kit: TestKit = kitWith({
      async work(context) {
        await kit.clock.sleep('2h', context.signal)
        aborted.push(String(context.signal.aborted))
        return done()
      },
    })
    const { id } = await kit.control.submit('job', {})
    await kit.drain()
    const detail = await kit.control.get(id)
    assert.equal(detail.state, 'failed')
    assert.match(detail.error ?? '', /^After 4 of 4 attempts: work took longer than 600000 ms\.$/)
    assert.deepEqual(aborted, ['true', 'true', 'true', 'true'])
    await kit.stop()
  })

  test('what never rests is named, by time and by steps', async () => {
    await using kit = kitWith({ work: () => poll(60_000) })
    await kit.control.submit('job', {})
    await assert.rejects(
      kit.drain({ within: '1h' }),
      /within 1h of virtual time it had not come to rest.*\n {2}job 1 is scheduled/,
    )
    await assert.rejects(kit.drain({ stepsMax: 50 }), /after 50 steps/)
  })

  test('what could move but cannot be decided is named, with what the engine said', async () => {
    const folder = defineMachine({
      name: 'folder',
      version: 1,
      initial: ['open'],
      settled: ['shut'],
      final: ['shut'],
      states: { open: 'Waits for its children.', shut: { purpose: 'They are through.', outcome: 'success' } },
      transitions: {
        shut: { from: 'open', to: 'shut', on: 'children', assign: 'count' },
        give_up: { from: 'open', to: 'shut', on: 'action' },
      },
    })
    const count = () => {
      throw new Error('a broken rule')
    }
    const kit = testKit({ implementations: [implement(folder, { assigns: { count } })] })
    await kit.control.submit('folder', {})
    await assert.rejects(
      kit.drain(),
      /folder 1 \(open\) should move on, but cannot\.\nThe engine said:\n[\s\S]*a broken rule/,
    )
  })

  test('whoever waits for the control is answered while it drains', async () => {
    await using kit = kitWith({})
    const { id } = await kit.control.submit('job', {})
    const settled = kit.control.settled(id, 3_600_000)
    const changes: string[] = []
    const ended = new AbortController()
    const watched = (async () => {
      for await (const { events } of kit.control.watch({ after: 0, signal: ended.signal })) {
        changes.push(...events.map(({ to }) => to ?? ''))
      }
    })()
    await kit.drain()
    assert.equal((await settled)?.state, 'finished')
    ended.abort()
    await watched
    assert.deepEqual(changes, ['working', 'finished'])
  })

  test('without an engine nothing can move, and it says so', async () => {
    const kit = kitWith({})
    kit.crash()
    await assert.rejects(kit.drain(), /no engine is up/)
  })
})

describe('crash and restart', () => {
  test('what the dead held runs again when its lease has passed', async () => {
    const begun: number[] = []
    await using kit: TestKit = kitWith({
      async work() {
        begun.push(kit.clock.now())
        await kit.clock.sleep('1m')
        return done()
      },
    })
    const { id } = await kit.control.submit('job', {})
    await kit.advance('20s')
    assert.equal((await kit.control.explain(id)).kind, 'running')
    kit.crash()
    await kit.advance('5m')
    assert.equal((await kit.control.get(id)).state, 'ready')
    await kit.restart()
    await kit.drain()
    assert.equal(await pathOf(kit, id), 'ready -> working -> finished')
    assert.equal(begun.length, 2)
    assert.equal((await kit.control.history(id)).length, 3)
  })

  test('an answer under way is lost, and the work done again: effects with a key are done once', async () => {
    const kit = testKit({
      implementations: ({ effects }) => [
        implement(job, {
          processors: {
            async work(context) {
              await effects.perform('mail', { key: context.idempotencyKey, value: context.data.name })
              await effects.perform('plain', { value: context.data.name })
            },
            finish: () => done(),
          },
        }),
      ],
    })
    kit.crashAt('after', 'work')
    const { id } = await kit.control.submit('job', {})
    await kit.drain()
    assert.equal((await kit.control.get(id)).state, 'ready')
    await kit.restart()
    await kit.drain()
    assert.equal((await kit.control.get(id)).state, 'finished')
    assert.equal(kit.effects.count('mail'), 1)
    assert.equal(kit.effects.all('mail')[0]?.asked, 2)
    assert.equal(kit.effects.count('plain'), 2)
    assert.deepEqual(kit.effects.doubled(), [
      'The effect plain "it" was done 2 times by work of job 1: it was given no key.',
    ])
    await kit.stop()
  })

  test('a crash ends what its processors do through the kit', async () => {
    const seen: string[] = []
    const kit: TestKit = kitWith({
      async work() {
        await kit.clock.sleep('10s')
        seen.push('slept')
        await kit.effects.perform('mail')
        return done()
      },
    })
    await kit.control.submit('job', {})
    await kit.advance('5s')
    kit.crash()
    await kit.advance('1h')
    assert.deepEqual(seen, [])
    assert.equal(kit.effects.count(), 0)
  })

  test('a poison job that kills every process ends in failed; its neighbour does not', async () => {
    await using kit: TestKit = kitWith(
      {
        async work(context) {
          if (context.data.name === 'poison') {
            kit.crash()
            await kit.effects.perform('never')
          }
          return done()
        },
      },
      { engines: 1 },
    )
    const poison = await kit.control.submit('job', { name: 'poison' })
    const good = await kit.control.submit('job', { name: 'good' })
    for (let lives = 0; lives < 12; lives++) {
      await kit.restart()
      await kit.drain()
    }
    assert.equal((await kit.control.get(poison.id)).state, 'failed')
    assert.equal((await kit.control.get(good.id)).purged || (await kit.control.get(good.id)).state === 'finished', true)
  })

  test('two engines share the work; one dies, the other finishes', async () => {
    await using kit: TestKit = kitWith(
      {
        async work() {
          await kit.clock.sleep('10s')
          return done()
        },
      },
      { engines: 2, limits: { claimMax: 5 } },
    )
    const submitted = await kit.control.submitMany(
      'job',
      Array.from({ length: 20 }, () => ({ data: {} })),
    )
    await kit.advance('1s')
    assert.equal((await kit.control.workers()).length, 2)
    kit.crash(1)
    assert.throws(() => kit.crash(1), /Engine 1 is not up/)
    await kit.drain()
    const states = await Promise.all(submitted.map(async ({ id }) => (await kit.control.get(id)).state))
    assert.deepEqual(new Set(states), new Set(['finished']))
  })

  test('stop is graceful: what runs may end', async () => {
    const kit: TestKit = kitWith({
      async work() {
        await kit.clock.sleep('5s')
        return done()
      },
    })
    const { id } = await kit.control.submit('job', {})
    await kit.advance('1s')
    await kit.stop()
    assert.equal((await kit.control.get(id)).state, 'working')
    assert.equal((await kit.control.get(id)).owner, null)
    assert.deepEqual(await kit.control.workers(), [])
  })

  test('the same seed tells the same story, to the millisecond', async () => {
    const story = async (seed: number) => {
      await using kit = kitWith(
        { work: (context) => (context.attempt < 3 ? retry('again') : fail('no luck')) },
        { seed },
      )
      const { id } = await kit.control.submit('job', {})
      await kit.drain()
      return (await kit.control.history(id)).map(({ to, at }) => `${to} ${at}`)
    }
    assert.deepEqual(await story(3), await story(3))
    assert.notDeepEqual(await story(3), await story(4))
  })
})
