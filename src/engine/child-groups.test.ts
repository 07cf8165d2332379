import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { pino } from 'pino'
import type { ChildGroup, Explanation } from '../control.ts'
import type { EntityId } from '../entity.ts'
import { type Implementation, implement, type Processor } from '../implementation.ts'
import { defineMachine } from '../machine.ts'
import { poll, retry } from '../outcome.ts'
import { memoryStore } from '../store/memory/index.ts'
import { simulatedClock } from '../testing/index.ts'
import { Engine } from './engine.ts'

/** Its children are spawned as the data says: lane and kind, so many times. */
const basket = defineMachine({
  name: 'basket',
  version: 1,
  initial: ['filling'],
  settled: ['closed', 'failed'],
  final: ['closed', 'failed'],
  states: {
    filling: 'f',
    open: 'o',
    closed: { purpose: 'c', outcome: 'success' },
    failed: { purpose: 'x', outcome: 'failure' },
  },
  transitions: {
    fill: { from: 'filling', to: 'open', on: 'done', processor: 'fill' },
    fail: { from: 'filling', to: 'failed', on: 'fail' },
    close: { from: 'open', to: 'closed', on: 'children' },
  },
})

const egg = defineMachine({
  name: 'egg',
  version: 1,
  parent: 'basket',
  initial: ['raw', 'behind_gate', 'kept'],
  settled: ['boiled', 'broken'],
  final: ['boiled', 'broken'],
  states: {
    kept: 'A person decides.',
    behind_gate: 'g',
    raw: 'r',
    boiled: { purpose: 'b', outcome: 'success' },
    broken: { purpose: 'x', outcome: 'failure' },
  },
  transitions: {
    open_gate: { from: 'behind_gate', to: 'raw', on: 'gate' },
    take: { from: 'kept', to: 'raw', on: 'action' },
    boil: { from: 'raw', to: 'boiled', on: 'done', processor: 'boil' },
    break: { from: 'raw', to: 'broken', on: 'fail' },
  },
  labels: ['colour'],
  policies: {
    boil: {
      attemptsMax: 3,
      concurrencyPer: { label: 'colour', max: 2 },
      backoff: { firstMs: 60_000, factor: 1, maxMs: 60_000, jitter: 0 },
    },
  },
})

/** Known to those who submit; no process here works on it. */
const stone = defineMachine({
  name: 'stone',
  version: 1,
  parent: 'basket',
  initial: ['lying'],
  settled: ['thrown', 'lost'],
  final: ['thrown', 'lost'],
  states: { lying: 'l', thrown: { purpose: 't', outcome: 'success' }, lost: { purpose: 'x', outcome: 'failure' } },
  transitions: {
    throw: { from: 'lying', to: 'thrown', on: 'done', processor: 'throw' },
    lose: { from: 'lying', to: 'lost', on: 'fail' },
  },
  policies: { throw: { role: 'strong' } },
})

interface Fill {
  readonly lane: string
  readonly count: number
  readonly machine?: string
  readonly state?: string
  readonly kind?: string
  readonly colour?: string
}

const fill: Processor = async ({ data, spawn }) => {
  for (const { count, lane, machine = 'egg', state, kind = 'good', colour } of data as readonly Fill[]) {
    const child = { machine, lane, data: { kind, colour }, ...(state === undefined ? {} : { state }) }
    await spawn(Array.from({ length: count }, () => child))
  }
}

const boil: Processor = async ({ data, signal }) => {
  const { kind } = data as Fill
  if (kind === 'hot') return retry('the stove is cold.')
  if (kind === 'foreign') return poll(30_000)
  if (kind === 'slow') await new Promise((resolve) => signal.addEventListener('abort', resolve))
  return undefined
}

const implementations = [
  implement(basket, { processors: { fill } }),
  implement(egg, { processors: { boil } }),
  implement(stone, { processors: { throw: () => {} } }),
] as readonly unknown[] as readonly Implementation[]

suite('a parent explains what its open children wait for', () => {
  const clock = simulatedClock()
  const engine = new Engine({
    store: memoryStore({ clock }),
    clock,
    implementations,
    roles: ['weak'],
    log: pino({ level: 'silent' }),
  })
  const { control } = engine

  before(() => engine.start())
  after(async () => {
    const stopped = engine.stop()
    await clock.advance('1m')
    await stopped
  })

  /** A basket whose children have come to rest. */
  async function basketOf(...fills: readonly Fill[]): Promise<EntityId> {
    const { id } = await control.submit('basket', fills)
    await clock.advance('1s')
    return id
  }

  async function explained(id: EntityId): Promise<Explanation & { readonly children: readonly ChildGroup[] }> {
    const explanation = await control.explain(id)
    assert.equal(explanation.kind, 'children', explanation.sentence)
    return { ...explanation, children: explanation.facts.children as readonly ChildGroup[] }
  }

  const idsOf = async (parent: EntityId) => (await control.list({ parent })).entities.map(({ id }) => id)

  test('held: by which hold', async () => {
    const hold = await control.hold({ label: { name: 'colour', value: 'red' } }, { reason: 'Audit.', owner: 'ada' })
    const id = await basketOf({ lane: 'first', count: 7, colour: 'red' }, { lane: 'first', count: 3 })
    const { sentence, children } = await explained(id)
    const ids = await idsOf(id)
    assert.equal(
      sentence,
      `basket ${id} waits for its children: 3 of 10 are settled, 7 are open. ` +
        `7 are held by ada: Audit (hold ${hold.id}) (${ids.slice(0, 5).join(', ')}, …).`,
    )
    const [group] = children
    assert.deepEqual(
      { kind: group?.kind, count: group?.count, exact: group?.exact, hold: group?.hold, lane: group?.lane },
      {
        ...{ kind: 'held', count: 7, exact: true, lane: 'first' },
        hold: { id: hold.id, reason: 'Audit.', owner: 'ada', until: null },
      },
    )
    await control.release(hold.id)
    await clock.advance('1s')
    assert.equal((await control.get(id)).state, 'closed')
  })

  test('retrying: when, and after what; scheduled: when', async () => {
    const id = await basketOf({ lane: 'first', count: 2, kind: 'hot' }, { lane: 'first', count: 1, kind: 'foreign' })
    const { sentence, children } = await explained(id)
    assert.match(sentence, /2 are tried again, the first at \d{4}-.*Z \(in 59 s\), after: the stove is cold \(/)
    assert.match(sentence, /1 is scheduled to run at .* \(in 29 s\) \(\d+\)\./)
    assert.deepEqual(
      children.map(({ kind, count, error }) => [kind, count, error]),
      [
        ['retrying', 2, 'the stove is cold.'],
        ['scheduled', 1, null],
      ],
    )
    assert.equal(children[0]?.at, Math.min(...(await waitsOf(id))))
  })

  async function waitsOf(parent: EntityId): Promise<readonly number[]> {
    const { entities } = await control.list({ parent })
    return entities.flatMap(({ wait, attempts }) => (wait.for === 'run' && attempts > 0 ? [wait.at] : []))
  }

  test('no worker: which machine and role', async () => {
    const id = await basketOf({ lane: 'stones', count: 3, machine: 'stone' })
    const { sentence, children } = await explained(id)
    assert.match(sentence, /3 could go on, but no live worker that serves stone@1 has the role strong \(/)
    assert.deepEqual(
      children.map(({ kind, machine, role }) => [kind, machine, role]),
      [['no_worker', 'stone@1', 'strong']],
    )
  })

  test('running, and waiting for room; behind a gate, in the order of steps; for a person', async () => {
    const id = await basketOf(
      { lane: 'list', count: 4, kind: 'slow', colour: 'blue' },
      { lane: 'fetch', count: 1, state: 'kept' },
      { lane: 'apply', count: 5, state: 'behind_gate' },
    )
    const { sentence, children } = await explained(id)
    assert.deepEqual(
      children.map(({ kind, count, lane, pool, behind }) => ({ kind, count, lane, pool, behind })),
      [
        { kind: 'person', count: 1, lane: 'fetch', pool: null, behind: [] },
        { kind: 'full', count: 2, lane: 'list', pool: 'run:egg/boil/blue', behind: [] },
        { kind: 'gated', count: 5, lane: 'apply', pool: null, behind: ['list', 'fetch'] },
        { kind: 'running', count: 2, lane: 'list', pool: null, behind: [] },
      ],
    )
    assert.match(sentence, /5 wait behind the gate of apply, until list and fetch are complete \(/)
    assert.match(sentence, /2 run now \(\d+, \d+\)\.$/)
  })

  test('of very many children only some are looked at, and the sentence says so', async () => {
    const id = await basketOf({ lane: 'first', count: 1_500, state: 'kept' })
    const { sentence, children } = await explained(id)
    assert.match(
      sentence,
      /0 of 1,500 are settled, 1,500 are open\. Of 200 open ones looked at, 200 wait for a person \(/,
    )
    assert.deepEqual(
      children.map(({ kind, count, exact }) => [kind, count, exact]),
      [['person', 200, false]],
    )
  })
})
