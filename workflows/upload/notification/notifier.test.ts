import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Notice } from './notice.ts'
import { allOf, isPermanent, NotificationError, type Notifier } from './notifier.ts'

const notice = { batchId: 7 } as Notice
const options = { key: 'key', signal: new AbortController().signal }

/** A channel that ends as told, one end after the other, the last one for ever. */
function channel(...ends: readonly (Error | null)[]): Notifier & { readonly keys: string[] } {
  const keys: string[] = []
  return {
    keys,
    async send(_notice, { key }) {
      keys.push(key)
      const end = ends[Math.min(keys.length, ends.length) - 1]
      if (end) throw end
    },
  }
}

const later = new NotificationError('Not now.', false)
const never = new NotificationError('Never.', true)

test('all channels get the notice', async () => {
  const [one, two] = [channel(null), channel(null)]
  await allOf([one, two]).send(notice, options)
  assert.deepEqual([one.keys, two.keys], [['key'], ['key']])
})

test('a channel that got it does not get it again when another is tried again', async () => {
  const [one, two] = [channel(null), channel(later, null)]
  const all = allOf([one, two])
  await assert.rejects(all.send(notice, options), later)
  await all.send(notice, options)
  await all.send(notice, { ...options, key: 'another' })
  assert.deepEqual(one.keys, ['key', 'another'])
  assert.deepEqual(two.keys, ['key', 'key', 'another'])
})

test('it is permanent only if nothing is left to try', async () => {
  const endOf = (...ends: (Error | null)[]) =>
    allOf(ends.map((end) => channel(end)))
      .send(notice, options)
      .catch((error: unknown) => error)
  assert.equal(isPermanent(await endOf(never, null)), true)
  assert.equal(isPermanent(await endOf(never, never)), true)
  assert.equal(isPermanent(await endOf(never, later)), false)
  assert.equal(isPermanent(await endOf(later, later)), false)
  assert.equal(isPermanent(await endOf(never, new Error('A fault.'))), false)
  assert.match(String(await endOf(never, later)), /Never\. Not now\./)
})
