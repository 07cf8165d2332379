import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileBytes } from './file-bytes.ts'

let folder = ''
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-bytes-'))
})
after(() => rmSync(folder, { recursive: true, force: true }))

const calm = new AbortController().signal
const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

test('a file is read whole, whatever its length', async () => {
  for (const length of [0, 1, 524_287, 524_288, 524_289, 2_000_003]) {
    const content = randomBytes(length)
    const file = join(folder, String(length))
    writeFileSync(file, content)
    const hash = createHash('sha256')
    let pieces = 0
    for await (const piece of fileBytes(file, calm)) {
      // The reader takes its time: the next piece is read meanwhile, and must not be read into this one.
      await new Promise((resolve) => setTimeout(resolve, 2))
      hash.update(piece)
      pieces += 1
    }
    assert.equal(hash.digest('hex'), digest(content), `${length} bytes`)
    assert.equal(pieces, Math.ceil(length / 524_288))
  }
})

test('whoever leaves early, or is told to stop, leaves nothing open', async () => {
  const file = join(folder, 'long')
  writeFileSync(file, Buffer.alloc(3_000_000, 'x'))
  for await (const piece of fileBytes(file, calm)) {
    assert.equal(piece.length, 524_288)
    break
  }
  const controller = new AbortController()
  const reading = async () => {
    for await (const _ of fileBytes(file, controller.signal)) controller.abort(new Error('enough'))
  }
  await assert.rejects(reading, /enough/)
  await assert.rejects(async () => {
    for await (const _ of fileBytes(join(folder, 'none'), calm)) assert.fail('there is nothing to read')
  }, /ENOENT/)
})
