import assert from 'node:assert/strict'
import { appendFile, mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { isOutcome } from '../../outcome.ts'
import { type Line, readLines } from '../ndjson.ts'
import { rangesOf } from './line-ranges.ts'

const signal = new AbortController().signal
const openPlain = (path: string) => open(path, 'r')

async function* piece(bytes: Buffer, from: number, to: number): AsyncGenerator<Uint8Array> {
  if (to > from) yield bytes.subarray(from, to)
}

async function linesOf(bytes: Buffer, from: { offset: number; line: number }, to: number): Promise<Line[]> {
  const lines: Line[] = []
  for await (const batch of readLines(piece(bytes, from.offset, to), { from, lineBytesMax: 50 }))
    lines.push(...batch.lines)
  return lines
}

test('the lines of all ranges are the lines of the file, with their numbers and places', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-ranges-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'lines.ndjson')
  const line = fc.oneof(fc.constantFrom('', '\r', ' '), fc.string({ maxLength: 12 }), fc.constant('x'.repeat(60)))
  await fc.assert(
    fc.asyncProperty(
      fc.array(line, { maxLength: 40 }),
      fc.boolean(),
      fc.integer({ min: 1, max: 80 }),
      async (all, endsWithBreak, rangeBytes) => {
        const bytes = Buffer.from(all.join('\n') + (endsWithBreak && all.length > 0 ? '\n' : ''))
        await writeFile(file, bytes)
        const ranges = []
        for await (const range of rangesOf(file, openPlain, rangeBytes, signal)) ranges.push(range)
        const found: Line[] = []
        let at = 0
        for (const [index, range] of ranges.entries()) {
          assert.equal(range.range, index)
          assert.equal(range.from.offset, at, 'without a gap')
          assert.equal(range.sha256 !== null, index === ranges.length - 1)
          if (ranges.length > 1) assert.ok(range.to > at, 'none is empty if there are several')
          at = range.to
          found.push(...(await linesOf(bytes, range.from, range.to)))
        }
        assert.equal(at, bytes.length)
        assert.deepEqual(found, await linesOf(bytes, { offset: 0, line: 1 }, bytes.length))
      },
    ),
    { numRuns: 200 },
  )
})

test('a file that grows while it is read is looked at again', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-ranges-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'lines.ndjson')
  await writeFile(file, '{}\n'.repeat(100))
  await assert.rejects(
    async () => {
      for await (const _ of rangesOf(file, openPlain, 10, signal)) await appendFile(file, '{}\n')
    },
    (error) => isOutcome(error) && error.kind === 'retry' && /changed/.test(error.error),
  )
})
