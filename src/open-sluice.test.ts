import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { implement } from './implementation.ts'
import { openSluice } from './index.ts'
import { defineMachine } from './machine.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-open-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const letter = defineMachine({
  name: 'letter',
  version: 1,
  initial: ['written'],
  settled: ['sent', 'lost'],
  final: ['sent', 'lost'],
  states: { written: 'In an envelope.', sent: 'Gone.', lost: 'Gone for good.' },
  transitions: {
    send: { from: 'written', to: 'sent', on: 'done', processor: 'send' },
    lose: { from: 'written', to: 'lost', on: 'fail' },
  },
})
const implementations = [implement(letter, { processors: { send: () => undefined } })]

async function sentFrom(store: string): Promise<string | undefined> {
  const sluice = await openSluice({ store, implementations })
  try {
    const { id } = await sluice.submit('letter', {})
    return (await sluice.settled(id))?.state
  } finally {
    await sluice.stop()
  }
}

test('a program names a store as the command line does', async () => {
  assert.equal(await sentFrom(join(folder, 'plain.db')), 'sent')
  assert.equal(await sentFrom(`sqlite:${join(folder, 'named.db')}`), 'sent')
  assert.ok(existsSync(join(folder, 'plain.db')) && existsSync(join(folder, 'named.db')))
  const before = readdirSync(folder)
  assert.equal(await sentFrom('memory:'), 'sent')
  assert.deepEqual(readdirSync(folder), before)
})

test('what is no address is refused, without its password', async () => {
  for (const store of ['', ':memory:', 'mysql://u:s3cret@h/d', 'sqlite:', 'memory:x']) {
    await assert.rejects(openSluice({ store, implementations }), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'invalid', store)
      assert.doesNotMatch(error.message, /s3cret/)
      return true
    })
  }
})
