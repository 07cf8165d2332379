import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { type Implementation, implement } from '../implementation.ts'
import { defineMachine } from '../machine.ts'
import { done, fail } from '../outcome.ts'
import { memoryStore } from '../store/memory/index.ts'
import { Engine } from './engine.ts'

/** A processor stops here until it is let through, so that a test can act while it runs. */
class Turnstile {
  readonly reached: Promise<void>
  readonly #opened: Promise<void>
  #reach = () => {}
  #open = () => {}

  constructor() {
    this.reached = new Promise((resolve) => {
      this.#reach = resolve
    })
    this.#opened = new Promise((resolve) => {
      this.#open = resolve
    })
  }

  pass(): Promise<void> {
    this.#reach()
    return this.#opened
  }

  open(): void {
    this.#open()
  }
}

async function started(t: { after(end: () => Promise<void>): void }, implementations: readonly Implementation[]) {
  const engine = new Engine({ store: memoryStore(), implementations, limits: { pollMs: 200 } })
  await engine.start()
  t.after(() => engine.stop())
  const { control } = engine
  /** Watches from before whatever brings the hop about. */
  const taken = (transition: string): Promise<void> => {
    const end = new AbortController()
    return (async () => {
      for await (const { events } of control.watch({ after: 0, signal: end.signal })) {
        if (events.some((event) => event.transition === transition)) return end.abort()
      }
    })()
  }
  return { control, taken }
}

const crate = defineMachine({
  name: 'crate',
  version: 1,
  initial: ['packing'],
  settled: ['sent', 'lost'],
  final: ['sent', 'lost'],
  states: { packing: 'Is packed.', loading: 'Is loaded.', sent: 'On its way.', lost: 'Nowhere.' },
  transitions: {
    pack: { from: 'packing', to: 'loading', on: 'done', processor: 'pack' },
    load: { from: 'loading', to: 'sent', on: 'done', processor: 'load' },
    lose: { from: ['packing', 'loading'], to: 'lost', on: 'fail' },
  },
})

const bill = defineMachine({
  name: 'bill',
  version: 1,
  initial: ['open'],
  settled: ['paid', 'failed'],
  final: ['paid', 'failed'],
  states: { open: 'Is written.', waiting: 'Waits for its entries.', paid: 'All is paid.', failed: 'Void.' },
  transitions: {
    write: { from: 'open', to: 'waiting', on: 'done', processor: 'write' },
    close: { from: 'waiting', to: 'paid', on: 'children', processor: 'add' },
    fail: { from: ['open', 'waiting'], to: 'failed', on: 'fail' },
  },
})

const entry = defineMachine({
  name: 'entry',
  version: 1,
  parent: 'bill',
  initial: ['ready'],
  settled: ['paid', 'failed'],
  final: ['paid'],
  states: { ready: 'Is due.', paid: 'Was paid.', failed: 'Was not paid.' },
  transitions: {
    pay: { from: 'ready', to: 'paid', on: 'done', processor: 'pay' },
    fail: { from: 'ready', to: 'failed', on: 'fail' },
    again: { from: 'failed', to: 'ready', on: 'action' },
  },
})

suite('the executor', () => {
  test('a hold that is set while a processor runs stops the entity before its next one', async (t) => {
    const packing = new Turnstile()
    let loaded = 0
    const { control, taken } = await started(t, [
      implement(crate, {
        processors: {
          pack: () => packing.pass(),
          load: () => {
            loaded += 1
          },
        },
      }),
    ])
    const packed = taken('pack')
    const { id } = await control.submit('crate', null)
    await packing.reached
    const hold = await control.hold({ entity: id }, { reason: 'the lid is loose', owner: 'ada' })
    packing.open()
    await packed
    const { state, owner } = await control.get(id)
    assert.deepEqual([state, owner, loaded], ['loading', null, 0])
    assert.equal((await control.explain(id)).kind, 'held')
    await control.release(hold.id)
    assert.equal((await control.settled(id, 10_000))?.state, 'sent')
    assert.equal(loaded, 1)
  })

  test('what a join computed from children that were reopened meanwhile is dropped, and computed anew', async (t) => {
    const adding = new Turnstile()
    const paying = new Turnstile()
    const sums: number[] = []
    let tries = 0
    const { control, taken } = await started(t, [
      implement(bill, {
        processors: {
          write: (context) => context.spawn({ machine: 'entry', data: null }),
          add: async ({ lanes }) => {
            if (sums.length === 0) await adding.pass()
            sums.push(lanes.reduce((sum, lane) => sum + (lane.counts.paid ?? 0), 0))
            return done({ paid: sums.at(-1) })
          },
        },
      }),
      implement(entry, {
        processors: {
          pay: async () => {
            tries += 1
            if (tries === 1) return fail('no money')
            await paying.pass()
            return done()
          },
        },
      }),
    ])
    const { id } = await control.submit('bill', null)
    await adding.reached
    const [child] = (await control.list({ parent: id })).entities
    const reopened = taken('again')
    await control.act(child!.id, 'again')
    await reopened
    adding.open()
    await paying.reached
    paying.open()
    const settled = await control.settled(id, 10_000)
    assert.deepEqual([settled?.state, settled?.data], ['paid', { paid: 1 }])
    assert.deepEqual(sums, [0, 1])
  })
})
