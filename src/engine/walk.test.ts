import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { type Clock, systemClock } from '../clock.ts'
import type { Control } from '../control.ts'
import { implement } from '../implementation.ts'
import { defineMachine } from '../machine.ts'
import { done } from '../outcome.ts'
import { memoryStore } from '../store/memory/index.ts'
import type { Store } from '../store.ts'
import { Engine } from './engine.ts'
import type { WalkData } from './walk.ts'

const letter = defineMachine({
  name: 'letter',
  version: 1,
  initial: ['draft'],
  settled: ['sent', 'burnt'],
  final: ['sent', 'burnt'],
  states: { draft: 'Not finished.', sealed: 'A person looks at it.', sent: 'On its way.', burnt: 'Gone.' },
  transitions: {
    seal: { from: 'draft', to: 'sealed', on: 'action', when: 'even' },
    unseal: { from: 'sealed', to: 'draft', on: 'action', assign: 'breaks' },
    send: { from: 'draft', to: 'sent', on: 'action', processor: 'post' },
    lose: { from: 'draft', to: 'burnt', on: 'fail' },
    burn: { from: ['draft', 'sealed'], to: 'burnt', on: 'action', warning: 'Ashes are not read.' },
  },
  labels: ['box'],
})

interface Letter {
  readonly number: number
  readonly box: string
}

const implementations = [
  implement(letter, {
    processors: { post: () => done() },
    criteria: { even: ({ data }) => (data as Letter).number % 2 === 0 || 'its number is odd' },
    assigns: {
      breaks() {
        throw new TypeError('this rule has a fault')
      },
    },
  }),
]
const limits = { pageMax: 10, pollMs: 200 }
const who = { actor: 'ada', role: 'admin', reason: 'spring cleaning', requestId: 'r-77' }

async function lettersIn(control: Control, box: string, count: number): Promise<readonly number[]> {
  const items = Array.from({ length: count }, (_, number) => ({ data: { number, box } }))
  return (await control.submitMany('letter', items)).map(({ id }) => id)
}

async function settledWalk(control: Control, id: number | null): Promise<WalkData> {
  const detail = await control.settled(id ?? 0, 10_000)
  assert.equal(detail?.state, 'completed', detail?.error ?? '')
  return detail.data as WalkData
}

const inBox = (value: string) => ({ machine: 'letter', label: { name: 'box', value } })

suite('an act on many', () => {
  const store = memoryStore({ limits })
  const engine = new Engine({ store, implementations, limits })
  const { control } = engine
  before(() => engine.start())
  after(() => engine.stop())

  test('counts and warns, and does nothing until it is confirmed', async () => {
    await lettersIn(control, 'a', 3)
    const result = await control.actOnMany(inBox('a'), 'burn')
    assert.deepEqual(result, { matching: 3, exact: true, warnings: ['Ashes are not read.'], walk: null })
    assert.equal(
      (await control.list(inBox('a'))).entities.every(({ state }) => state === 'draft'),
      true,
    )
  })

  test('asks everybody in groups, and reports by verdict with samples', async () => {
    const ids = await lettersIn(control, 'b', 25)
    const { walk } = await control.actOnMany(inBox('b'), 'seal', { ...who, confirm: true })
    const { result } = await settledWalk(control, walk)
    assert.deepEqual([result?.done, result?.refused, result?.requested, result?.stale], [13, 12, 0, 0])
    assert.equal(result?.refusals.length, 12)
    assert.match(result?.refusals[0]?.message ?? '', /its number is odd/)
    assert.equal(result?.refusals[0]?.id, ids[1])
  })

  test('leaves who confirmed it in the history of every single one', async () => {
    const ids = await lettersIn(control, 'c', 12)
    const { walk } = await control.actOnMany(inBox('c'), 'burn', { ...who, confirm: true })
    await settledWalk(control, walk)
    for (const id of ids) {
      const { actor, role, reason, requestId } = (await control.history(id)).at(-1) ?? {}
      assert.deepEqual({ actor, role, reason, requestId }, who)
    }
    assert.equal((await control.get(walk ?? 0)).createdBy, 'ada')
  })

  test('counts those whose processor runs first as requested, and they get there', async () => {
    const ids = await lettersIn(control, 'd', 3)
    const { walk } = await control.actOnMany(inBox('d'), 'send', { ...who, confirm: true })
    assert.equal((await settledWalk(control, walk)).result?.requested, 3)
    for (const id of ids) assert.equal((await control.settled(id, 10_000))?.state, 'sent')
  })

  test('does not touch what came after it was confirmed', async () => {
    const [first] = await lettersIn(control, 'e', 1)
    const { walk } = await control.actOnMany({ ...inBox('e') }, 'burn', { ...who, confirm: true })
    const [later] = await lettersIn(control, 'e', 1)
    const data = await settledWalk(control, walk)
    assert.equal(data.upTo, first)
    assert.equal((await control.get(later ?? 0)).state, 'draft')
  })

  test('with nobody to ask, it completes all the same', async () => {
    const { walk, matching } = await control.actOnMany(inBox('empty'), 'burn', { confirm: true })
    assert.equal(matching, 0)
    assert.equal((await settledWalk(control, walk)).result?.done, 0)
  })

  test('a rule that breaks is one refusal, not the end of the walk', async () => {
    const [id] = await lettersIn(control, 'f', 2)
    await control.act(id ?? 0, 'seal')
    const { walk } = await control.actOnMany(inBox('f'), 'unseal', { confirm: true })
    const { result } = await settledWalk(control, walk)
    assert.equal(result?.refused, 2)
    assert.match(result?.refusals[0]?.message ?? '', /the rules of unseal broke: this rule has a fault/)
  })

  test('counts by lanes where it can, and says at least where it cannot count all', async () => {
    await lettersIn(control, 'many', 250)
    const { matching, exact } = await control.actOnMany({ machine: 'letter', parent: null, states: ['draft'] }, 'burn')
    const drafts = (await control.totals()).find((lane) => lane.machine === 'letter')?.counts.draft
    assert.deepEqual([matching, exact], [drafts, true])
    assert.deepEqual(await control.actOnMany(inBox('many'), 'burn'), {
      ...{ matching: 200, exact: false, warnings: ['Ashes are not read.'], walk: null },
    })
  })
})

test('a walk that is cancelled keeps its report', async (t) => {
  const store = memoryStore({ limits })
  const pages: number[] = []
  const second = Promise.withResolvers<void>()
  const go = Promise.withResolvers<void>()
  const slow: Store = {
    ...store,
    async list(filter) {
      if (filter.upTo !== undefined) pages.push(filter.after ?? 0)
      if (pages.length === 2) {
        second.resolve()
        await go.promise
      }
      return store.list(filter)
    },
  }
  const engine = new Engine({ store: slow, implementations, limits })
  const { control } = engine
  t.after(() => engine.stop())
  await engine.start()
  await lettersIn(control, 'g', 25)
  const { walk } = await control.actOnMany(inBox('g'), 'burn', { ...who, confirm: true })
  await second.promise
  await control.act(walk ?? 0, 'cancel', { confirmed: true })
  const cancelled = await control.settled(walk ?? 0, 10_000)
  go.resolve()
  assert.ok(cancelled)
  assert.equal(cancelled.state, 'cancelled')
  assert.equal((cancelled.data as WalkData).result?.done, 10)
})

test('a walk whose worker died behind a group asks nobody twice, and counts everybody once', async (t) => {
  const store = memoryStore({ limits })
  // The first worker acts on the first group, and never gets to write its checkpoint.
  const died = Promise.withResolvers<void>()
  const dying: Store = {
    ...store,
    async commit(operation, moves) {
      const isCheckpoint = moves.some((move) => move.checkpoint !== undefined)
      if (!isCheckpoint) return store.commit(operation, moves)
      died.resolve()
      return new Promise(() => {})
    },
  }
  const clock = mortalClock()
  const lease = { ...limits, leaseMs: 200, renewMs: 50 }
  const first = new Engine({ store: dying, implementations, limits: lease, clock })
  await first.start()
  const ids = await lettersIn(first.control, 'h', 25)
  const { walk } = await first.control.actOnMany(inBox('h'), 'seal', { ...who, confirm: true })
  await died.promise
  clock.die()
  const second = new Engine({ store, implementations, limits: lease })
  t.after(() => second.stop())
  await second.start()
  const { result } = await settledWalk(second.control, walk)
  assert.deepEqual([result?.done, result?.refused], [13, 12])
  for (const id of ids) assert.ok((await second.control.history(id)).length <= 2)
})

/** The clock of a process that can be killed: from then on nothing of it happens any more. */
function mortalClock(): Clock & { die(): void } {
  const system = systemClock()
  let isDead = false
  const unlessDead = (callback: () => void) => () => {
    if (!isDead) callback()
  }
  return {
    ...system,
    after: (delayMs, callback) => (isDead ? () => {} : system.after(delayMs, unlessDead(callback))),
    soon: (callback) => system.soon(unlessDead(callback)),
    die() {
      isDead = true
    },
  }
}
