import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import {
  closeSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import fc from 'fast-check'
import { isSluiceError } from 'sluice'
import { checkFile } from './file-check.ts'
import type { Cursor, FileFault } from './file-fault.ts'
import { type ElementFault, FileWalk } from './file-walk.ts'
import { SliceReader } from './slice-reader.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-walk-'))
after(() => rmSync(folder, { recursive: true }))

function fileOf(content: string | Buffer): string {
  const path = join(folder, 'file')
  writeFileSync(path, content)
  return path
}

interface Walked {
  readonly offsets: readonly number[]
  readonly lengths: readonly number[]
  readonly hnIds: readonly number[]
  readonly faults: readonly Omit<ElementFault, 'position'>[]
  readonly fault: FileFault | null
  readonly cursors: readonly Cursor[]
}

/** Walks to the end, in groups of the given sizes in turn; `anew`: each group with a walk of its own, by the cursor. */
function walk(path: string, sizes: readonly number[], anew = false, from: Cursor | null = null): Walked {
  const [offsets, lengths, hnIds, faults, cursors] = [[], [], [], [], []] as [
    number[],
    number[],
    number[],
    Omit<ElementFault, 'position'>[],
    Cursor[],
  ]
  let file = new FileWalk(path, from)
  for (let turn = 0; ; turn += 1) {
    const limit = sizes[turn % sizes.length]!
    const group = file.next(limit)
    assert.ok(group.offsets.length <= limit)
    assert.equal(group.first, (from?.index ?? 0) + offsets.length)
    for (const { position, ...fault } of group.faults) {
      assert.equal(fault.index, group.first + position)
      assert.equal(fault.offset, group.offsets[position])
      faults.push(fault)
    }
    offsets.push(...group.offsets)
    lengths.push(...group.lengths)
    hnIds.push(...group.hnIds)
    if (group.next === null) {
      file.close()
      return { offsets, lengths, hnIds, faults, cursors, fault: group.fault }
    }
    assert.equal(group.offsets.length, limit)
    cursors.push(JSON.parse(JSON.stringify(group.next)))
    if (anew) {
      file.close()
      file = new FileWalk(path, cursors.at(-1)!)
    }
  }
}

const good = (id: number) => `{"id":${id},"type":"story","title":"Tïtle ${'x'.repeat(id % 50)}"}`

describe('a walk', () => {
  test('gives offsets, lengths, ids and faults, also of a file with a byte order mark', () => {
    const path = fileOf('\uFEFF[{"id":7,"type":"job"}, null,\n{"hnId":8,"type":"song"},{id:9}]')
    const { cursors: _, ...rest } = walk(path, [10])
    assert.deepEqual(rest.offsets, [4, 27, 33, 58])
    assert.deepEqual(rest.lengths, [21, 4, 24, 6])
    assert.deepEqual(rest.hnIds, [7, Number.NaN, 8, Number.NaN])
    assert.deepEqual(
      rest.faults.map(({ index, offset, hnId, reason }) => [index, offset, hnId, reason]),
      [
        [1, 27, null, 'null element'],
        [2, 33, 8, 'unknown type'],
        [3, 58, null, 'broken JSON'],
      ],
    )
    assert.equal(rest.fault, null)
  })

  test('the same from any cursor and in groups of any sizes: nothing twice, nothing missing', () => {
    const element = fc.oneof(
      { weight: 5, arbitrary: fc.integer({ min: 1, max: 10_000 }).map(good) },
      fc.constantFrom(
        'null',
        '{id:1}',
        '{"id":1}',
        '{"type":"job"}',
        '{"id":"1","type":"job"}',
        '{}',
        '[]',
        '{"id":1,"type":"job","text":"\\"]}"}',
      ),
    )
    const separators = { array: [',', ' , ', ',\n'], lines: ['\n', '\r\n', '\n\n'], concatenated: ['', ' ', '\n\n '] }
    const file = fc.record({
      form: fc.constantFrom('array' as const, 'lines' as const, 'concatenated' as const),
      elements: fc.array(fc.tuple(element, fc.nat(2)), { maxLength: 30 }),
      cut: fc.option(fc.nat(3_000), { freq: 4 }),
    })
    const sizes = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(file, sizes, ({ form, elements, cut }, sizes) => {
        // A file that begins with [ is an array.
        fc.pre(form === 'array' || elements[0]?.[0] !== '[]')
        const body = elements
          .map(([text, nth], index) =>
            form === 'array' && index === elements.length - 1 ? text : text + separators[form][nth],
          )
          .join('')
        const whole = Buffer.from(form === 'array' ? `[${body}]` : body)
        const path = fileOf(cut === null ? whole : whole.subarray(0, cut))
        const all = walk(path, [1_000])
        if (cut === null && elements.length > 0) assert.equal(all.offsets.length, elements.length)
        for (const anew of [false, true]) {
          const { cursors, ...parts } = walk(path, sizes, anew)
          assert.deepEqual({ ...parts, cursors: [] }, all)
          for (const cursor of cursors) {
            const rest = walk(path, [1_000], false, cursor)
            assert.deepEqual(rest.offsets, all.offsets.slice(cursor.index))
            assert.deepEqual(rest.fault, all.fault)
          }
        }
        const check = checkFile(path)
        assert.deepEqual([check.total, check.fault], [all.offsets.length, all.fault])
      }),
      { numRuns: 150 },
    )
  })

  test('elements at the edges of the window, and longer than it', () => {
    const text = (length: number) => `{"id":1,"type":"story","text":"${'\\"ö'.repeat(length / 4)}"}`
    for (const lengths of [[262_100, 40, 262_144, 1_000_000, 3], [600_000, 600_000], Array(3_000).fill(333)]) {
      const elements = lengths.map(text)
      const path = fileOf(`[${elements.join(',')}]`)
      const walked = walk(path, [2])
      assert.deepEqual([walked.faults, walked.fault], [[], null])
      assert.deepEqual(
        walked.lengths,
        elements.map((element) => Buffer.byteLength(element)),
      )
      const reader = new SliceReader(path)
      for (const index of [0, elements.length - 1, 1]) {
        const slice = reader.read(walked.offsets[index]!, walked.lengths[index]!)
        assert.equal(slice.toString(), elements[index])
      }
      reader.close()
    }
  })

  test('a 100 MB string is scanned over: one element too long, the others stand, memory stays', () => {
    const path = join(folder, 'long')
    const descriptor = openSync(path, 'w')
    writeSync(descriptor, `[${good(1)},{"id":2,"type":"story","text":"`)
    const chunk = Buffer.alloc(1_000_000, 'y')
    for (let count = 0; count < 100; count += 1) writeSync(descriptor, chunk)
    writeSync(descriptor, `"},${good(3)}]`)
    closeSync(descriptor)
    const before = process.memoryUsage().arrayBuffers
    const walked = walk(path, [10])
    assert.ok(process.memoryUsage().arrayBuffers - before < 8_000_000)
    assert.deepEqual(walked.hnIds, [1, Number.NaN, 3])
    assert.deepEqual(
      walked.faults.map((fault) => [fault.reason, fault.message]),
      [['too long', 'The element is 100000033 bytes long; at most 1048576 are taken.']],
    )
    assert.deepEqual(checkFile(path).total, 3)
    rmSync(path)
  })

  test('many megabytes of opening brackets, or of NUL, end as a fault and not as a crash', () => {
    const path = join(folder, 'odd')
    const descriptor = openSync(path, 'w')
    writeSync(descriptor, '[{"id":1,"type":"job"},')
    const chunk = Buffer.alloc(1_000_000, '[')
    for (let count = 0; count < 30; count += 1) writeSync(descriptor, chunk)
    closeSync(descriptor)
    const check = checkFile(path)
    assert.deepEqual([check.fault?.reason, check.total], ['truncated', 1])
    const sparse = openSync(path, 'w')
    ftruncateSync(sparse, 100_000_000)
    closeSync(sparse)
    assert.equal(checkFile(path).fault?.reason, 'not JSON: binary data')
    rmSync(path)
  })

  test('an element nested too deep is one fault', () => {
    const path = fileOf(`[${good(1)},{"id":2,"type":"story","x":${'['.repeat(40)}${']'.repeat(40)}},${good(3)}]`)
    const walked = walk(path, [10])
    assert.deepEqual(walked.hnIds, [1, Number.NaN, 3])
    assert.deepEqual(
      walked.faults.map((fault) => fault.reason),
      ['nested too deep'],
    )
  })

  test('a fault of the file comes with the elements before it', () => {
    const walked = walk(fileOf(`[${good(1)},${good(2)},{"id"`), [1])
    assert.deepEqual([walked.hnIds, walked.fault?.reason, walked.fault?.elements], [[1, 2], 'truncated', 2])
    const group = new FileWalk(fileOf(''), null).next(5)
    assert.deepEqual([group.offsets.length, group.next, group.fault?.reason], [0, null, 'empty file'])
  })

  test('space before the first element may be longer than the window', () => {
    assert.deepEqual(walk(fileOf(`${' '.repeat(300_000)}\n[${good(5)}]`), [9]).hnIds, [5])
    const check = checkFile(fileOf(' '.repeat(300_000)))
    assert.deepEqual([check.form, check.fault?.reason], [null, 'only whitespace'])
  })

  test('refuses a limit below 1 and a file that is not there', () => {
    assert.throws(
      () => new FileWalk(fileOf('[]'), null).next(0),
      (error) => isSluiceError(error, 'invalid'),
    )
    assert.throws(
      () => new FileWalk(join(folder, 'nowhere'), null),
      (error) => isSluiceError(error, 'not_found'),
    )
  })
})

describe('the check', () => {
  test('counts elements without id or type by their keys', () => {
    const path = fileOf(`${good(1)}\nnull\n{"hnId":2,"type":"job"}\n{"id":3}\n{"type":"job"}\nbroken\n`)
    const progress: number[] = []
    const check = checkFile(path, undefined, (bytes) => progress.push(bytes))
    const { bytes, sha256, ...rest } = check
    assert.deepEqual(rest, { form: 'lines', total: 6, withoutId: 3, withoutType: 3, fault: null })
    const content = readFileSync(path)
    assert.deepEqual([bytes, sha256], [content.length, createHash('sha256').update(content).digest('hex')])
    assert.deepEqual(progress.length, 1)
  })
  test('limits may be set', () => {
    const path = fileOf(`[${good(49)},{"id":1,"type":"job"}]`)
    const group = new FileWalk(path, null, { itemBytesMax: 40, depthMax: 3 }).next(5)
    assert.deepEqual(
      group.faults.map((fault) => fault.reason),
      ['too long'],
    )
  })
})

test('a slice beyond the end of the file is said', () => {
  const reader = new SliceReader(fileOf('0123456789'))
  assert.equal(reader.read(2, 3).toString(), '234')
  assert.equal(reader.read(8, 2).toString(), '89')
  assert.equal(reader.read(0, 10).toString(), '0123456789')
  assert.throws(() => reader.read(8, 3), /ends before byte 11/)
  assert.throws(() => reader.read(0, 300_000), /ends before byte 300000/)
  reader.close()
})
