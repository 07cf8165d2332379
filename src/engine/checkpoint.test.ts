import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { isSluiceError } from '../errors.ts'
import { type Context, implement, type Processor } from '../implementation.ts'
import { defineMachine } from '../machine.ts'
import { done, fail } from '../outcome.ts'
import { explore, testKit } from '../testing/kit/index.ts'

const policy = { attemptsMax: 2, backoff: { firstMs: 100, factor: 1, maxMs: 100, jitter: 0 } }

/** Fills itself, settles, and may be asked for more although it is settled. */
const shelf = defineMachine({
  name: 'shelf',
  version: 1,
  initial: ['filling'],
  settled: ['full', 'failed'],
  final: ['failed'],
  states: { filling: 'f', full: 'u', failed: 'x' },
  transitions: {
    fill: { from: 'filling', to: 'full', on: 'done', processor: 'fill' },
    fail: { from: 'filling', to: 'failed', on: 'fail' },
    dust: { from: 'full', to: 'full', on: 'action', processor: 'dust', when: 'isDusty' },
    no_dust: { from: 'full', to: 'full', on: 'fail' },
    empty: { from: 'full', to: 'filling', on: 'action', when: 'isOld' },
  },
  policies: { fill: policy, dust: policy },
})

const book = defineMachine({
  name: 'book',
  version: 1,
  parent: 'shelf',
  initial: ['dusty'],
  settled: ['dusty', 'clean'],
  final: [],
  states: { dusty: 'd', clean: 'c' },
  transitions: {
    wipe: { from: 'dusty', to: 'clean', on: 'action', when: 'isWhole' },
    smear: { from: 'clean', to: 'dusty', on: 'action' },
  },
})

function library(fill: Processor, dust: Processor = () => done(), isDusty: () => boolean | string = () => true) {
  return [
    implement(shelf, { processors: { fill, dust }, criteria: { isDusty, isOld: () => 'the books are new' } }),
    implement(book, { criteria: { isWhole: ({ ordinal }) => ordinal !== 3 || 'it is torn' } }),
  ]
}

const books = (count: number) => Array.from({ length: count }, () => ({ machine: 'book', data: null }))

/** Runs one shelf to its end, and tells it. */
async function filled(fill: Processor) {
  await using kit = testKit({ implementations: library(fill) })
  const { id } = await kit.control.submit('shelf', null)
  await kit.drain({ stepsMax: 5_000 })
  return kit.control.get(id)
}

suite('a checkpoint and attempts', () => {
  test('one that gets further forgives the attempts before it', async () => {
    const attempts: number[] = []
    const { state } = await filled(async ({ cursor, checkpoint, attempt }) => {
      attempts.push(attempt)
      const next = ((cursor as number | null) ?? 0) + 1
      if (next > 6) return
      await checkpoint(next)
      throw new Error('again')
    })
    assert.equal(state, 'full')
    // Two are allowed; each that gets further leaves one more.
    assert.deepEqual(attempts, [1, 2, 2, 2, 2, 2, 2])
  })

  test('one that repeats the same cursor forgives nothing', async () => {
    let runs = 0
    const { state, reason } = await filled(async ({ checkpoint }) => {
      runs += 1
      await checkpoint('here')
      if (runs < 10) throw new Error('stuck')
    })
    assert.deepEqual([state, reason, runs], ['failed', 'error thrown, attempts spent', 2])
  })

  test('an attempt that makes none is counted, whatever those before have made', async () => {
    let runs = 0
    const { state } = await filled(async ({ checkpoint }) => {
      runs += 1
      if (runs === 2) await checkpoint('further')
      throw new Error('stuck')
    })
    assert.deepEqual([state, runs], ['failed', 3])
  })

  test('two walks of one processor do not forgive each other for ever', async () => {
    let runs = 0
    await using kit = testKit({
      implementations: library(
        async ({ spawn }) => spawn(books(2)),
        async ({ actOnChildren }) => {
          runs += 1
          await actOnChildren('wipe')
          await actOnChildren('smear')
          if (runs < 50) throw new Error('allergic')
        },
      ),
    })
    const { id } = await kit.control.submit('shelf', null)
    await kit.drain()
    await kit.control.act(id, 'dust')
    await kit.drain()
    assert.ok(runs < 25, `${runs} runs, and two attempts were allowed`)
  })
})

suite('an action of a settled state', () => {
  const dust = async ({ actOnChildren }: Context) => {
    const counts = await actOnChildren('wipe', { states: ['dusty'] }, null)
    return done(counts)
  }

  test('a walk over many pages counts each child once, wherever the process dies', async () => {
    const { runs } = await explore({
      implementations: () => library(({ spawn }) => spawn(books(7)), dust),
      limits: { pageMax: 2, leaseMs: 1_000, renewMs: 300 },
      start: async (control, _effects, kit) => {
        const { id } = await control.submit('shelf', null)
        await kit.drain()
        await control.act(id, 'dust')
      },
      check: async (control) => {
        const { entities } = await control.list({ machine: 'shelf', limit: 2 })
        const [found] = entities
        assert.ok(found)
        assert.deepEqual([found.state, found.generation, found.request], ['full', 0, null])
        // One is torn, and refuses. A page that was done and not noted is not done again: it is not dusty any more.
        const lanes = await control.lanes(found.id)
        assert.deepEqual(lanes[0]?.counts, { clean: 6, dusty: 1 })
        const counts = found.data as Record<string, number>
        assert.equal(counts.refused, 1)
        assert.ok((counts.done ?? 0) <= 6, JSON.stringify(counts))
      },
      maxPoints: 60,
    })
    assert.ok(runs > 10, `${runs} runs`)
  })

  test('a checkpoint is for the action that made it, and is gone when it has ended', async () => {
    const cursors: unknown[] = []
    const look: Processor = async ({ cursor, checkpoint, spawn }) => {
      cursors.push(cursor)
      if (cursor !== null) return
      await spawn(books(1))
      await checkpoint('begun')
      throw new Error('sneezed')
    }
    await using kit = testKit({ implementations: library(({ spawn }) => spawn(books(1)), look) })
    const { id } = await kit.control.submit('shelf', null)
    await kit.drain()
    for (let times = 1; times <= 2; times += 1) {
      await kit.control.act(id, 'dust')
      await kit.drain()
      assert.equal((await kit.control.progress(id)).counts.dusty, 1 + times)
    }
    assert.deepEqual(cursors, [null, 'begun', null, 'begun'])
  })

  test('asked for twice, the second is a conflict that names who asked first', async () => {
    let runs = 0
    await using kit = testKit({
      implementations: library(
        () => done(),
        () => {
          runs += 1
          return fail('too much dust')
        },
      ),
    })
    const { id } = await kit.control.submit('shelf', null)
    await kit.drain()
    await kit.control.act(id, 'dust', { actor: 'ada' })
    await assert.rejects(kit.control.act(id, 'dust', { actor: 'bob' }), (error) => {
      assert.ok(isSluiceError(error, 'conflict'))
      assert.match(error.message, /has been asked to dust already by ada; it is under way/)
      return true
    })
    await kit.drain()
    assert.equal(runs, 1)
    // It has ended, though not well: it may be asked again.
    await kit.control.act(id, 'dust', { actor: 'bob' })
    await kit.drain()
    const { state, generation, reason } = await kit.control.get(id)
    assert.deepEqual([runs, state, generation, reason], [2, 'full', 0, 'too much dust'])
  })

  test('explain says which actions are closed, and why', async () => {
    const refusal = 'it was dusted yesterday'
    await using kit = testKit({
      implementations: library(
        () => done(),
        undefined,
        () => refusal,
      ),
    })
    const { id } = await kit.control.submit('shelf', null)
    await kit.drain()
    const explanation = await kit.control.explain(id)
    assert.equal(explanation.kind, 'settled')
    assert.match(explanation.sentence, /it was dusted yesterday/)
    assert.match(explanation.sentence, /the books are new/)
  })
})
