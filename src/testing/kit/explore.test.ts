import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { z } from 'zod'
import type { Control } from '../../control.ts'
import { implement, type Processor } from '../../implementation.ts'
import { defineMachine } from '../../machine.ts'
import { done } from '../../outcome.ts'
import type { Effects } from './effects.ts'
import { type ExploreOptions, explore } from './explore.ts'
import type { KitTools } from './fleet.ts'

const letter = defineMachine({
  name: 'letter',
  version: 1,
  initial: ['written'],
  settled: ['sent', 'failed'],
  final: ['sent', 'failed'],
  states: { written: 'To be sent.', sent: 'On its way.', failed: 'Cannot be sent.' },
  transitions: {
    send: { from: 'written', to: 'sent', on: 'done', processor: 'send' },
    fail: { from: 'written', to: 'failed', on: 'fail' },
  },
  data: z.object({ to: z.string() }),
})

const mailing = defineMachine({
  name: 'mailing',
  version: 1,
  initial: ['planned'],
  settled: ['closed', 'failed'],
  final: ['closed', 'failed'],
  states: {
    planned: 'To be split.',
    sending: 'Letters are on their way.',
    closed: 'All are sent.',
    failed: 'No letters.',
  },
  transitions: {
    split: { from: 'planned', to: 'sending', on: 'done', processor: 'split' },
    fail: { from: 'planned', to: 'failed', on: 'fail' },
    close: { from: 'sending', to: 'closed', on: 'children' },
  },
  data: z.object({ addresses: z.array(z.string()), total: z.number().optional() }),
})

type Mailing = { addresses: string[]; total?: number | undefined }
type Letter = { to: string }
interface Processors {
  send(tools: KitTools): Processor<Letter>
  split(tools: KitTools): Processor<Mailing>
}

const addresses = ['ann', 'bob', 'cid', 'dan', 'eve']

const right: Processors = {
  send:
    ({ effects }) =>
    async (context) => {
      await effects.perform('mail', { key: context.idempotencyKey, value: context.data.to })
      return done()
    },
  /** Two addresses at a time; all that it must remember is in the cursor. */
  split: () => async (context) => {
    const { addresses } = context.data
    let { next, total } = (context.cursor as { next: number; total: number } | null) ?? { next: 0, total: 0 }
    while (next < addresses.length) {
      const group = addresses.slice(next, next + 2)
      await context.spawn(group.map((to) => ({ machine: 'letter', data: { to } })))
      next += group.length
      total += group.length
      await context.checkpoint({ next, total })
    }
    return done({ addresses, total })
  },
}

async function check(control: Control, effects: Effects): Promise<void> {
  const { entities } = await control.list({ machine: 'letter' })
  assert.deepEqual(
    entities.map(({ data }) => (data as Letter).to),
    addresses,
    'each address has one letter',
  )
  const [only] = (await control.list({ machine: 'mailing' })).entities
  assert.ok(only)
  assert.equal(only.state, 'closed')
  assert.equal((only.data as Mailing).total, addresses.length)
  assert.deepEqual(effects.doubled(), [])
  assert.equal(effects.count('mail'), addresses.length)
}

function story(changes: Partial<Processors> = {}, options: Partial<ExploreOptions> = {}): ExploreOptions {
  const { send, split } = { ...right, ...changes }
  return {
    implementations: (tools) => [
      implement(letter, { processors: { send: send(tools) } }),
      implement(mailing, { processors: { split: split(tools) } }),
    ],
    start: (control) => control.submit('mailing', { addresses }),
    check,
    ...options,
  }
}

async function complaint(options: ExploreOptions): Promise<string> {
  try {
    await explore(options)
  } catch (error) {
    return (error as Error).message
  }
  return 'no complaint'
}

describe('right processors', () => {
  test('pass every point, pairs of points, and processes that wake from the dead', async () => {
    const { points, runs, missed, skipped, names } = await explore(story({}, { zombies: true, pairs: 20 }))
    assert.ok(points >= 40, `${points} points`)
    assert.equal(runs, 1 + 2 * points + 20)
    assert.deepEqual([missed, skipped], [[], 0])
    for (const name of [
      'before split of mailing 1',
      'before the commit of mailing 1 (a checkpoint)',
      'after the commit of mailing 1 (a checkpoint)',
      'after split of mailing 1, before its commit',
      'after the commit of mailing 1 (planned -> sending)',
      'before the effect mail by send of letter 2',
      'after the effect mail by send of letter 2',
    ]) {
      assert.ok(names.includes(name), `${name}\n${names.join('\n')}`)
    }
  })

  test('with more points than wanted, some are tried, from beginning to end', async () => {
    const { points, runs, skipped } = await explore(story({}, { maxPoints: 5 }))
    assert.deepEqual([runs, skipped], [6, points - 5])
  })
})

describe('a mistake is found', () => {
  test('an effect without a key is done twice', async () => {
    const message = await complaint(
      story({
        send:
          ({ effects }) =>
          async (context) => {
            await effects.perform('mail', { value: context.data.to })
            return done()
          },
      }),
    )
    assert.match(message, /^explore: point \d+ of \d+: the process died (before|after) .* letter \d+/)
    assert.match(message, /The effect mail "ann" was done 2 times by send of letter 2: it was given no key/)
    assert.match(message, /To try it alone: explore\(\{ …, only: \d+ \}\)/)
  })

  test('ordinals left to chance give some addresses two letters', async () => {
    const message = await complaint(
      story(
        {
          split:
            ({ clock }) =>
            async (context) => {
              const { addresses } = context.data
              for (const to of addresses) {
                const ordinal = Math.floor(clock.random() * 1_000_000)
                await context.spawn({ machine: 'letter', data: { to }, ordinal })
              }
              return done({ addresses, total: addresses.length })
            },
        },
        // Few children are held in memory, so that they are staged before the end.
        {
          limits: { spawnMax: 2 },
          check: async (control, effects) => {
            const { entities } = await control.list({ machine: 'letter' })
            assert.equal(entities.length, addresses.length, 'each address has one letter')
            assert.deepEqual(effects.doubled(), [])
          },
        },
      ),
    )
    assert.match(message, /^explore: point \d+ of \d+: the process died .* mailing 1/)
    assert.match(message, /each address has one letter/)
  })

  test('a sum kept in memory between checkpoints is lost', async () => {
    const message = await complaint(
      story({
        split: () => {
          let total = 0
          return async (context) => {
            const { addresses } = context.data
            for (let next = (context.cursor as number | null) ?? 0; next < addresses.length; next++) {
              await context.spawn({ machine: 'letter', data: { to: addresses[next] } })
              total += 1
              await context.checkpoint(next + 1)
            }
            return done({ addresses, total })
          }
        },
      }),
    )
    assert.match(message, /the process died .*mailing 1 \(a checkpoint\)/)
    assert.match(message, /4 !== 5/)
  })

  test('work that is not safe while two do it is found by processes that wake from the dead', async () => {
    // Looks before it leaps, and so survives every crash; but two may look at the same time.
    const planted = story(
      {
        send:
          ({ effects, clock }) =>
          async (context) => {
            if (effects.all('mail').some(({ value }) => value === context.data.to)) return done()
            await clock.sleep('1s')
            await effects.perform('mail', { value: context.data.to })
            return done()
          },
      },
      { zombies: true },
    )
    const message = await complaint(planted)
    assert.match(message, /^explore: point zombie \d+ of \d+: the process was paused past its lease .* letter/)
    const only = /only: "(zombie \d+)"/.exec(message)?.[1]
    assert.ok(only)
    assert.equal(await complaint({ ...planted, only }), message)
  })

  test('a story that fails by itself is no matter of crashes', async () => {
    const broken = story({}, { check: () => assert.fail('never content') })
    assert.match(await complaint(broken), /the story fails without any crash\.\n {2}never content/)
  })
})

describe('one point alone', () => {
  test('a failing one fails again, and others are not tried', async () => {
    const planted = story({
      send:
        ({ effects }) =>
        async (context) => {
          await effects.perform('mail', { value: context.data.to })
          return done()
        },
    })
    const message = await complaint(planted)
    const only = Number(/only: (\d+)/.exec(message)?.[1])
    assert.equal(await complaint({ ...planted, only }), message)
    assert.equal((await explore({ ...planted, only: 1 })).runs, 2)
  })

  test('a pair is written with a plus', async () => {
    assert.equal((await explore(story({}, { only: '3+4' }))).runs, 3)
  })

  test('a point that is not there is refused', async () => {
    assert.match(await complaint(story({}, { only: 10_000 })), /there is no point 10000. There are \d+ points/)
    assert.match(await complaint(story({}, { only: 'all' })), /there is no point all/)
  })
})
