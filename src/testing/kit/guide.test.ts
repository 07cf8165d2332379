import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { defineMachine, done, fail, implement, retry } from 'sluice'
import { explore, type ImplementationsFactory, scenario, testKit } from 'sluice/testing'
import { z } from 'zod'

// The examples of docs/guides/testing.md, word for word: the last test compares them.

const order = defineMachine({
  name: 'order',
  version: 1,
  initial: ['placed'],
  settled: ['shipped', 'refused'],
  final: ['shipped'],
  states: { placed: 'To be paid.', paid: 'To be packed.', shipped: 'On its way.', refused: 'Not paid.' },
  transitions: {
    pay: { from: 'placed', to: 'paid', on: 'done', processor: 'charge' },
    ship: { from: 'paid', to: 'shipped', on: 'done', processor: 'pack' },
    refuse: { from: ['placed', 'paid'], to: 'refused', on: 'fail' },
    try_again: { from: 'refused', to: 'placed', on: 'action' },
  },
  data: z.object({ card: z.string(), cents: z.number() }),
  policies: { charge: { attemptsMax: 5 } },
})

const implementations: ImplementationsFactory = ({ effects, clock }) => [
  implement(order, {
    processors: {
      async charge(context) {
        const { card, cents } = context.data
        if (card === 'stolen') return fail('card refused')
        if (card === 'slow' && context.attempt < 3) return retry('the bank does not answer')
        await effects.perform('charge', { key: context.idempotencyKey, value: cents })
        return done()
      },
      async pack(context) {
        await clock.sleep('8m', context.signal)
        return done()
      },
    },
  }),
]

test('an order is charged once and shipped', async () => {
  const kit = testKit({ implementations })
  const { id } = await kit.control.submit('order', { card: 'slow', cents: 999 })
  await kit.drain()
  assert.equal((await kit.control.get(id)).state, 'shipped')
  assert.equal(kit.effects.count('charge'), 1)
  await kit.stop()
})

test('a killed process does not charge twice', async () => {
  const kit = testKit({ implementations })
  const { id } = await kit.control.submit('order', { card: 'good', cents: 999 })
  kit.crashAt('after', 'charge')
  await kit.drain()
  assert.equal((await kit.control.get(id)).state, 'placed')
  await kit.restart()
  await kit.drain()
  assert.equal((await kit.control.get(id)).state, 'shipped')
  assert.deepEqual(kit.effects.doubled(), [])
  await kit.stop()
})

test('a refused order may be tried again', () =>
  scenario(
    { implementations },
    `
    submit order {"card": "stolen", "cents": 5} as o
    drain
    o: placed -> refused because "card refused"
    effects charge: 0
    act o try_again by ann because "the bank called"
    drain
    o: refused -> placed -> refused

    submit order {"card": "good", "cents": 5} as p
    after 5m
    p: paid
    crash
    restart
    explain p: running
    drain
    p: placed -> paid -> shipped
    effects charge: 1
    `,
  ))

test('orders survive a crash at every point', async () => {
  const { points, runs } = await explore({
    implementations,
    start: async (control) => {
      await control.submit('order', { card: 'good', cents: 1 })
      await control.submit('order', { card: 'slow', cents: 2 })
    },
    check: async (control, effects) => {
      const { entities } = await control.list({ machine: 'order' })
      assert.deepEqual(
        entities.map(({ state }) => state),
        ['shipped', 'shipped'],
      )
      assert.deepEqual(effects.doubled(), [])
      assert.equal(effects.count('charge'), 2)
    },
    zombies: true,
    pairs: 10,
  })
  assert.equal(runs, 1 + 2 * points + 10)
})

test('every example of the guide stands in this file', () => {
  const guide = readFileSync(new URL('../../../docs/guides/testing.md', import.meta.url), 'utf8')
  const here = readFileSync(new URL(import.meta.url), 'utf8')
  const examples = [...guide.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code!)
  assert.ok(examples.length >= 5)
  for (const example of examples) assert.ok(here.includes(example), `Not in this file:\n${example}`)
})
