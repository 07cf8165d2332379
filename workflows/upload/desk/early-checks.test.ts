import assert from 'node:assert/strict'
import { appendFile, mkdtemp, rename, rm, truncate, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import fc from 'fast-check'
import { checkFile } from '../files/file-check.ts'
import { defaultElementLimits } from '../files/file-fault.ts'
import { EarlyChecks } from './early-checks.ts'

const mib = 1024 ** 2
const item = (id: number) => `{"id":${id},"type":"story","title":"${'t'.repeat(3_000)}"}`
const items = (count: number) => Array.from({ length: count }, (_, index) => item(index + 1))

suite('a check that begins while the file is received', () => {
  let folder: string
  let file: string

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-early-'))
    file = join(folder, 'receiving.tmp')
  })

  after(() => rm(folder, { recursive: true, force: true }))

  /** Writes the content in parts, each seen by the checks, and takes the check as its batch would. */
  async function follow(content: Buffer, ends: readonly number[]) {
    const checks = new EarlyChecks(defaultElementLimits)
    await writeFile(file, '')
    let written = 0
    for (const end of [...ends, content.length]) {
      await appendFile(file, content.subarray(written, end))
      written = end
      checks.follow(file, written)
    }
    checks.end(file, 'digest')
    return checks.take('digest', file)
  }

  test('finds the same as one that begins when all of it is there, wherever the parts end', async () => {
    const list = items(3_000)
    const contents = [
      `[${list.join(',')}]`,
      list.join('\n'),
      list.join(''),
      `[${list.join(',')}`,
      `[${list.join(',')}}`,
      `[${list.slice(0, 2_000).join(',')},,${list.slice(2_000).join(',')}]`,
      `${' '.repeat(5 * mib)}[${list.join(',')}]`,
      `["no json" ${list.join(',')}`,
    ].map((text) => Buffer.from(text))
    const division = fc.tuple(
      fc.integer({ min: 0, max: contents.length - 1 }),
      fc.array(fc.integer({ min: 0, max: 9 * mib }), { maxLength: 6 }),
    )
    await fc.assert(
      fc.asyncProperty(division, async ([which, ends]) => {
        const content = contents[which]!
        const places = ends.map((end) => Math.min(end, content.length)).toSorted((one, other) => one - other)
        const checking = await follow(content, places)
        if (!checking) return
        while (checking.step());
        assert.deepEqual(checking.result(), checkFile(file))
      }),
      { numRuns: 40 },
    )
  })

  test('has most of it behind when its batch asks, and reads on although the file has got another name', async () => {
    const content = Buffer.from(`[${items(6_000).join(',')}]`)
    const checking = await follow(
      content,
      Array.from({ length: 4 }, (_, index) => (index + 1) * 4 * mib),
    )
    await rename(file, join(folder, 'digest'))
    assert.ok(checking && checking.bytes > 15 * mib, `only ${checking?.bytes} bytes were read`)
    while (checking.step());
    assert.deepEqual([checking.result().total, checking.result().fault], [6_000, null])
  })

  test('is not begun where its beginning says too little', async () => {
    assert.equal(await follow(Buffer.from('[1,2]'), []), null)
    assert.equal(await follow(Buffer.from(`${' '.repeat(5 * mib)}[]`), [4 * mib]), null)
  })

  test('is dropped with its file, and by its batch taken once', async () => {
    const checks = new EarlyChecks(defaultElementLimits)
    await writeFile(file, `[${items(2_000).join(',')}]`)
    checks.follow(file, 4 * mib)
    checks.end(file, null)
    assert.equal(checks.take('digest', file), null)
    checks.follow(file, 4 * mib)
    checks.end(file, 'digest')
    checks.take('digest', file)?.close()
    assert.equal(checks.take('digest', file), null)
    checks.end('a file that nobody followed', 'other')
    assert.equal(checks.take('other', file), null)
  })

  test('is not used if the file was changed or replaced after it had been received', async () => {
    const content = `[${items(2_000).join(',')}]`
    const received = async () => {
      const checks = new EarlyChecks(defaultElementLimits)
      await writeFile(file, content)
      // Tests are faster than the clock of the file system.
      await utimes(file, 1, 1)
      checks.follow(file, 4 * mib)
      checks.end(file, 'digest')
      return checks
    }
    const untouched = await received()
    const checking = untouched.take('digest', file)
    checking?.close()
    assert.ok(checking)
    const changed = await received()
    await writeFile(file, content.replace('tt', 'uu'))
    assert.equal(changed.take('digest', file), null)
    const replaced = await received()
    await writeFile(join(folder, 'other'), content)
    await utimes(join(folder, 'other'), 1, 1)
    await rename(join(folder, 'other'), file)
    assert.equal(replaced.take('digest', file), null)
  })

  test('is one of a few: neither many receptions nor batches that never ask keep files open', async () => {
    const checks = new EarlyChecks(defaultElementLimits)
    await writeFile(file, `[${items(2_000).join(',')}]`)
    const paths = await Promise.all(
      Array.from({ length: 6 }, async (_, index) => {
        const path = join(folder, `${index}.tmp`)
        await writeFile(path, `[${items(2_000).join(',')}]`)
        return path
      }),
    )
    for (const path of paths) checks.follow(path, 5 * mib)
    for (const path of paths) checks.end(path, path)
    const early = paths.map((path) => checks.take(path, path))
    assert.deepEqual(
      early.map((checking) => checking !== null),
      [true, true, true, true, false, false],
    )
    for (const checking of early) checking?.close()
    for (const path of paths) {
      checks.follow(path, 5 * mib)
      checks.end(path, path)
    }
    assert.equal(checks.take(paths[0]!, paths[0]!), null, 'the oldest made room')
    assert.ok(checks.take(paths[5]!, paths[5]!))
    checks.close()
    assert.equal(checks.take(paths[4]!, paths[4]!), null)
  })

  test('of a file that was cut short meanwhile is an error of the check, not of the desk', async () => {
    const content = Buffer.from(`[${items(6_000).join(',')}]`)
    const checking = await follow(content, [8 * mib])
    await truncate(file, 9 * mib)
    while (checking?.step());
    assert.ok(checking?.result().fault)
  })
})
