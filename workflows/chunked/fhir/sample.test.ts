import assert from 'node:assert/strict'
import { createReadStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createGunzip } from 'node:zlib'
import { readLines } from './ndjson.ts'
import { SampleTally, type SampleType, sampleResources, sampleTypes, writeSample } from './sample.ts'
import { Validator } from './validation.ts'

async function folderOf(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-fhir-sample-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

test('the same options make the same lines, other seeds make others', () => {
  const lines = (seed: number) => [...sampleResources({ count: 200, seed, bad: 0.2, blank: 0.1 })]
  assert.deepEqual(lines(5), lines(5))
  assert.notDeepEqual(lines(5), lines(6))
})

test('every good line is valid, every bad one is refused for the reason that it says, and references lead somewhere', async () => {
  const validator = await Validator.open()
  const known = new Set<string>()
  const types = new Set<string>()
  const kinds = new Set<string>()
  for (const { bytes, kind, type } of sampleResources({
    count: 3_000,
    seed: 3,
    bad: 0.2,
    repeated: 0.05,
    changed: 0.05,
    withoutId: 0.05,
  })) {
    types.add(type)
    kinds.add(kind)
    if (kind === 'not_utf8') continue
    const checked = validator.checkText(bytes.toString())
    if ('issues' in checked) {
      assert.deepEqual([...new Set(checked.issues.map(({ code }) => code))], [kind], bytes.toString())
      assert.equal(checked.issues.length, 1, JSON.stringify(checked.issues))
    } else {
      assert.ok(['new', 'repeated', 'changed'].includes(kind), `${kind}: ${bytes}`)
      const { resourceType, id } = checked.resource
      assert.equal(resourceType, type)
      assert.equal(known.has(`${type}/${id}`), kind !== 'new')
      if (id !== undefined) known.add(`${type}/${id}`)
    }
  }
  const reasons = [
    'not_json',
    'not_object',
    'unknown_type',
    'bad_id',
    'structure',
    'unknown_code',
    'invariant',
    'not_utf8',
  ]
  assert.deepEqual([...types].sort(), [...sampleTypes].sort())
  assert.deepEqual([...kinds].sort(), [...reasons, 'new', 'repeated', 'changed'].sort())
})

test('what a patient refers to is among the lines before, if all are good', () => {
  const known = new Set<string>()
  for (const { bytes, type } of sampleResources({ count: 1_000 })) {
    const resource = JSON.parse(bytes.toString()) as { readonly id: string }
    for (const [, target] of bytes.toString().matchAll(/"reference":"([^"]+)"/g)) assert.ok(known.has(target!), target)
    known.add(`${type}/${resource.id}`)
  }
})

test('files by type, packed or not, hold the lines that the counts tell of', async (t) => {
  for (const gzip of [false, true]) {
    const folder = await folderOf(t)
    const options = { count: 2_000, bad: 0.1, blank: 0.05, long: true, lineBytesMax: 20_000, crlf: gzip, mark: gzip }
    const { files, counts } = await writeSample({ ...options, folder, gzip })
    const tally = new SampleTally()
    for (const line of sampleResources(options)) tally.add(line)
    assert.deepEqual(counts, tally.counts)
    let [lines, blank, tooLong, notUtf8] = [0, 0, 0, 0]
    for (const { path, type } of files) {
      assert.equal(basename(path), `${type}.ndjson${gzip ? '.gz' : ''}`)
      const source = gzip ? createReadStream(path).pipe(createGunzip()) : createReadStream(path)
      for await (const batch of readLines(source, { lineBytesMax: 20_000 })) {
        lines += batch.lines.length
        blank += batch.blank
        for (const line of batch.lines) {
          if (!('problem' in line)) continue
          if (line.problem.code === 'too_long') tooLong += 1
          else notUtf8 += 1
        }
      }
    }
    assert.deepEqual(
      [lines, blank, tooLong, notUtf8],
      [counts.lines, counts.blank, files.length, counts.badByCode.not_utf8],
    )
    assert.equal(counts.badByCode.too_long, files.length)
    assert.equal(counts.resources + counts.bad, counts.lines)
  }
})

test('a folder that cannot be written to is an error, not a wait without end', async (t) => {
  const folder = await folderOf(t)
  const { files } = await writeSample({ count: 1, folder, types: ['Patient'] })
  await assert.rejects(writeSample({ count: 5_000, folder: files[0]!.path }))
})

test('types can be chosen, and options that make no sense are refused', () => {
  const types = new Set([...sampleResources({ count: 100, types: ['Patient', 'Condition'] })].map(({ type }) => type))
  assert.deepEqual([...types].sort(), ['Condition', 'Patient'])
  const refused = (options: Parameters<typeof sampleResources>[0], message: RegExp) =>
    assert.throws(() => [...sampleResources(options)], message)
  refused({ count: -1 }, /count/)
  refused({ count: 1, bad: 2 }, /bad is a share/)
  refused({ count: 1, bad: 0.6, repeated: 0.6 }, /together 1/)
  refused({ count: 1, types: ['Song' as SampleType] }, /Song/)
})
