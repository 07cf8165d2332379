import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { z } from 'zod'
import { type GroupProcessor, type Implementation, implement, inGroups } from '../implementation.ts'
import { defineMachine } from '../machine.ts'
import { done, fail, type Outcome, retry } from '../outcome.ts'
import type { Policy } from '../policy.ts'
import { memoryStore } from '../store/memory/index.ts'
import { type SimulatedClock, simulatedClock } from '../testing/kit/simulated-clock.ts'
import { Engine } from './engine.ts'

// What one member of a group does or suffers, seen from the others.

interface Card {
  readonly name: string
}

type Many = GroupProcessor<Card>

interface Bindings {
  readonly weigh: Many
  readonly stamp?: Many
  /** Asked when a card fails. */
  readonly mourn?: (name: string) => void
  readonly policy?: Partial<Policy>
}

const nothing: Many = (contexts) => contexts.map(() => done())

function cards({ weigh, stamp = nothing, mourn = () => {}, policy = {} }: Bindings) {
  const backoff = { firstMs: 100, factor: 1, maxMs: 100, jitter: 0 }
  const quick: Partial<Policy> = { parallel: 12, attemptsMax: 2, timeoutMs: 1_000, backoff, ...policy }
  const card = defineMachine({
    name: 'card',
    version: 1,
    initial: ['ready'],
    settled: ['done', 'failed'],
    final: ['done', 'failed'],
    states: { ready: 'r', weighed: 'w', done: 'd', failed: 'f' },
    transitions: {
      lift: { from: 'ready', to: 'done', on: 'done', processor: 'weigh', when: 'isHeavy' },
      weigh: { from: 'ready', to: 'weighed', on: 'done', processor: 'weigh' },
      stamp: { from: 'weighed', to: 'done', on: 'done', processor: 'stamp', inline: true },
      fail: { from: ['ready', 'weighed'], to: 'failed', on: 'fail', assign: 'mourn' },
    },
    data: z.object({ name: z.string() }),
    policies: { weigh: quick, stamp: { ...quick, timeoutMs: 5_000 } },
  })
  return implement(card, {
    processors: { weigh: inGroups(weigh), stamp: inGroups(stamp) },
    criteria: { isHeavy: ({ data }) => data.name.startsWith('heavy') },
    assigns: {
      mourn: ({ data }) => {
        mourn(data.name)
        return {}
      },
    },
  })
}

/** The real engine in virtual time. Cards are submitted before it starts, so that they are claimed together. */
class Bench {
  readonly clock: SimulatedClock
  readonly engine: Engine

  constructor(clock: SimulatedClock, engine: Engine) {
    this.clock = clock
    this.engine = engine
  }

  static async begin(
    t: TestContext,
    implementation: Implementation,
    names: string | readonly string[],
    clock = simulatedClock(),
  ): Promise<Bench> {
    const log = pino({ level: 'silent' })
    const engine = new Engine({ store: memoryStore({ clock }), implementations: [implementation], clock, log })
    await engine.prepare()
    await engine.control.submitMany(
      'card',
      [...names].map((name) => ({ data: { name } })),
    )
    await engine.start()
    t.after(async () => {
      const stopped = engine.stop()
      await clock.advance('30s')
      await stopped
    })
    await clock.settle()
    return new Bench(clock, engine)
  }

  get control() {
    return this.engine.control
  }

  /** `a done, b failed`. */
  async states(): Promise<string> {
    const { entities } = await this.control.list({ machine: 'card' })
    return entities.map(({ data, state }) => `${(data as Card).name} ${state}`).join(', ')
  }

  async card(name: string) {
    const { entities } = await this.control.list({ machine: 'card' })
    const found = entities.find(({ data }) => (data as Card).name === name)
    assert.ok(found, name)
    return found
  }
}

/** Answers for one of a group, and nothing for the others. */
const only =
  (name: string, outcome: Outcome): Many =>
  (contexts) =>
    contexts.map(({ data }) => (data.name === name ? outcome : undefined))

/** Notes who was asked together. */
function noting(calls: string[], many: Many): Many {
  return (contexts) => {
    calls.push(namesOf(contexts))
    return many(contexts)
  }
}

const namesOf = (contexts: Parameters<Many>[0]): string => contexts.map(({ data }) => data.name).join('')

suite('neighbours in a group', () => {
  test('whoever ran in time gets through although one of its group hangs', async (t) => {
    const clock = simulatedClock()
    const calls: string[] = []
    const weigh = noting(calls, async (contexts) => {
      if (namesOf(contexts).includes('b')) await clock.sleep('1h', contexts[0]?.signal).catch(() => {})
      return nothing(contexts)
    })
    const bench = await Bench.begin(t, cards({ weigh, policy: { attemptsMax: 3 } }), 'abcd', clock)
    await bench.clock.advance('2m')
    assert.equal(await bench.states(), 'a done, b failed, c done, d done', calls.join(' '))
  })

  test('one that has ended is saved while the cascade of the others goes on', async (t) => {
    const clock = simulatedClock()
    const weighed: string[] = []
    const stamp: Many = async (contexts) => {
      await clock.sleep('3s')
      return nothing(contexts)
    }
    const weigh = noting(weighed, only('b', fail('too light')))
    const bench = await Bench.begin(t, cards({ weigh, stamp }), 'abc', clock)
    await bench.clock.advance('20s')
    assert.equal(await bench.states(), 'a done, b failed, c done')
    // Its own timeout is one second: whoever waits for its neighbours runs into it.
    assert.deepEqual(weighed, ['abc'])
    assert.equal((await bench.card('b')).reason, 'too light')
  })

  test('whoever takes another edge does not wait for the first edge’s group', async (t) => {
    const clock = simulatedClock()
    const calls: string[] = []
    const slow = noting(calls, async (contexts) => {
      await clock.sleep(700)
      return nothing(contexts)
    })
    const bench = await Bench.begin(t, cards({ weigh: slow }), ['a', 'heavy1', 'b'], clock)
    await bench.clock.advance('20s')
    assert.equal(await bench.states(), 'a done, heavy1 done, b done')
    assert.deepEqual(calls.toSorted(), ['ab', 'heavy1'])
  })

  test('a rule that breaks on the way to failure loses nothing of the others', async (t) => {
    const weighed: string[] = []
    const mourn = (name: string) => {
      if (name !== 'b' || !broken) return
      broken = false
      throw new Error('no words')
    }
    let broken = true
    const bench = await Bench.begin(t, cards({ weigh: noting(weighed, only('b', fail('no'))), mourn }), 'abc')
    await bench.clock.advance(50)
    assert.equal(weighed.filter((call) => /[ac]/.test(call)).length, 1)
    await bench.clock.advance('1m')
    assert.equal(await bench.states(), 'a done, b failed, c done')
  })

  test('a move that is refused, and whose failure breaks too, loses nothing of the others', async (t) => {
    const weighed: string[] = []
    let broken = true
    const mourn = (name: string) => {
      if (name !== 'b' || !broken) return
      broken = false
      throw new Error('no words')
    }
    const weigh = noting(weighed, only('b', done({ name: 7 })))
    const bench = await Bench.begin(t, cards({ weigh, mourn }), 'abc')
    await bench.clock.advance(50)
    assert.equal(weighed.filter((call) => /[ac]/.test(call)).length, 1)
    await bench.clock.advance('1m')
    assert.equal(await bench.states(), 'a done, b failed, c done')
  })

  test('what is tried again after the same accident is not tried at the same moment', async (t) => {
    const weigh: Many = (contexts) => contexts.map(() => retry('no answer'))
    const backoff = { firstMs: 10_000, factor: 1, maxMs: 10_000, jitter: 1 }
    const bench = await Bench.begin(t, cards({ weigh, policy: { backoff } }), 'abcd')
    const { entities } = await bench.control.list({ machine: 'card' })
    const times = entities.map(({ wait }) => ('at' in wait ? wait.at : null))
    assert.equal(new Set(times).size, 4)
  })
})
