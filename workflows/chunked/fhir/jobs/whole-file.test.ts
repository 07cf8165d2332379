import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { WholeFile } from './whole-file.ts'

async function folderOf(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-whole-file-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

test('nothing stands under the name before all is there', async (t) => {
  const folder = await folderOf(t)
  const path = join(folder, 'deep', 'a.txt')
  const file = await WholeFile.create(path, 1)
  await file.write(Buffer.from('one '))
  await file.write(Buffer.from('two'))
  assert.deepEqual(await readdir(join(folder, 'deep')), ['a.txt.1.tmp'])
  assert.equal(await file.publish(), createHash('sha256').update('one two').digest('hex'))
  await file.discard()
  assert.deepEqual(await readdir(join(folder, 'deep')), ['a.txt'])
  assert.deepEqual([await readFile(path, 'utf8'), file.bytes], ['one two', 7])
})

test('whoever was told to end, or has a successor, publishes nothing', async (t) => {
  const folder = await folderOf(t)
  const path = join(folder, 'a.txt')
  const ended = new AbortController()
  const first = await WholeFile.create(path, 1)
  await first.write(Buffer.from('first'))
  ended.abort(new Error('the lease is lost'))
  await assert.rejects(first.publish(ended.signal), /lease is lost/)

  const slow = await WholeFile.create(path, 2)
  await slow.write(Buffer.from('slow'))
  await WholeFile.write(path, 3, 'third')
  await assert.rejects(slow.publish(), { code: 'lease_lost' })
  await slow.discard()
  await first.discard()
  assert.equal(await readFile(path, 'utf8'), 'third')
  assert.deepEqual(await readdir(folder), ['a.txt'])
})

test('of two with the same number the second one has the pen, and the first one takes nothing away', async (t) => {
  const folder = await folderOf(t)
  const path = join(folder, 'a.txt')
  const lost = await WholeFile.create(path, 1)
  const next = await WholeFile.create(path, 1)
  await lost.write(Buffer.from('lost'))
  await next.write(Buffer.from('next'))
  await assert.rejects(lost.publish(), { code: 'lease_lost' })
  await lost.discard()
  await next.publish()
  assert.equal(await readFile(path, 'utf8'), 'next')
})
