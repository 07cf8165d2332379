import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { sleep } from '../clock.ts'
import { implement, type Processor } from '../implementation.ts'
import { defineMachine } from '../machine.ts'
import { done } from '../outcome.ts'
import { explore, testKit } from '../testing/kit/index.ts'

/** Ends, and tells somebody of the end, which is asked for in the commit that ends it. */
const letter = defineMachine({
  name: 'letter',
  version: 1,
  initial: ['open'],
  settled: ['sent', 'torn'],
  final: ['sent', 'torn'],
  states: { open: 'o', sent: 's', torn: 't' },
  transitions: {
    send: { from: 'open', to: 'sent', on: 'done', processor: 'send', assign: 'askForReceipt' },
    give_up: { from: 'open', to: 'torn', on: 'fail' },
    tear: { from: 'open', to: 'torn', on: 'action', role: 'submitter', assign: 'askForRegret' },
    receipt: { from: 'sent', to: 'sent', on: 'action', role: 'admin', processor: 'tell' },
    no_receipt: { from: 'sent', to: 'sent', on: 'fail' },
    regret: { from: 'torn', to: 'torn', on: 'action', role: 'admin', processor: 'tell' },
    no_regret: { from: 'torn', to: 'torn', on: 'fail' },
  },
  policies: {
    send: { attemptsMax: 3, backoff: { firstMs: 10, factor: 1, maxMs: 10, jitter: 0 } },
    tell: { attemptsMax: 3, backoff: { firstMs: 10, factor: 1, maxMs: 10, jitter: 0 } },
  },
})

const office = (tell: Processor, send: Processor = () => done()) => [
  implement(letter, {
    processors: { send, tell },
    assigns: { askForReceipt: () => ({ ask: 'receipt' }), askForRegret: () => ({ ask: 'regret' }) },
  }),
]

suite('a follow-up asked for by the move that ends', () => {
  test('runs once it is saved, in a final state, and leaves it there', async () => {
    const told: string[] = []
    await using kit = testKit({
      implementations: office(({ entity, idempotencyKey }) => {
        told.push(`${entity.state} ${idempotencyKey}`)
      }),
    })
    const { id } = await kit.control.submit('letter', null)
    await kit.drain()
    assert.deepEqual(told, [`sent ${id}:0:receipt`])
    const { state, generation, request } = await kit.control.get(id)
    assert.deepEqual([state, generation, request], ['sent', 0, null])
    const events = await kit.control.history(id)
    assert.deepEqual(
      events.map(({ transition }) => transition),
      ['create', 'send', 'receipt'],
    )
  })

  test('after an action: the action is done, and its own role decides', async () => {
    let told = 0
    await using kit = testKit({
      implementations: office(
        () => {
          told += 1
        },
        async () => {
          await sleep(kit.clock, 60_000)
        },
      ),
    })
    const { id } = await kit.control.submit('letter', null)
    const result = await kit.control.act(id, 'tear', { actor: 'ada', role: 'submitter', reason: 'a slip' })
    assert.deepEqual(result, { id, kind: 'done', state: 'torn' })
    await kit.drain()
    assert.equal(told, 1)
  })

  test('what is under way is what explain speaks of', async () => {
    await using kit = testKit({ implementations: office(() => sleep(kit.clock, 5_000)) })
    const { id } = await kit.control.submit('letter', null)
    await kit.advance('1s')
    const { kind, sentence } = await kit.control.explain(id)
    assert.equal(kind, 'running')
    assert.match(sentence, /runs tell/)
    await kit.drain()
    assert.equal((await kit.control.explain(id)).kind, 'final')
  })

  test('at least once, with one key, wherever the process dies', async () => {
    const { points } = await explore({
      implementations: () => office(({ idempotencyKey }) => done({ key: idempotencyKey })),
      start: (control) => control.submit('letter', null, { key: 'one' }),
      async check(control) {
        const { id } = await control.submit('letter', null, { key: 'one' })
        const { state, data } = await control.get(id)
        assert.deepEqual([state, data], ['sent', { key: `${id}:0:receipt` }])
      },
      zombies: true,
    })
    assert.ok(points > 5)
  })
})
