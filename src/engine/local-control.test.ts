import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { z } from 'zod'
import { systemClock } from '../clock.ts'
import type { Change, Control } from '../control.ts'
import { isSluiceError } from '../errors.ts'
import { implement } from '../implementation.ts'
import { defineMachine } from '../machine.ts'
import { done } from '../outcome.ts'
import { memoryStore } from '../store/memory/index.ts'
import type { Store } from '../store.ts'
import { Engine } from './engine.ts'

const ends = { settled: ['sent', 'failed', 'cancelled'], final: ['sent', 'cancelled'] } as const

const parcel = defineMachine({
  name: 'parcel',
  version: 1,
  parent: 'shipment',
  initial: ['ready', 'gate_waiting', 'draft'],
  ...ends,
  states: {
    draft: 'A person packs it.',
    gate_waiting: { purpose: 'The step before is not complete.', title: 'GATE_WAITING' },
    ready: { purpose: 'Packed.', title: 'READY' },
    sent: { purpose: 'On its way.', retentionMs: 60_000 },
    failed: 'Came back.',
    cancelled: 'Given up.',
  },
  transitions: {
    open_gate: { from: 'gate_waiting', to: 'ready', on: 'gate' },
    pack: { from: 'draft', to: 'ready', on: 'action', when: 'hasAddress' },
    send: { from: 'ready', to: 'sent', on: 'done', processor: 'send' },
    fail: { from: 'ready', to: 'failed', on: 'fail' },
    retry: { from: 'failed', to: 'ready', on: 'action' },
    cancel: {
      from: ['draft', 'ready', 'failed'],
      to: 'cancelled',
      on: 'action',
      warning: 'A cancelled parcel is gone for good.',
    },
  },
  data: z.object({ address: z.string(), broken: z.boolean().optional() }),
  labels: ['address'],
})

const shipment = defineMachine({
  name: 'shipment',
  version: 1,
  initial: ['loading'],
  settled: ['delivered', 'failed'],
  final: ['delivered', 'failed'],
  states: {
    loading: 'Parcels are made.',
    moving: 'Parcels are sent.',
    delivered: 'All are settled.',
    failed: 'Empty.',
  },
  transitions: {
    load: { from: 'loading', to: 'moving', on: 'done', processor: 'load', ensure: 'some' },
    fail: { from: 'loading', to: 'failed', on: 'fail' },
    close: { from: 'moving', to: 'delivered', on: 'children' },
    open: { from: 'moving', to: 'moving', on: 'action', assign: 'openStep' },
  },
  data: z.object({ parcels: z.number(), state: z.string() }),
})

const implementations = [
  implement(parcel, {
    processors: {
      send: ({ data }) => (data.broken ? { kind: 'fail', reason: 'broken', error: 'It broke on the way.' } : done()),
    },
    criteria: { hasAddress: ({ data }) => data.address !== '' || 'it has no address' },
  }),
  implement(shipment, {
    processors: {
      load: (context) =>
        context.spawn(
          Array.from({ length: context.data.parcels }, () => ({
            machine: 'parcel',
            lane: context.data.state === 'gate_waiting' ? 'step 2' : 'step 1',
            state: context.data.state,
            data: { address: 'Rome' },
          })),
        ),
    },
    criteria: { some: ({ data }) => data.parcels > 0 },
    assigns: { openStep: () => ({ open: ['step 2'] }) },
  }),
]

const limits = { pollMs: 200, pageMax: 10, createMax: 7 }

function engineOn(store: Store): Engine {
  return new Engine({ store, implementations, limits, name: 'test' })
}

/** A refusal with this code, whose message says this. */
function refuses(code: string, message: RegExp) {
  return (error: unknown) => {
    assert.ok(isSluiceError(error), String(error))
    assert.equal(error.code, code)
    assert.match(error.message, message)
    return true
  }
}

const draft = { state: 'draft' } as const
const rome = { address: 'Rome' }

suite('the local control', () => {
  const store = memoryStore({ limits })
  const engine = engineOn(store)
  const control: Control = engine.control
  before(() => engine.start())
  after(() => engine.stop())

  test('what is submitted settles, and can be looked at', async () => {
    const { id, existing } = await control.submit('parcel', rome, { actor: 'ada' })
    assert.equal(existing, false)
    const settled = await control.settled(id, 10_000)
    assert.equal(settled?.state, 'sent')
    assert.deepEqual(settled?.data, rome)
    assert.deepEqual(settled?.actions, [])
    const history = await control.history(id)
    assert.deepEqual(
      history.map(({ seq, from, to, cause, actor }) => [seq, from, to, cause, actor]),
      [
        [0, null, 'ready', 'create', 'ada'],
        [1, 'ready', 'sent', 'done', null],
      ],
    )
    assert.deepEqual(await control.history(id, { limit: 1 }), history.slice(0, 1))
    assert.deepEqual(await control.history(id, { afterSeq: 0 }), history.slice(1))
  })

  test('the same key gives the same entity', async () => {
    const both = await Promise.all([1, 2].map(() => control.submit('parcel', rome, { key: 'rome-1', ...draft })))
    assert.deepEqual(both.map(({ existing }) => existing).sort(), [false, true])
    assert.equal(both[0]?.id, both[1]?.id)
  })

  test('many are stored in groups, in their order', async () => {
    const items = Array.from({ length: 20 }, (_, index) => ({ data: { address: `Street ${index}` }, ...draft }))
    const submitted = await control.submitMany('parcel', items)
    const page = await control.list({ label: { name: 'address', value: 'Street 13' }, machine: 'parcel' })
    assert.deepEqual(
      page.entities.map(({ id }) => id),
      [submitted[13]?.id],
    )
  })

  test('of many, nothing is stored if one is wrong, and the message says which', async () => {
    const count = async () => (await control.totals()).reduce((sum, lane) => sum + lane.total, 0)
    const total = await count()
    const items = [{ data: rome }, { data: { address: 7 } }]
    await assert.rejects(control.submitMany('parcel', items), refuses('invalid', /items\[1\].*address/))
    assert.equal(await count(), total)
  })

  test('bad input is refused with one clear error each', async () => {
    await assert.rejects(control.submit('letter', {}), refuses('not_found', /no machine letter.*parcel/))
    await assert.rejects(control.submit('parcel', rome, { state: 'sent' }), refuses('invalid', /cannot begin in sent/))
    await assert.rejects(control.submit('parcel', rome, { version: 9 }), refuses('not_found', /parcel@9/))
    await assert.rejects(control.submit('parcel', rome, { priority: 0.5 }), refuses('invalid', /Priority/))
    await assert.rejects(control.submit('parcel', rome, { at: Number.NaN }), refuses('invalid', /time/))
    await assert.rejects(control.get(999_999), refuses('not_found', /no entity 999999/))
    await assert.rejects(control.get(0.5), refuses('invalid', /whole number/))
    await assert.rejects(control.settled(999_999, 1), refuses('not_found', /no entity 999999/))
    await assert.rejects(control.list({ limit: 11 }), refuses('invalid', /1 to 10 rows; 11/))
    await assert.rejects(
      control.list({ machine: 'parcel', states: ['snet'] }),
      refuses('invalid', /no state snet.*sent/),
    )
    await assert.rejects(
      control.list({ label: { name: 'town', value: '' } }),
      refuses('invalid', /label town.*address/),
    )
    await assert.rejects(control.actOnMany({ machine: 'parcel' }, 'burn'), refuses('invalid', /no action burn.*cancel/))
  })

  test('lists go on from where a page ended', async () => {
    const ids: number[] = []
    let next: number | null | undefined
    do {
      const page = await control.list({
        machine: 'parcel',
        states: ['draft'],
        limit: 4,
        ...(next ? { after: next } : {}),
      })
      ids.push(...page.entities.map(({ id }) => id))
      next = page.next
    } while (next !== null)
    assert.ok(ids.length >= 20)
    assert.deepEqual(
      ids,
      [...new Set(ids)].sort((one, other) => one - other),
    )
  })

  test('a parent tells its progress', async () => {
    const { id } = await control.submit('shipment', { parcels: 5, state: 'ready' })
    assert.equal((await control.settled(id, 10_000))?.state, 'delivered')
    const { total, settled, open, counts, percent, etaMs, ratePerSecond } = await control.progress(id)
    assert.deepEqual(
      { total, settled, open, percent, etaMs },
      { total: 5, settled: 5, open: 0, percent: 100, etaMs: 0 },
    )
    assert.deepEqual(counts, { sent: 5 })
    assert.ok(ratePerSecond === null || ratePerSecond > 0)
    assert.deepEqual(
      (await control.lanes(id)).map(({ name }) => name),
      ['step 1'],
    )
    assert.deepEqual(await control.check([id, null]), [])
  })

  test('behind an open gate a child is shown where the gate leads', async () => {
    const { id } = await control.submit('shipment', { parcels: 1, state: 'gate_waiting' })
    await stateOf(control, id, 'moving')
    const [child] = (await control.list({ parent: id })).entities
    assert.deepEqual([child?.state, child?.shown, child?.title], ['gate_waiting', 'gate_waiting', 'GATE_WAITING'])
    const explanation = await control.explain(child?.id ?? 0)
    assert.equal(explanation.kind, 'gated')
    assert.match(
      (await control.explain(id)).sentence,
      new RegExp(`0 of 1 are settled, 1 is open\\. 1 waits behind the gate of step 2 \\(${child?.id}\\)\\.`),
    )
    // Held, so that the open gate is seen before a worker takes the child through it.
    const hold = await control.hold({ parent: id }, { reason: 'look', owner: 'ada' })
    await control.act(id, 'open')
    const [shown] = (await control.list({ parent: id })).entities
    assert.deepEqual([shown?.state, shown?.shown, shown?.title], ['gate_waiting', 'ready', 'READY'])
    await control.release(hold.id)
    assert.equal((await control.settled(id, 10_000))?.state, 'delivered')
  })

  test('an action is done with who asked for it', async () => {
    const { id } = await control.submit('parcel', rome, draft)
    const who = { actor: 'ada', role: 'operator', reason: 'lost', requestId: 'r-1' }
    const result = await control.act(id, 'cancel', { ...who, confirmed: true })
    assert.deepEqual(result, { id, kind: 'done', state: 'cancelled' })
    const [, event] = await control.history(id)
    const { actor, role, reason, requestId } = event ?? {}
    assert.deepEqual({ actor, role, reason, requestId }, who)
  })

  test('an action without a name is audited; a reason that nobody gave is none', async () => {
    const { id } = await control.submit('parcel', rome, draft)
    await control.act(id, 'pack')
    const [, event] = await control.history(id)
    for (const text of [event?.actor, event?.role, event?.requestId]) assert.ok(text)
    // Nobody gave a reason, so nobody reads one.
    assert.equal(event?.reason, null)
  })

  test('what is not allowed is refused with what is', async () => {
    const { id } = await control.submit('parcel', { address: '' }, draft)
    const { seq, actions } = await control.get(id)
    assert.deepEqual(
      actions.map(({ action, refusal, warning }) => [action, refusal, warning]),
      [
        ['pack', 'it has no address', null],
        ['cancel', null, 'A cancelled parcel is gone for good.'],
      ],
    )
    await assert.rejects(
      control.act(id, 'retry'),
      refuses('conflict', /draft; it cannot retry. Allowed now: pack, cancel/),
    )
    await assert.rejects(control.act(id, 'pack'), refuses('conflict', /it has no address/))
    await assert.rejects(control.act(id, 'cancel'), refuses('conflict', /gone for good/))
    await assert.rejects(control.act(id, 'cancel', { seq: seq + 1, confirmed: true }), refuses('conflict', /stale seq/))
    assert.equal((await control.get(id)).state, 'draft')
    await control.act(id, 'cancel', { seq, confirmed: true })
  })

  test('a hold stops, says why, and is released', async () => {
    const label = { name: 'address', value: 'Oslo' }
    const hold = await control.hold({ label }, { reason: 'the road is closed', owner: 'ada' })
    const { id } = await control.submit('parcel', { address: 'Oslo' })
    const { kind, sentence } = await control.explain(id)
    assert.equal(kind, 'held')
    assert.match(sentence, /held by ada.*the road is closed/)
    assert.deepEqual(
      (await control.holds()).map(({ id }) => id),
      [hold.id],
    )
    await control.release(hold.id)
    assert.equal((await control.settled(id, 10_000))?.state, 'sent')
    await assert.rejects(control.release(hold.id), refuses('not_found', /no hold/))
  })

  test('a hold without scope, reason or future is refused', async () => {
    const order = { reason: 'why', owner: 'ada' }
    await assert.rejects(control.hold({}, order), refuses('invalid', /must name/))
    await assert.rejects(control.hold({ machine: 'letter' }, order), refuses('not_found', /letter/))
    await assert.rejects(control.hold({ machine: 'parcel', state: 'x' }, order), refuses('invalid', /no state x/))
    await assert.rejects(control.hold({ entity: 1 }, { ...order, reason: ' ' }), refuses('invalid', /reason/))
    await assert.rejects(control.hold({ entity: 1 }, { ...order, owner: '' }), refuses('invalid', /owner/))
    await assert.rejects(control.hold({ entity: 1 }, { ...order, until: 5 }), refuses('invalid', /future/))
    assert.deepEqual(await control.holds(), [])
  })

  test('a priority is set where the entity waits, and refused where it does not', async () => {
    const { id } = await control.submit('parcel', rome, draft)
    await control.prioritise(id, -5)
    assert.equal((await control.get(id)).priority, -5)
    await control.act(id, 'cancel', { confirmed: true })
    await assert.rejects(control.prioritise(id, 1), refuses('conflict', /no line/))
    await assert.rejects(control.prioritise(id, 1e9), refuses('invalid', /Priority/))
  })

  test('watching shows births and hops from the moment of the call, and ends when aborted', async () => {
    const abort = new AbortController()
    const changes = control.watch({ signal: abort.signal })
    const { id } = await control.submit('parcel', rome)
    const seen: Change[] = []
    for await (const change of changes) {
      seen.push(change)
      if (change.events.some((event) => event.entity === id && event.to === 'sent')) abort.abort()
    }
    const births = seen.flatMap((change) => change.births)
    assert.equal(births[0], id)
    const positions = seen.map((change) => change.position)
    assert.deepEqual(
      positions,
      positions.toSorted((one, other) => one - other),
    )
    // A reader that comes back with an old position is shown the same again.
    const again = control.watch({ after: 0, ids: [id] })[Symbol.asyncIterator]()
    const first: Change = (await again.next()).value
    assert.deepEqual(first.births, [id])
    await again.return?.()
  })

  test('waiting for one that does not settle ends with null', async () => {
    const { id } = await control.submit('parcel', rome, draft)
    assert.equal(await control.settled(id, 5), null)
    await control.act(id, 'cancel', { confirmed: true })
    assert.equal((await control.settled(id, 5))?.state, 'cancelled')
  })

  test('whoever waits for what he has just submitted has the store asked once it is settled; others at once', async (t) => {
    const get = t.mock.method(store, 'get')
    const { id } = await control.submit('parcel', rome)
    assert.equal((await control.settled(id, 10_000))?.state, 'sent')
    assert.equal(get.mock.callCount(), 1)
    const later = control.settled(id, 10_000)
    assert.equal(get.mock.callCount(), 2)
    assert.equal((await later)?.state, 'sent')
  })

  test('what another process settles is noticed as well', async () => {
    const { id } = await control.submit('parcel', rome, draft)
    const settled = control.settled(id, 10_000)
    const other = engineOn(store)
    await other.prepare()
    await other.control.act(id, 'cancel', { confirmed: true })
    assert.equal((await settled)?.state, 'cancelled')
  })

  test('something submitted for later is scheduled, and runs then', async () => {
    const { id } = await control.submit('parcel', rome, { at: store.time() + 300 })
    assert.equal((await control.explain(id)).kind, 'scheduled')
    assert.equal((await control.settled(id, 10_000))?.state, 'sent')
  })

  test('machines and workers are listed', async () => {
    assert.deepEqual((await control.machines()).map(({ name }) => name).sort(), ['parcel', 'shipment', 'walk'])
    const [worker] = await control.workers()
    assert.deepEqual(worker?.machines, ['parcel@1', 'shipment@1', 'walk@1'])
  })
})

test('an unanswered create is repeated under the same operation, and made once', async () => {
  const store = memoryStore({ limits })
  const operations: string[] = []
  const lossy: Store = {
    ...store,
    async create(operation, births) {
      operations.push(operation)
      const verdicts = await store.create(operation, births)
      if (operations.length < 3) throw new Error('the connection was cut')
      return verdicts
    },
  }
  const { control } = engineOn(lossy)
  const { id } = await control.submit('parcel', rome)
  assert.equal(new Set(operations).size, 1)
  assert.deepEqual(
    (await control.list({})).entities.map((entity) => entity.id),
    [id],
  )
})

test('a create that is never answered ends in one error that says what to do', async () => {
  const store = memoryStore({ limits })
  const silent: Store = { ...store, create: () => Promise.reject(new Error('nobody is there')) }
  // Pauses that take no time: only their number matters here.
  const { after: _after, ...rest } = systemClock()
  const after = (_delayMs: number, callback: () => void) => {
    queueMicrotask(callback)
    return () => {}
  }
  const clock = { ...rest, after }
  const { control } = new Engine({ store: silent, implementations, limits, clock })
  await assert.rejects(control.submit('parcel', rome), refuses('internal', /nobody is there.*same key/))
})

test('what retention removed is still answered for', async (t) => {
  const store = memoryStore({ limits })
  const engine = engineOn(store)
  const { control } = engine
  t.after(() => engine.stop())
  await engine.start()
  const { id } = await control.submit('parcel', rome, { key: 'once' })
  await control.settled(id, 10_000)
  await store.purge(id, 10)
  const detail = await control.get(id)
  assert.deepEqual([detail.purged, detail.state, detail.data], [true, 'sent', rome])
  assert.deepEqual(await control.history(id), [])
  assert.match((await control.explain(id)).sentence, /removed by retention/)
  assert.deepEqual(await control.submit('parcel', rome, { key: 'once' }), { id, existing: true })
  await assert.rejects(control.act(id, 'cancel'), refuses('conflict', /removed by retention/))
})

/** Waits until the entity is in this state, by watching it. */
async function stateOf(control: Control, id: number, state: string): Promise<void> {
  const changes = control.watch({ ids: [id], after: 0 })
  for await (const change of changes) if (change.events.some((event) => event.to === state)) return
}
