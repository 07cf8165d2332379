import assert from 'node:assert/strict'
import {
  appendFile,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import type { Sluice } from 'sluice'
import type { StartOptions } from 'sluice/chunked'
import { refused, storeKinds } from '../../test/stage.ts'
import { type SampleCounts, writeSample } from '../sample.ts'
import type { ImportReport } from './import-report.ts'
import { FhirStage } from './test/fhir-stage.ts'

const patient = (id: string, more: object = {}) => JSON.stringify({ resourceType: 'Patient', id, ...more })

/** Whether a report says what the makers of the sample say. Changed lines are superseded if a later one came first. */
function assertCounts(report: ImportReport, counts: SampleCounts): void {
  const { lines, blank, created, updated, unchanged, superseded, refused, refusedBy } = report
  assert.deepEqual(
    { lines, blank, created, changed: updated + superseded, unchanged, refused, refusedBy },
    {
      lines: counts.lines,
      blank: counts.blank,
      created: counts.resources,
      changed: counts.changed,
      unchanged: counts.repeated,
      refused: counts.bad,
      refusedBy: counts.badByCode,
    },
  )
}

for (const kind of storeKinds) {
  describe(`fhir-import, ${kind}`, () => {
    test('a folder comes to what its makers say: totals, files, types, and every bad line with its place', async () => {
      await using fhir = await FhirStage.open(kind, { limits: { rangeBytes: 40_000, groupLines: 100 } })
      const shares = { bad: 0.1, repeated: 0.05, changed: 0.05, withoutId: 0.05, blank: 0.02 }
      const { files, counts } = await writeSample({
        folder: fhir.at('in'),
        count: 2_000,
        crlf: true,
        mark: true,
        ...shares,
      })
      await writeFile(fhir.at('in', 'notes.txt'), 'not for us')
      const { report, ...view } = await fhir.run<ImportReport>('fhir-import', { inputs: [{ folder: fhir.at('in') }] })

      assert.equal(view.state, 'completed', view.errorMessage ?? '')
      assertCounts(report, counts)
      assert.equal(view.records, counts.lines)
      assert.equal(view.warningCount, 1, 'the other file was passed over')
      const types = Object.fromEntries(Object.entries(report.types).map(([type, { created }]) => [type, created]))
      assert.deepEqual(types, counts.resourcesByType)
      assert.equal(report.fileCount, files.length)
      assert.deepEqual(
        report.files.map(({ file, lines, blank }) => [file, lines + blank]).sort(),
        files.map(({ path, lines }) => [path, lines]).sort(),
      )
      assert.ok(report.files.every(({ sha256 }) => /^[0-9a-f]{64}$/.test(sha256 ?? '')))
      assert.equal(
        report.bytes,
        report.files.reduce((sum, { bytes }) => sum + bytes, 0),
      )

      const told: { file: string; line: number; offset: number; issues: { code: string }[] }[] = []
      const names = await readdir(report.errors.folder!)
      assert.deepEqual(names.sort(), [...report.errors.files].sort(), 'no temporary file is left')
      for (const name of names) {
        const text = await readFile(join(report.errors.folder!, name), 'utf8')
        told.push(
          ...text
            .trimEnd()
            .split('\n')
            .map((line) => JSON.parse(line)),
        )
      }
      assert.equal(told.length, counts.bad)
      for (const { file, line, offset } of told) {
        const bytes = await readFile(file)
        assert.equal(bytes.subarray(0, offset).toString('latin1').split('\n').length, line)
      }
      assert.ok(report.samples.length > 5 && report.samples.every(({ message }) => message.length > 0))
      const stored = await fhir.jobs.desk.types()
      assert.equal(
        stored.reduce((sum, { resources }) => sum + resources, 0),
        counts.resources,
      )
      assert.deepEqual(await fhir.stage.drift(view.id), [])
    })

    test('what was exported and is imported again is unchanged', async () => {
      await using fhir = await FhirStage.open(kind)
      const { counts } = await writeSample({ folder: fhir.at('in'), count: 600, withoutId: 0.1 })
      await fhir.run('fhir-import', { inputs: [{ folder: fhir.at('in') }] })
      await fhir.run('fhir-export', { into: fhir.at('out') })
      for (const folder of ['out', 'in']) {
        const inputs = [{ folder: fhir.at(folder) }]
        const { report, warningCount } = await fhir.run<ImportReport>('fhir-import', { inputs })
        assert.equal(warningCount, 0, 'a manifest is nothing odd')
        assert.deepEqual([report.lines, report.unchanged], [counts.resources, counts.resources], folder)
      }
    })
  })
}

describe('fhir-import', () => {
  test('gzip is unpacked, and the copy is gone when the job is complete', async () => {
    await using fhir = await FhirStage.open('memory', { limits: { rangeBytes: 20_000 } })
    const { counts } = await writeSample({ folder: fhir.at('in'), count: 500, gzip: true, bad: 0.1 })
    // The name says nothing; the content does.
    await writeFile(fhir.at('in', 'More.ndjson'), gzipSync(`${patient('more')}\n`))
    const { report } = await fhir.run<ImportReport>('fhir-import', { inputs: [{ folder: fhir.at('in') }] })
    assertCounts(report, { ...counts, lines: counts.lines + 1, resources: counts.resources + 1 })
    assert.deepEqual(await readdir(fhir.at('fhir', 'downloads')), [])
  })

  test('damaged gzip, and gzip that grows beyond the limit, fail with the reason', async () => {
    await using fhir = await FhirStage.open('memory', { limits: { fileBytesMax: 100_000 } })
    const bomb = gzipSync(Buffer.alloc(1_000_000, 'a'))
    assert.equal(gunzipSync(bomb).length, 1_000_000)
    await writeFile(fhir.at('bomb.ndjson.gz'), bomb)
    await writeFile(fhir.at('cut.ndjson.gz'), gzipSync(`${patient('a')}\n`.repeat(100)).subarray(0, 40))
    for (const [file, reason] of [
      ['bomb.ndjson.gz', 'file too big'],
      ['cut.ndjson.gz', 'damaged gzip'],
    ] as const) {
      const view = await fhir.run('fhir-import', { inputs: [{ file: fhir.at(file) }] })
      assert.deepEqual([view.state, view.reasons], ['failed', { [reason]: 1 }], view.errorMessage ?? '')
    }
    assert.deepEqual(await fhir.jobs.desk.types(), [])
  })

  test('an empty file is told of; an empty folder is a warning', async () => {
    await using fhir = await FhirStage.open('memory')
    await writeFile(fhir.at('empty.ndjson'), '')
    await mkdir(fhir.at('nothing'))
    const inputs = [{ file: fhir.at('empty.ndjson') }, { folder: fhir.at('nothing') }]
    const view = await fhir.run<ImportReport>('fhir-import', { inputs })
    assert.deepEqual([view.state, view.report.lines, view.report.fileCount, view.warningCount], ['completed', 0, 1, 1])
    assert.match(view.report.files[0]!.file, /empty\.ndjson$/)
    const only = await fhir.run<ImportReport>('fhir-import', { inputs: [{ folder: fhir.at('nothing') }] })
    assert.deepEqual([only.state, only.report.fileCount], ['completed', 0])
  })

  test('what cannot be had fails the job before anything is imported; all of it is told', async () => {
    await using fhir = await FhirStage.open('memory')
    await writeFile(fhir.at('good.ndjson'), `${patient('a')}\n`)
    const inputs = [
      { file: fhir.at('good.ndjson') },
      { folder: fhir.at('missing') },
      { file: fhir.folder },
      { folder: fhir.at('good.ndjson') },
      { url: 'http://169.254.169.254/latest/meta-data' },
      { url: 'ftp://files.example/a' },
    ]
    const view = await fhir.run('fhir-import', { inputs })
    assert.equal(view.state, 'failed')
    assert.deepEqual(view.reasons, { 'no such file': 1 })
    const [chunk] = await fhir.stage.chunks(view.id, 'fetch-files')
    for (const said of [
      /missing does not exist/,
      /is a folder; name it as folder/,
      /good\.ndjson is a file; name it as file/,
      /169\.254\.169\.254/,
      /scheme|http/,
      /Nothing was imported/,
    ])
      assert.match(chunk!.errorMessage!, said)
    assert.deepEqual(await fhir.jobs.desk.types(), [])
  })

  test('with a tolerance each file fails by itself', async () => {
    await using fhir = await FhirStage.open('memory', { tolerance: { failures: 1 } })
    await writeFile(fhir.at('good.ndjson'), `${patient('a')}\n`)
    const inputs = [{ file: fhir.at('good.ndjson') }, { file: fhir.at('missing.ndjson') }]
    const view = await fhir.run<ImportReport>('fhir-import', { inputs })
    assert.deepEqual([view.state, view.chunks.failed, view.report.created], ['completed', 1, 1])
  })

  test('links that lead out of the allowed folders are refused, others are followed', async () => {
    await using outer = await FhirStage.open('memory')
    await writeFile(outer.at('outside.ndjson'), `${patient('out')}\n`)
    await mkdir(outer.at('root'))
    await writeFile(outer.at('root', 'inside.ndjson'), `${patient('in')}\n`)
    await symlink(outer.at('root', 'inside.ndjson'), outer.at('root', 'link.ndjson'))
    await using fhir = await FhirStage.open('memory', { roots: [outer.at('root')] })
    const good = await fhir.run<ImportReport>('fhir-import', { inputs: [{ folder: outer.at('root') }] })
    assert.deepEqual([good.report.created, good.report.unchanged], [1, 1])
    await symlink(outer.at('outside.ndjson'), outer.at('root', 'way-out.ndjson'))
    for (const input of [{ folder: outer.at('root') }, { file: join(outer.at('root'), '..', 'outside.ndjson') }]) {
      const view = await fhir.run('fhir-import', { inputs: [input] })
      assert.deepEqual([view.state, view.reasons], ['failed', { 'file not allowed': 1 }])
    }
    const view = await fhir.run('fhir-export', { into: outer.at('elsewhere') })
    assert.deepEqual(view.reasons, { 'file not allowed': 1 })
  })

  test('a job keeps the folders that it may use: a worker looks where a file really lies when it opens it', async () => {
    await using fhir = await FhirStage.open('memory')
    await mkdir(fhir.at('root'))
    await mkdir(fhir.at('root', 'out'))
    await mkdir(fhir.at('elsewhere'))
    await writeFile(fhir.at('elsewhere', 'a.ndjson'), `${patient('secret')}\n`)
    await writeFile(fhir.at('root', 'a.ndjson'), `${patient('a')}\n`)
    await writeFile(fhir.at('root', 'b.ndjson'), `${patient('b')}\n`)
    const options = { roots: [fhir.at('root')] }
    const start = (id: string, parameters: unknown) => fhir.stage.run(fhir.job(id), parameters, options)
    await assert.rejects(
      start('fhir-import', { inputs: [{ file: fhir.at('elsewhere', 'a.ndjson') }] }),
      refused('forbidden', /inputs\.0\.file: .* below .*root only/),
    )
    const { desk } = fhir.jobs
    const types = desk.types.bind(desk)
    // Between the look at the folder and the writing of the files somebody puts a link in the folder's place.
    desk.types = async () => {
      await rename(fhir.at('root', 'out'), fhir.at('root', 'moved'))
      await symlink(fhir.at('elsewhere'), fhir.at('root', 'out'))
      return types()
    }
    const imported = await start('fhir-import', { inputs: [{ folder: fhir.at('root') }] })
    assert.equal(imported.state, 'completed', imported.errorMessage ?? '')
    const exported = await start('fhir-export', { into: fhir.at('root', 'out') })
    assert.deepEqual([exported.state, exported.reasons], ['failed', { 'file not allowed': 1 }])
    assert.deepEqual(await readdir(fhir.at('elsewhere')), ['a.ndjson'])
  })

  test('a file that became a link after it was listed is not read', async () => {
    await using fhir = await FhirStage.open('memory', { limits: { rangeBytes: 100 } })
    await mkdir(fhir.at('root'))
    await writeFile(fhir.at('secret.ndjson'), `${patient('secret')}\n`)
    const file = fhir.at('root', 'a.ndjson')
    await writeFile(file, `${patient('a')}\n`.repeat(20))
    const { desk } = fhir.jobs
    const really = desk.import.bind(desk)
    desk.import = async (group) => {
      await rm(file)
      await symlink(fhir.at('secret.ndjson'), file)
      return really(group)
    }
    const view = await fhir.stage.run(fhir.job('fhir-import'), { inputs: [{ file }] }, { roots: [fhir.at('root')] })
    assert.equal(view.state, 'failed')
    assert.ok((view.reasons['file not allowed'] ?? 0) > 0, JSON.stringify(view.reasons))
    assert.equal(await desk.get('Patient', 'secret'), null)
  })

  test('a process that allows less than the job brought allows less', async () => {
    await using fhir = await FhirStage.open('memory', { networkRoots: [] })
    const file = fhir.at('a.ndjson')
    await writeFile(file, `${patient('a')}\n`)
    const run = (options: StartOptions) => fhir.stage.run(fhir.job('fhir-import'), { inputs: [{ file }] }, options)
    assert.equal((await run({})).state, 'completed', "an owner's own job is not limited")
    assert.deepEqual((await run({ roots: [fhir.folder] })).reasons, { 'file not allowed': 1 })
  })

  test('lines of another type than the one that was promised are refused', async () => {
    await using fhir = await FhirStage.open('memory')
    await writeFile(fhir.at('mixed.ndjson'), `${patient('a')}\n${JSON.stringify({ resourceType: 'Basic', id: 'b' })}\n`)
    const inputs = [{ file: fhir.at('mixed.ndjson'), type: 'Patient' }]
    const { report } = await fhir.run<ImportReport>('fhir-import', { inputs })
    assert.deepEqual([report.created, report.refused], [1, 1])
    assert.equal(Object.keys(report.refusedBy)[0], 'structure', 'a Basic without its code is not even that')
    await writeFile(fhir.at('other.ndjson'), `${patient('a')}\n`)
    const other = await fhir.run<ImportReport>('fhir-import', {
      inputs: [{ file: fhir.at('other.ndjson'), type: 'Group' }],
    })
    assert.deepEqual(other.report.refusedBy, { wrong_type: 1 })
  })

  test('a file with other content is imported as it is now, though its lines have moved', async () => {
    await using fhir = await FhirStage.open('memory')
    const file = fhir.at('a.ndjson')
    const run = async (...lines: string[]) => {
      await writeFile(file, `${lines.join('\n')}\n`)
      return (await fhir.run<ImportReport>('fhir-import', { inputs: [{ file }] })).report
    }
    await run(patient('x'), patient('y', { active: true }))
    const { updated, superseded } = await run(patient('y', { active: false }))
    assert.deepEqual([updated, superseded], [1, 0])
    assert.match((await fhir.jobs.desk.get('Patient', 'y'))!.json, /"active":false/)
  })

  test('what is asked for is indexed at once, also what was stored before', async () => {
    await using fhir = await FhirStage.open('memory')
    await writeFile(fhir.at('a.ndjson'), `${patient('a', { name: [{ family: 'Abel' }] })}\n`)
    const inputs = [{ file: fhir.at('a.ndjson') }]
    for (const index of [false, true]) {
      await fhir.run('fhir-import', { inputs, index })
      const found = await fhir.jobs.desk.search({ type: 'Patient', param: 'family', value: 'abel', limit: 10 })
      assert.equal(found.items.length, index ? 1 : 0)
    }
  })

  test('more bad lines than are allowed fail the job; the good ones are stored', async () => {
    await using fhir = await FhirStage.open('memory')
    await writeFile(fhir.at('a.ndjson'), `${patient('a')}\n{\n{\n`)
    const run = (allowedErrors: number) =>
      fhir.run('fhir-import', { inputs: [{ file: fhir.at('a.ndjson') }], allowedErrors })
    const view = await run(1)
    assert.deepEqual([view.state, view.reasons], ['failed', { 'too many bad lines': 1 }])
    assert.equal((await fhir.jobs.desk.types())[0]?.resources, 1)
    assert.equal((await run(2)).state, 'completed')
  })

  test('bad lines beyond the limit are counted', async () => {
    await using fhir = await FhirStage.open('memory', { limits: { errorLinesMax: 10 } })
    await writeFile(fhir.at('a.ndjson'), '{\n'.repeat(25))
    const { report } = await fhir.run<ImportReport>('fhir-import', { inputs: [{ file: fhir.at('a.ndjson') }] })
    const text = await readFile(join(report.errors.folder!, report.errors.files[0]!), 'utf8')
    assert.deepEqual([report.refused, report.errors.leftOut, text.trimEnd().split('\n').length], [25, 15, 10])
  })

  test('a file that is changed after it was divided fails, and is not read at the wrong places', async () => {
    await using fhir = await FhirStage.open('memory', { limits: { rangeBytes: 1_000, groupLines: 10 } })
    const file = fhir.at('a.ndjson')
    await writeFile(file, Array.from({ length: 200 }, (_, at) => `${patient(`p${at}`)}\n`).join(''))
    const { desk } = fhir.jobs
    const really = desk.import.bind(desk)
    let groups = 0
    desk.import = async (group) => {
      groups += 1
      if (groups === 3) await appendFile(file, `${patient('late')}\n`)
      return really(group)
    }
    const view = await fhir.run('fhir-import', { inputs: [{ file }] })
    assert.equal(view.state, 'failed')
    assert.ok(view.reasons['file changed']! > 0)
  })

  test('an import that is cancelled ends, and leaves no half list of bad lines', async () => {
    await using fhir = await FhirStage.open('memory', { limits: { rangeBytes: 2_000, groupLines: 10 } })
    await writeFile(fhir.at('a.ndjson'), '{\n'.repeat(4_000))
    const { desk } = fhir.jobs
    const { control, chunked } = fhir.stage
    const really = desk.import.bind(desk)
    let groups = 0
    const id = await fhir.stage.start(fhir.job('fhir-import'), { inputs: [{ file: fhir.at('a.ndjson') }] })
    desk.import = async (group) => {
      groups += 1
      if (groups === 5) await chunked.cancel(control, id)
      return really(group)
    }
    assert.equal((await fhir.stage.settled(id)).state, 'cancelled')
    // Whatever still runs has ended then.
    await (control as Sluice).stop()
    assert.ok(groups < 400, 'most of it was not imported')
    const left = await readdir(fhir.at('fhir', 'errors'), { recursive: true }).catch(() => [])
    assert.deepEqual(
      left.filter((name) => name.endsWith('.tmp')),
      [],
    )
  })

  test('downloads that no job came back for are removed', async () => {
    await using fhir = await FhirStage.open('memory', { limits: { downloadKeepMs: 60_000 } })
    for (const name of ['1-old', '2-young']) await mkdir(fhir.at('fhir', 'downloads', name), { recursive: true })
    await utimes(fhir.at('fhir', 'downloads', '1-old'), 1, 1)
    await writeFile(fhir.at('a.ndjson'), '')
    await fhir.run('fhir-import', { inputs: [{ file: fhir.at('a.ndjson') }] })
    assert.deepEqual(await readdir(fhir.at('fhir', 'downloads')), ['2-young'])
  })

  test('parameters that do not fit are told, all at once', async () => {
    await using fhir = await FhirStage.open('memory')
    const check = (id: string, parameters: unknown) => () => fhir.stage.chunked.check(id, parameters)
    assert.throws(
      check('fhir-import', {
        inputs: [{}, { url: 'a', file: 'b' }, { file: 'x', type: 'patient' }],
        allowedErrors: -1,
      }),
      refused(
        'invalid',
        /inputs\.0: .*exactly one.*inputs\.1: .*exactly one.*inputs\.2\.type: .*Patient.*allowedErrors/,
      ),
    )
    assert.throws(check('fhir-import', {}), refused('invalid', /inputs/))
    assert.throws(check('fhir-export', { since: 'yesterday' }), refused('invalid', /since.*zone.*into/))
    assert.throws(check('fhir-reindex', { types: [], every: true }), refused('invalid', /types.*every/))
    check('fhir-import', { inputs: [{ file: 'relative.ndjson' }] })()
  })
})

test('a file that was cut short since it was divided is not there any more', async () => {
  await using fhir = await FhirStage.open('memory')
  const file = fhir.at('a.ndjson')
  await writeFile(file, `${patient('a')}\n`)
  const { desk } = fhir.jobs
  const really = desk.import.bind(desk)
  let calls = 0
  desk.import = async (group) => {
    calls += 1
    if (calls > 1) return really(group)
    await truncate(file, 0)
    throw new Error('and the process was killed')
  }
  const view = await fhir.run('fhir-import', { inputs: [{ file }] })
  assert.deepEqual([view.state, view.reasons], ['failed', { 'file changed': 1 }])
})
