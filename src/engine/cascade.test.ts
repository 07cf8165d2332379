import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { pino } from 'pino'
import { z } from 'zod'
import type { Control } from '../control.ts'
import { isSluiceError } from '../errors.ts'
import { type Assign, type Context, type Criterion, implement, type Processor } from '../implementation.ts'
import { defineMachine } from '../machine.ts'
import { done, fail, poll, retry } from '../outcome.ts'
import { memoryStore } from '../store/memory/index.ts'
import { explore, type TestKit, testKit } from '../testing/kit/index.ts'
import { simulatedClock } from '../testing/kit/simulated-clock.ts'
import { Engine } from './engine.ts'

interface Loaf {
  readonly steps: readonly string[]
}

const policy = { attemptsMax: 2, backoff: { firstMs: 100, factor: 1, maxMs: 100, jitter: 0 } }

/** Kneaded and baked in one move; between the two a hop without a processor. */
const loaf = defineMachine({
  name: 'loaf',
  version: 1,
  initial: ['dough'],
  settled: ['sold', 'failed'],
  final: ['failed'],
  states: {
    dough: 'd',
    rested: 'r',
    formed: 'f',
    sold: { purpose: 's', outcome: 'success' },
    failed: { purpose: 'x', outcome: 'failure' },
  },
  transitions: {
    knead: { from: 'dough', to: 'rested', on: 'done', processor: 'knead', ensure: 'isSmooth', assign: 'noteKneaded' },
    form: { from: 'rested', to: 'formed', on: 'done', inline: true, ensure: 'isRisen', assign: 'noteFormed' },
    bake: { from: 'formed', to: 'sold', on: 'done', processor: ['bake', 'slice'], inline: true, ensure: 'isCrisp' },
    fail: { from: ['dough', 'rested', 'formed'], to: 'failed', on: 'fail', assign: 'noteFailed' },
    again: { from: 'sold', to: 'dough', on: 'action', assign: 'noteAgain' },
  },
  data: z.object({ steps: z.array(z.string()) }),
  policies: { knead: policy, bake: policy, slice: policy },
})

const crumb = defineMachine({
  name: 'crumb',
  version: 1,
  parent: 'loaf',
  initial: ['fresh'],
  settled: ['fresh'],
  final: [],
  states: { fresh: { purpose: 'f', outcome: 'success' } },
  transitions: {},
})

type Bindings = Partial<{
  readonly [name in 'knead' | 'bake' | 'slice']: Processor<Loaf>
}> &
  Partial<{ readonly [name in 'isSmooth' | 'isRisen' | 'isCrisp']: Criterion<Loaf> }> &
  Partial<{ readonly [name in 'noteKneaded' | 'noteFormed' | 'noteFailed' | 'noteAgain']: Assign<Loaf> }>

const nothing = () => undefined
const holds = () => true
const noChange = () => ({})

function bakery(given: Bindings) {
  const { knead = nothing, bake = nothing, slice = nothing } = given
  const { isSmooth = holds, isRisen = holds, isCrisp = holds } = given
  const { noteKneaded = noChange, noteFormed = noChange, noteFailed = noChange, noteAgain = noChange } = given
  return [
    implement(loaf, {
      processors: { knead, bake, slice },
      criteria: { isSmooth, isRisen, isCrisp },
      assigns: { noteKneaded, noteFormed, noteFailed, noteAgain },
    }),
    implement(crumb, {}),
  ]
}

const crumbs = (...names: string[]) => names.map((data) => ({ machine: 'crumb', data }))

async function crumbsOf(control: Control, parent: number): Promise<string> {
  const { entities } = await control.list({ parent })
  return entities.map(({ ordinal, data }) => `${ordinal} ${data}`).join(', ')
}

async function baked(given: Bindings, look: (kit: TestKit, id: number) => Promise<void>): Promise<void> {
  await using kit = testKit({ implementations: bakery(given) })
  const { id } = await kit.control.submit('loaf', { steps: [] })
  await kit.drain()
  await look(kit, id)
}

/** Adds its name to what was done. */
const noting =
  (name: string): Processor<Loaf> =>
  ({ data }) =>
    done({ steps: [...data.steps, name] })

suite('a cascade', () => {
  test('each processor sees what the one before has left, and all is one move', () =>
    baked(
      {
        knead: noting('knead'),
        noteFormed: ({ data }) => ({ data: { steps: [...data.steps, 'form'] } }),
        bake: noting('bake'),
        slice: noting('slice'),
      },
      async ({ control }, id) => {
        assert.deepEqual((await control.get(id)).data, { steps: ['knead', 'form', 'bake', 'slice'] })
        const hops = (await control.history(id)).map(({ seq, transition }) => `${seq} ${transition}`)
        assert.deepEqual(hops, ['0 create', '1 knead', '1 form', '1 bake'])
      },
    ))

  test('children of every processor on the way appear with the move, numbered on', () =>
    baked(
      {
        knead: ({ spawn }) => spawn(crumbs('k1', 'k2')),
        bake: ({ spawn }) => spawn(crumbs('b')),
        slice: ({ spawn }) => spawn(crumbs('s')),
        noteFormed: () => ({ spawn: crumbs('f') }),
      },
      async ({ control }, id) => {
        assert.equal((await control.get(id)).state, 'sold')
        const found = await crumbsOf(control, id)
        assert.deepEqual(
          found
            .split(', ')
            .map((text) => text.split(' ')[1])
            .toSorted(),
          ['b', 'f', 'k1', 'k2', 's'],
          found,
        )
      },
    ))

  for (const [what, given, expected] of [
    ['the first fails', { knead: spawning('k', fail('no')) }, ''],
    ['the first is refused', { knead: spawning('k'), isSmooth: () => 'lumps' }, ''],
    ['a hop without a processor is refused', { knead: spawning('k'), isRisen: () => 'flat' }, '0 k'],
    ['the second fails', { knead: spawning('k'), bake: spawning('b', fail('no')) }, '0 k'],
    ['the second is refused', { knead: spawning('k'), bake: spawning('b'), isCrisp: () => 'burnt' }, '0 k'],
    ['the second fails for good by retries', { knead: spawning('k'), bake: spawning('b', retry('no')) }, '0 k'],
    ['the last of several fails', { knead: spawning('k'), bake: spawning('b'), slice: () => fail('no') }, '0 k'],
    ['the first only staged, and the second fails', { knead: staging('k'), bake: spawning('b', fail('no')) }, '0 k'],
    ['the second staged, and failed', { knead: spawning('k'), bake: staging('b', fail('no')) }, '0 k'],
    ['both staged, and the second failed', { knead: staging('k'), bake: staging('b', fail('no')) }, '0 k'],
    ['the first staged, and failed', { knead: staging('k', fail('no')) }, ''],
  ] as const satisfies readonly (readonly [string, Bindings, string])[]) {
    test(`only children of accepted work appear: ${what}`, () =>
      baked(given, async ({ control }, id) => {
        assert.equal((await control.get(id)).state, 'failed')
        assert.equal(await crumbsOf(control, id), expected)
      }))
  }

  for (const [what, given, expected] of [
    ['in the first', { knead: staging('k'), bake: spawning('b') }, '0 k, 1 b'],
    ['in the second', { knead: spawning('k'), bake: staging('b') }, '0 k, 1 b'],
    ['in both', { knead: staging('k'), bake: staging('b') }, '0 k, 1 b'],
  ] as const satisfies readonly (readonly [string, Bindings, string])[]) {
    test(`checkpoints ${what} lose and double nothing, wherever the process dies`, async () => {
      const { runs } = await explore({
        implementations: () => bakery(given),
        limits: { leaseMs: 1_000, renewMs: 300 },
        start: (control) => control.submit('loaf', { steps: [] }),
        check: async (control) => {
          const { entities } = await control.list({ machine: 'loaf' })
          assert.deepEqual([entities[0]?.state, await crumbsOf(control, entities[0]?.id ?? 0)], ['sold', expected])
        },
      })
      assert.ok(runs > 5, `${runs} runs`)
    })
  }

  test('a processor begins without the cursor of the one before it', () => {
    const cursors: unknown[] = []
    const look: Processor<Loaf> = async (context) => {
      cursors.push(context.cursor)
      await context.checkpoint(`${cursors.length}`)
    }
    return baked({ knead: look, bake: look }, async ({ control }, id) => {
      assert.equal((await control.get(id)).state, 'sold')
      assert.deepEqual(cursors, [null, null])
    })
  })

  test('nor one that an earlier attempt of the one before it has left', () => {
    const cursors: unknown[] = []
    let runs = 0
    const knead: Processor<Loaf> = async ({ checkpoint }) => {
      runs += 1
      if (runs > 1) return
      await checkpoint('half')
      throw new Error('tired')
    }
    const bake: Processor<Loaf> = ({ cursor }) => void cursors.push(cursor)
    return baked({ knead, bake }, async ({ control }, id) => {
      assert.equal((await control.get(id)).state, 'sold')
      assert.deepEqual([runs, cursors], [2, [null]])
    })
  })

  test('an idempotency key and a view belong to the processor’s own edge, state and generation', async () => {
    const seen: string[] = []
    const look: Processor<Loaf> = ({ entity, idempotencyKey }) => {
      seen.push(`${entity.state} ${entity.generation} ${idempotencyKey}`)
    }
    await baked({ knead: look, bake: look, slice: look }, async (kit, id) => {
      await kit.control.act(id, 'again')
      await kit.drain()
      assert.deepEqual(seen, [
        `dough 0 ${id}:0:knead`,
        `formed 0 ${id}:0:bake`,
        `formed 0 ${id}:0:bake`,
        `dough 1 ${id}:1:knead`,
        `formed 1 ${id}:1:bake`,
        `formed 1 ${id}:1:bake`,
      ])
    })
  })

  test('a criterion or an assign that throws on the way fails its entity, and what was done before stays undone', () =>
    baked(
      {
        knead: noting('knead'),
        noteFormed: () => {
          throw new Error('no hands')
        },
      },
      async ({ control }, id) => {
        const { state, reason, data } = await control.get(id)
        assert.deepEqual({ state, reason }, { state: 'failed', reason: 'no hands' })
        assert.deepEqual(data, { steps: [] })
        assert.deepEqual(
          (await control.history(id)).map(({ transition }) => transition),
          ['create', 'fail'],
        )
      },
    ))

  test('a rule that throws behind the second processor leaves the first one’s work', () =>
    baked(
      {
        knead: noting('knead'),
        bake: noting('bake'),
        isCrisp: () => {
          throw new Error('no teeth')
        },
      },
      async ({ control }, id) => {
        const { state, reason } = await control.get(id)
        assert.deepEqual({ state, reason }, { state: 'failed', reason: 'isCrisp threw: no teeth' })
        assert.deepEqual(
          (await control.history(id)).map(({ transition }) => transition),
          ['create', 'knead', 'form', 'fail'],
        )
      },
    ))

  test('a hop without a processor is refused by its reason', () =>
    baked({ isRisen: () => 'it is flat' }, async ({ control }, id) => {
      const { state, reason, error } = await control.get(id)
      assert.deepEqual({ state, reason, error }, { state: 'failed', reason: 'it is flat', error: 'it is flat' })
    }))
})

/** Spawns one crumb, and ends so. */
function spawning(name: string, outcome = done()): Processor<Loaf> {
  return async ({ spawn }) => {
    await spawn(crumbs(name))
    return outcome
  }
}

/** The same with a checkpoint behind it. */
function staging(name: string, outcome = done()): Processor<Loaf> {
  return async ({ spawn, checkpoint, cursor }) => {
    if (cursor === null) {
      await spawn(crumbs(name))
      await checkpoint(name)
    }
    return outcome
  }
}

suite('several processors of one edge', () => {
  test('the first that is not done ends the run, and all of them run again', async () => {
    const calls: string[] = []
    let failures = 0
    const bake = ({ data, attempt }: Context<Loaf>) => {
      calls.push(`bake ${attempt} ${data.steps}`)
      return done({ steps: ['baked'] })
    }
    const slice = ({ data, attempt }: Context<Loaf>) => {
      calls.push(`slice ${attempt} ${data.steps}`)
      failures += 1
      if (failures === 1) return poll(50)
      if (failures === 2) throw new Error('blunt')
      return done({ steps: [...data.steps, 'sliced'] })
    }
    await baked({ bake, slice }, async ({ control }, id) => {
      const { state, data } = await control.get(id)
      assert.deepEqual({ state, data }, { state: 'sold', data: { steps: ['baked', 'sliced'] } })
      assert.deepEqual(calls, ['bake 1 ', 'slice 1 baked', 'bake 1 ', 'slice 1 baked', 'bake 2 ', 'slice 2 baked'])
    })
  })

  test('each logs under its own name', async () => {
    const lines: string[] = []
    const log = pino(
      { level: 'info' },
      {
        write: (line: string) => {
          const { msg, processor } = JSON.parse(line)
          if (msg === 'here') lines.push(`${processor}: ${msg}`)
        },
      },
    )
    const say: Processor<Loaf> = (context) => {
      context.log.info('here')
    }
    const clock = simulatedClock()
    const implementations = bakery({ knead: say, bake: say, slice: say })
    const engine = new Engine({ store: memoryStore({ clock }), clock, log, implementations })
    await engine.start()
    await engine.control.submit('loaf', { steps: [] })
    await clock.advance(100)
    await engine.stop()
    assert.deepEqual(lines, ['knead: here', 'bake: here', 'slice: here'])
  })
})

suite('what an assign says', () => {
  /** The real engine, with what it logged; `before` may act while a processor runs. */
  async function told(given: Bindings, act: (control: Control, id: number) => Promise<void> = async () => {}) {
    const lines: string[] = []
    const write = (line: string) => {
      const { msg } = JSON.parse(line)
      // What the engine says by itself of retries and ends is tested in run-report.test.ts.
      if (!/^(settled as |a run ended|the engine started)/.test(msg)) lines.push(`${msg}`)
    }
    const clock = simulatedClock()
    const log = pino({ level: 'info' }, { write })
    const engine = new Engine({ store: memoryStore({ clock }), clock, log, implementations: bakery(given) })
    await engine.start()
    const { id } = await engine.control.submit('loaf', { steps: [] })
    await clock.advance('2s')
    await act(engine.control, id)
    await clock.advance('2s')
    await engine.stop()
    return lines
  }
  const say =
    (message: string): Assign<Loaf> =>
    () => ({ log: { message } })

  test('is logged once, with the move', async () => {
    assert.deepEqual(await told({ noteKneaded: say('kneaded'), noteFormed: say('formed') }), ['kneaded', 'formed'])
  })

  test('is logged once although a processor behind it makes a checkpoint', async () => {
    const given = { noteKneaded: say('kneaded'), noteFormed: say('formed'), bake: staging('b') }
    assert.deepEqual(await told(given), ['kneaded', 'formed'])
  })

  test('is logged once although the processor behind it is tried again', async () => {
    const given: Bindings = {
      noteKneaded: say('kneaded'),
      bake: ({ attempt }) => (attempt === 1 ? retry('cold') : done()),
    }
    assert.deepEqual(await told(given), ['kneaded'])
  })

  test('is not logged when its data is refused; what the failure says is', async () => {
    const given: Bindings = {
      noteKneaded: () => ({ data: { steps: 'none' } as never, log: { message: 'kneaded' } }),
      noteFailed: say('failed'),
    }
    assert.deepEqual(await told(given), ['failed'])
  })

  test('is not logged when the action is refused', async () => {
    const given: Bindings = {
      noteAgain: (_entity, _facts, input) => ({
        log: { message: 'again' },
        ...(input === null ? {} : { data: { steps: 'none' } as never }),
      }),
    }
    const lines = await told(given, async (control, id) => {
      await assert.rejects(control.act(id, 'again', { input: 'bad' }), (error) => isSluiceError(error, 'invalid'))
      assert.equal((await control.get(id)).state, 'sold')
    })
    assert.deepEqual(lines, [])
    assert.deepEqual(await told(given, async (control, id) => void (await control.act(id, 'again'))), ['again'])
  })

  test('is logged once although two ask for it at the same moment', async () => {
    const lines = await told({ noteAgain: say('again') }, async (control, id) => {
      const asked = await Promise.allSettled([control.act(id, 'again'), control.act(id, 'again')])
      assert.deepEqual(asked.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
    })
    assert.deepEqual(lines, ['again'])
  })

  test('an action’s assign is told the reason, and none if none was given', async () => {
    const reasons: unknown[] = []
    const given: Bindings = {
      noteAgain: (_entity, { reason }) => {
        reasons.push(reason)
        return {}
      },
    }
    await told(given, async (control, id) => void (await control.act(id, 'again', { reason: 'more guests' })))
    await told(given, async (control, id) => void (await control.act(id, 'again')))
    assert.deepEqual(reasons, ['more guests', null])
  })
})
