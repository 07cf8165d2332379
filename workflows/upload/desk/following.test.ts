import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Following } from './following.ts'
import { ThreadDesk } from './thread-desk.ts'

const mib = 1024 ** 2

test('one question at a time, for four MiB each, and what goes wrong with it is nobody’s loss', async () => {
  const asked: unknown[] = []
  let answer = Promise.withResolvers<never>()
  const desk = {
    ask(...question: unknown[]): Promise<never> {
      asked.push(question)
      return answer.promise
    },
  }
  const following = new Following(desk)
  for (const bytes of [1, 3 * mib, 4 * mib, 5 * mib, 20 * mib]) following.wrote('file.tmp', bytes)
  assert.deepEqual(asked, [['follow', { path: 'file.tmp', bytes: 4 * mib }]])
  answer.reject(new Error('The thread died.'))
  await answer.promise.catch(() => {})
  answer = Promise.withResolvers()
  answer.reject(new Error('So did the next one.'))
  following.wrote('file.tmp', 7 * mib)
  following.wrote('file.tmp', 9 * mib)
  following.ended('digest')
  assert.deepEqual(asked.slice(1), [
    ['follow', { path: 'file.tmp', bytes: 9 * mib }],
    ['followed', { path: 'file.tmp', sha256: 'digest' }],
  ])
})

test('of a small file the desk hears nothing', () => {
  const following = new Following({ ask: () => assert.fail('asked') })
  following.wrote('file.tmp', 4 * mib - 1)
  following.ended('digest')
})

test('what the desk has seen of a file is not read again', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-following-'))
  const settings = { catalogue: join(folder, 'catalogue.db'), textIndex: false, itemBytesMax: 10_000, depthMax: 32 }
  const desk = new ThreadDesk({ folder, ...settings })
  t.after(async () => {
    await desk.stop()
    await rm(folder, { recursive: true, force: true })
  })
  const content = `[${Array.from({ length: 7_000 }, (_, id) => `{"id":${id},"type":"job","text":"${'x'.repeat(2_000)}"}`)}]`
  const sha256 = createHash('sha256').update(content).digest('hex')
  const temporary = join(folder, 'receiving.tmp')
  await writeFile(temporary, content)
  const following = new Following(desk)
  for (const bytes of [4 * mib, 8 * mib]) {
    following.wrote(temporary, bytes)
    // Questions are answered in order: behind this one, the one before has been.
    await desk.unresolved(0)
  }
  await rename(temporary, join(folder, sha256))
  following.ended(sha256)
  const places: number[] = []
  const check = await desk.check(sha256, (bytes) => places.push(bytes), new AbortController().signal)
  assert.deepEqual([check.total, check.fault], [7_000, null])
  assert.ok(places[0]! >= 11 * mib, `its first step ended at ${places[0]}`)
})
