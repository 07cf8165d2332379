import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { z } from 'zod'
import { type Context, type GroupProcessor, type Implementation, implement, inGroups } from '../implementation.ts'
import { defineMachine } from '../machine.ts'
import { done, fail, type Outcome, poll, retry } from '../outcome.ts'
import type { Policy } from '../policy.ts'
import { memoryStore } from '../store/memory/index.ts'
import { type SimulatedClock, simulatedClock } from '../testing/kit/simulated-clock.ts'
import { Engine } from './engine.ts'

interface Card {
  readonly name: string
  readonly note?: string | undefined
}

/** So many places that a handful is claimed together. */
const policy: Partial<Policy> = {
  parallel: 12,
  attemptsMax: 2,
  timeoutMs: 1_000,
  backoff: { firstMs: 100, factor: 1, maxMs: 100, jitter: 0 },
}

/** Weighed, and stamped in the same move. A heavy card goes another way. */
function cardMachine(changes: Partial<Policy> = {}) {
  return defineMachine({
    name: 'card',
    version: 1,
    initial: ['ready'],
    settled: ['done', 'failed', 'cancelled'],
    final: ['done', 'failed', 'cancelled'],
    states: {
      ready: 'r',
      weighed: 'w',
      done: { purpose: 'd', outcome: 'success' },
      failed: { purpose: 'f', outcome: 'failure' },
      cancelled: { purpose: 'c', outcome: 'neutral' },
    },
    transitions: {
      lift: { from: 'ready', to: 'done', on: 'done', processor: 'weigh', when: 'isHeavy' },
      weigh: { from: 'ready', to: 'weighed', on: 'done', processor: 'weigh' },
      stamp: { from: 'weighed', to: 'done', on: 'done', processor: 'stamp', inline: true, ensure: 'isFair' },
      fail: { from: ['ready', 'weighed'], to: 'failed', on: 'fail' },
      cancel: { from: ['ready', 'weighed'], to: 'cancelled', on: 'action' },
    },
    data: z.object({ name: z.string(), note: z.string().optional() }),
    labels: ['name'],
    policies: {
      weigh: { ...policy, ...changes },
      stamp: { ...policy, timeoutMs: 5_000 },
    },
  })
}

const leaf = defineMachine({
  name: 'leaf',
  version: 1,
  parent: 'card',
  initial: ['green'],
  settled: ['green'],
  final: [],
  states: { green: { purpose: 'g', outcome: 'success' } },
  transitions: {},
})

type Many = GroupProcessor<Card>

interface Bindings {
  readonly weigh: Many
  readonly stamp?: Many
  readonly isFair?: (name: string) => boolean | string
  readonly policy?: Partial<Policy>
}

const nothing: Many = (contexts) => contexts.map(() => done())

function cards({ weigh, stamp = nothing, isFair = () => true, policy }: Bindings) {
  return [
    implement(cardMachine(policy), {
      processors: { weigh: inGroups(weigh), stamp: inGroups(stamp) },
      criteria: { isHeavy: ({ data }) => data.name.startsWith('heavy'), isFair: ({ data }) => isFair(data.name) },
    }),
    implement(leaf, {}),
  ]
}

const namesOf = (contexts: readonly Context<Card>[]): string => contexts.map(({ data }) => data.name).join('')

/** The real engine in virtual time, with what it logged. Cards are submitted before it starts, so that they are claimed together. */
class Bench {
  readonly clock: SimulatedClock
  readonly engine: Engine
  readonly said: string[] = []

  constructor(clock: SimulatedClock, implementations: readonly Implementation[]) {
    this.clock = clock
    const log = pino({ level: 'info' }, { write: (line: string) => void this.said.push(JSON.parse(line).msg) })
    this.engine = new Engine({ store: memoryStore({ clock }), implementations, clock, log })
  }

  static async begin(
    t: TestContext,
    implementations: readonly Implementation[],
    names: string | readonly string[],
    clock = simulatedClock(),
  ) {
    const bench = new Bench(clock, implementations)
    await bench.engine.prepare()
    await bench.control.submitMany(
      'card',
      [...names].map((name) => ({ data: { name } })),
    )
    await bench.engine.start()
    t.after(async () => {
      const stopped = bench.engine.stop()
      await bench.clock.advance('30s')
      await stopped
    })
    await bench.clock.settle()
    return bench
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
    const { entities } = await this.control.list({ machine: 'card', label: { name: 'name', value: name } } as never)
    const found = entities.filter(({ data }) => (data as Card).name === name)
    assert.equal(found.length, 1, name)
    return found[0]!
  }

  async hops(name: string): Promise<string> {
    const events = await this.control.history((await this.card(name)).id)
    return events
      .slice(1)
      .map(({ transition, seq }) => `${seq} ${transition}`)
      .join(', ')
  }

  async leaves(name: string): Promise<readonly unknown[]> {
    const { entities } = await this.control.list({ parent: (await this.card(name)).id })
    return entities.map(({ ordinal, data }) => `${ordinal} ${data}`)
  }
}

/** Notes who was asked together. */
function noting(calls: string[], many: Many): Many {
  return (contexts) => {
    calls.push(namesOf(contexts))
    return many(contexts)
  }
}

suite('the group executor', () => {
  test('what is claimed together runs in one call, and its cascade goes on together', async (t) => {
    const calls: string[] = []
    const bench = await Bench.begin(
      t,
      cards({ weigh: noting(calls, nothing), stamp: noting(calls, (contexts) => nothing(contexts)) }),
      'abcd',
    )
    assert.deepEqual(calls, ['abcd', 'abcd'])
    assert.equal(await bench.states(), 'a done, b done, c done, d done')
    // One move for both hops.
    assert.equal(await bench.hops('b'), '1 weigh, 1 stamp')
  })

  test('each outcome decides for its own entity alone', async (t) => {
    const weigh: Many = (contexts) =>
      contexts.map(({ data: { name }, attempt }) => {
        if (name === 'a') return done({ name: 'a', note: 'weighed' })
        if (name === 'b' && attempt === 1) return retry('slipped')
        if (name === 'c') return fail('too light')
        return undefined
      })
    const stamped: string[] = []
    const bench = await Bench.begin(t, cards({ weigh, stamp: noting(stamped, nothing) }), 'abcd')
    assert.equal(await bench.states(), 'a done, b ready, c failed, d done')
    assert.deepEqual(stamped, ['ad'])
    assert.deepEqual(
      [(await bench.card('a')).data, (await bench.card('b')).error],
      [{ name: 'a', note: 'weighed' }, 'slipped'],
    )
    assert.deepEqual([(await bench.card('c')).reason, (await bench.card('d')).data], ['too light', { name: 'd' }])
    await bench.clock.advance(100)
    assert.equal(await bench.states(), 'a done, b done, c failed, d done')
    assert.deepEqual(stamped, ['ad', 'b'])
  })

  test('a poll of one is its own, and costs no attempt', async (t) => {
    let polls = 0
    const weigh: Many = (contexts) =>
      contexts.map(({ data, attempt }) => {
        assert.equal(attempt, 1)
        return data.name === 'b' && ++polls <= 5 ? poll(50, { name: 'b', note: `${polls}` }) : done()
      })
    const bench = await Bench.begin(t, cards({ weigh }), 'abc')
    assert.equal(await bench.states(), 'a done, b ready, c done')
    await bench.clock.advance(250)
    assert.equal(await bench.states(), 'a done, b done, c done')
    assert.deepEqual((await bench.card('b')).data, { name: 'b', note: '5' })
  })

  test('a group that throws is run one by one, and only the guilty one is tried again', async (t) => {
    const calls: string[] = []
    const weigh = noting(calls, (contexts) => {
      if (contexts.some(({ data }) => data.name === 'b')) throw new Error('b is greasy')
      return nothing(contexts)
    })
    const bench = await Bench.begin(t, cards({ weigh }), 'abcd')
    assert.deepEqual(calls, ['abcd', 'a', 'b', 'c', 'd'])
    assert.equal(await bench.states(), 'a done, b ready, c done, d done')
    assert.equal((await bench.card('b')).error, 'b is greasy')
    await bench.clock.advance(100)
    assert.deepEqual([await bench.states(), calls.at(-1)], ['a done, b failed, c done, d done', 'b'])
  })

  for (const [what, answer] of [
    ['too few', () => [done()]],
    ['too many', (contexts) => [...contexts, null].map(() => done())],
    ['no list', () => 'all fine' as never],
    ['a rejection', async () => Promise.reject(new Error('no'))],
  ] as const satisfies readonly (readonly [string, Many])[]) {
    test(`a group that answers with ${what} is run one by one`, async (t) => {
      const calls: string[] = []
      const weigh = noting(calls, (contexts) => (contexts.length > 1 ? answer(contexts) : nothing(contexts)))
      const bench = await Bench.begin(t, cards({ weigh }), 'abc')
      assert.deepEqual(calls, ['abc', 'a', 'b', 'c'])
      assert.equal(await bench.states(), 'a done, b done, c done')
    })
  }

  test('an answer with holes is done where it says nothing', async (t) => {
    const weigh: Many = (contexts) => {
      const answers: Outcome[] = new Array(contexts.length)
      answers[1] = fail('too light')
      return answers
    }
    const bench = await Bench.begin(t, cards({ weigh }), 'abc')
    assert.equal(await bench.states(), 'a done, b failed, c done')
  })

  test('nonsense fails whom it is about', async (t) => {
    const answers: Record<string, unknown> = { a: 7, b: { kind: 'maybe' }, c: poll(Number.NaN), d: null }
    const weigh: Many = (contexts) => contexts.map(({ data }) => answers[data.name] as Outcome)
    const bench = await Bench.begin(t, cards({ weigh }), 'abcd')
    assert.equal(await bench.states(), 'a failed, b failed, c failed, d done')
    assert.equal((await bench.card('b')).reason, 'no outcome')
    assert.match((await bench.card('c')).error ?? '', /^weigh returned poll\(NaN\); a processor returns/)
  })

  test('data that does not fit, and work that ensure refuses, fail whom they are about', async (t) => {
    const weigh: Many = (contexts) =>
      contexts.map(({ data }) => (data.name === 'a' ? done({ name: 5 }) : done({ ...data, note: 'w' })))
    const isFair = (name: string) => name !== 'b' || 'b is a cheat'
    const bench = await Bench.begin(t, cards({ weigh, isFair }), 'abc')
    assert.equal(await bench.states(), 'a failed, b failed, c done')
    assert.equal((await bench.card('b')).reason, 'b is a cheat')
    assert.deepEqual((await bench.card('a')).data, { name: 'a' })
  })

  test('entities of one claim that take different edges run in a group for each edge', async (t) => {
    const calls: string[] = []
    const names = ['a', 'heavy1', 'b', 'heavy2']
    const bench = await Bench.begin(t, cards({ weigh: noting(calls, nothing) }), names)
    assert.deepEqual(calls.toSorted(), ['ab', 'heavy1heavy2'])
    assert.deepEqual([await bench.hops('a'), await bench.hops('heavy1')], ['1 weigh, 1 stamp', '1 lift'])
  })

  test('a timeout that spends the last attempt ends one of a group, and the others run', async (t) => {
    let hangs = true
    const calls: string[] = []
    const weigh = noting(calls, async (contexts) => {
      if (hangs && namesOf(contexts).includes('b')) await clock.sleep('1h')
      return nothing(contexts)
    })
    const clock = simulatedClock()
    const bench = new Bench(clock, cards({ weigh, policy: { attemptsMax: 1 } }))
    await bench.engine.prepare()
    await bench.control.submitMany('card', [{ data: { name: 'b' } }])
    await bench.engine.start()
    t.after(async () => {
      const stopped = bench.engine.stop()
      await clock.advance('2h')
      await stopped
    })
    await clock.advance(900)
    hangs = false
    await bench.control.submitMany(
      'card',
      [...'acd'].map((name) => ({ data: { name } })),
    )
    await clock.advance('30s')
    assert.equal(await bench.states(), 'b failed, a done, c done, d done')
    assert.match((await bench.card('b')).error ?? '', /^weigh took longer than \d+ ms\.$/)
    assert.equal(calls.filter((call) => call.includes('b')).length, 1)
  })

  test('children and checkpoints of one in a group are its own', async (t) => {
    const weigh: Many = async (contexts) => {
      for (const { data, spawn, checkpoint, cursor } of contexts) {
        assert.equal(cursor, null)
        if (data.name === 'a') await spawn({ machine: 'leaf', data: 'one' })
        if (data.name !== 'b') continue
        await spawn({ machine: 'leaf', data: 'staged' })
        await checkpoint('halfway')
        await spawn({ machine: 'leaf', data: 'more' })
      }
      return contexts.map(({ data }) => (data.name === 'd' ? fail('no') : undefined))
    }
    const bench = await Bench.begin(t, cards({ weigh }), 'abcd')
    assert.equal(await bench.states(), 'a done, b done, c done, d failed')
    assert.deepEqual(await bench.leaves('a'), ['0 one'])
    assert.deepEqual(await bench.leaves('b'), ['0 staged', '1 more'])
    assert.deepEqual(await bench.leaves('c'), [])
  })

  test('what a group spawned before it threw does not appear beside what its members spawn one by one', async (t) => {
    const weigh: Many = async (contexts) => {
      for (const { data, spawn } of contexts) {
        await spawn({ machine: 'leaf', data: `of ${data.name}` })
        if (data.name === 'b') throw new Error('b is greasy')
      }
      return nothing(contexts)
    }
    const bench = await Bench.begin(t, cards({ weigh }), 'abc')
    await bench.clock.advance(500)
    assert.equal(await bench.states(), 'a done, b failed, c done')
    assert.deepEqual(await bench.leaves('a'), ['0 of a'])
    assert.deepEqual(await bench.leaves('b'), [])
    assert.deepEqual(await bench.leaves('c'), ['0 of c'])
  })

  test('a checkpoint of a group that threw is kept: its members go on where it says', async (t) => {
    const weigh: Many = async (contexts) => {
      for (const { spawn, checkpoint, cursor } of contexts) {
        if (cursor === null) {
          await spawn({ machine: 'leaf', data: 'first' })
          await checkpoint('first')
        }
        await spawn({ machine: 'leaf', data: 'second' })
      }
      if (contexts.length > 1) throw new Error('too many')
      return nothing(contexts)
    }
    const bench = await Bench.begin(t, cards({ weigh }), 'ab')
    assert.equal(await bench.states(), 'a done, b done')
    for (const name of 'ab') assert.deepEqual(await bench.leaves(name), ['0 first', '1 second'])
  })

  test('a label that is held while its group runs stops nobody: all of them settle', async (t) => {
    const clock = simulatedClock()
    const weigh: Many = async (contexts) => {
      await clock.sleep(100)
      return contexts.map(({ data }) => (data.name === 'c' ? poll(10) : done()))
    }
    const bench = await Bench.begin(t, cards({ weigh }), 'abc', clock)
    const scope = { machine: 'card', label: { name: 'name', value: 'c' } } as never
    const hold = await bench.control.hold(scope, { reason: 'audit', owner: 'olga' })
    await bench.clock.advance('1s')
    // What would run again waits for the release; what has ended has ended.
    assert.equal(await bench.states(), 'a done, b done, c ready')
    assert.equal((await bench.control.explain((await bench.card('c')).id)).kind, 'held')
    await bench.control.release(hold.id)
    await bench.clock.advance('1s')
    assert.notEqual((await bench.control.explain((await bench.card('c')).id)).kind, 'held')
  })

  test('one that is cancelled while its group runs is dropped, and its neighbours end', async (t) => {
    const clock = simulatedClock()
    const stamped: string[] = []
    const aborted: string[] = []
    const weigh: Many = async (contexts) => {
      await clock.sleep(600)
      for (const { signal, data } of contexts) if (signal.aborted) aborted.push(data.name)
      return nothing(contexts)
    }
    const bench = await Bench.begin(t, cards({ weigh, stamp: noting(stamped, nothing) }), 'abc', clock)
    await bench.clock.advance(10)
    await bench.control.act((await bench.card('b')).id, 'cancel')
    await bench.clock.advance(690)
    assert.equal(await bench.states(), 'a done, b cancelled, c done')
    assert.deepEqual([aborted, stamped], [['b'], ['ac']])
  })

  test('at most so many as there are places are in flight, in several groups at once', async (t) => {
    const clock = simulatedClock()
    let running = 0
    let most = 0
    const calls: string[] = []
    const weigh = noting(calls, async (contexts) => {
      running += contexts.length
      most = Math.max(most, running)
      await clock.sleep(50)
      running -= contexts.length
      return nothing(contexts)
    })
    const names = [...'abcdefghijklmnopqrstuvwxyz']
    const bench = await Bench.begin(t, cards({ weigh }), names, clock)
    assert.equal(running, 12)
    assert.ok(calls.length > 1 && calls.every((call) => call.length > 1), calls.join(' '))
    await bench.clock.advance('1s')
    assert.equal(await bench.states(), names.map((name) => `${name} done`).join(', '))
    assert.equal(most, 12)
  })

  test('with one place there are groups of one', async (t) => {
    const clock = simulatedClock()
    const calls: string[] = []
    const weigh = noting(calls, async (contexts) => {
      await clock.sleep(10)
      return nothing(contexts)
    })
    const bench = await Bench.begin(t, cards({ weigh, policy: { parallel: 1 } }), 'abc', clock)
    await bench.clock.advance(100)
    assert.deepEqual(calls, ['a', 'b', 'c'])
    assert.equal(await bench.states(), 'a done, b done, c done')
  })
})
