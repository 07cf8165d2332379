import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { storeKinds } from '../../test/stage.ts'
import { writeSample } from '../sample.ts'
import type { ExportManifest, ExportReport } from './export-job.ts'
import type { ImportReport } from './import-report.ts'
import type { ReindexReport } from './reindex-job.ts'
import { FhirStage } from './test/fhir-stage.ts'

async function filled(fhir: FhirStage, count: number) {
  const { counts } = await writeSample({ folder: fhir.at('in'), count })
  await fhir.run('fhir-import', { inputs: [{ folder: fhir.at('in') }] })
  return counts
}

for (const kind of storeKinds) {
  test(`files by type and a manifest that names them, ${kind}`, async () => {
    await using fhir = await FhirStage.open(kind, { limits: { exportResources: 100 } })
    const counts = await filled(fhir, 1_000)
    const view = await fhir.run<ExportReport>('fhir-export', { into: fhir.at('out', 'deep') })
    assert.equal(view.state, 'completed', view.errorMessage ?? '')
    const { folder, resources, bytes, seconds, ...manifest } = view.report
    assert.deepEqual([folder, resources, view.records], [fhir.at('out', 'deep'), 1_000, 1_000])
    assert.ok(seconds >= 0)
    assert.deepEqual(JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8')), manifest)
    assert.deepEqual(
      (await readdir(folder)).sort(),
      ['manifest.json', ...manifest.output.map(({ url }) => url)].sort(),
      'no temporary file and no claim is left',
    )
    const byType: Record<string, number> = {}
    let sum = 0
    for (const { type, url, count, bytes: size, sha256 } of manifest.output) {
      const content = await readFile(join(folder, url))
      assert.equal(createHash('sha256').update(content).digest('hex'), sha256)
      assert.equal(content.length, size)
      const lines = content
        .toString()
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line))
      assert.equal(lines.length, count)
      assert.ok(
        count <= 100 && lines.every((resource) => resource.resourceType === type && resource.meta.versionId === '1'),
      )
      byType[type] = (byType[type] ?? 0) + count
      sum += size
    }
    assert.equal(sum, bytes)
    assert.deepEqual(byType, counts.resourcesByType)
    assert.deepEqual(await fhir.stage.drift(view.id), [])
  })
}

describe('fhir-export', () => {
  test('a job with a collection stores into it, and exports, indexes and finds nothing else', async () => {
    await using fhir = await FhirStage.open('memory', { limits: { exportResources: 2 } })
    const lines = (whose: string) =>
      ['a', 'b', 'c'].map((id) => JSON.stringify({ resourceType: 'Patient', id, name: [{ family: whose }] })).join('\n')
    const run = async (id: string, parameters: unknown, collection?: string) => {
      const options = collection === undefined ? {} : { collection }
      const view = await fhir.stage.run(fhir.job(id), parameters, options)
      assert.equal(view.state, 'completed', view.errorMessage ?? '')
      return view.report as ExportReport & ImportReport & ReindexReport
    }
    for (const whose of ['red', 'blue', 'none']) {
      await writeFile(fhir.at(`${whose}.ndjson`), lines(whose))
      const inputs = [{ file: fhir.at(`${whose}.ndjson`) }]
      const collection = whose === 'none' ? undefined : whose
      assert.equal((await run('fhir-import', { inputs }, collection)).created, 3, 'ids are those of the collection')
    }
    const families = async (into: string, collection?: string) => {
      const { output, folder, resources } = await run('fhir-export', { into: fhir.at(into) }, collection)
      const texts = await Promise.all(output.map(({ url }) => readFile(join(folder, url), 'utf8')))
      return [resources, ...new Set(texts.join('').match(/red|blue|none/g))]
    }
    assert.deepEqual(await families('red', 'red'), [3, 'red'])
    assert.deepEqual(await families('green', 'green'), [0])
    assert.deepEqual(await families('all'), [9, 'red', 'blue', 'none'])

    assert.equal((await run('fhir-reindex', {}, 'blue')).resources, 3)
    const { desk } = fhir.jobs
    const query = { type: 'Patient', param: 'family', limit: 10 }
    assert.equal((await desk.search({ ...query, value: 'red' })).items.length, 0, 'only blue is indexed')
    assert.equal((await run('fhir-reindex', {})).resources, 6)
    const found = async (value: string, collection?: string) =>
      (await desk.search({ ...query, value, ...(collection === undefined ? {} : { collection }) })).items.length
    assert.deepEqual([await found('red'), await found('red', 'red'), await found('red', 'blue')], [3, 3, 0])
  })

  test('only some types, and only what was stored since a time', async () => {
    await using fhir = await FhirStage.open('memory')
    await filled(fhir, 300)
    const run = async (folder: string, parameters: object) =>
      (await fhir.run<ExportReport>('fhir-export', { into: fhir.at(folder), ...parameters })).report
    const some = await run('some', { types: ['Patient', 'Encounter', 'Patient'] })
    assert.deepEqual([...new Set(some.output.map(({ type }) => type))], ['Encounter', 'Patient'])
    assert.equal(some.request, '$export?_type=Encounter,Patient')
    assert.equal((await run('past', { since: some.transactionTime })).resources, 0)
    await writeFile(fhir.at('new.ndjson'), '{"resourceType":"Patient","id":"new"}\n')
    await fhir.run('fhir-import', { inputs: [{ file: fhir.at('new.ndjson') }] })
    const fresh = await run('fresh', { since: some.transactionTime })
    assert.deepEqual(
      fresh.output.map(({ type, count }) => [type, count]),
      [['Patient', 1]],
    )
    assert.equal((await run('all', { since: '2020-01-01' })).resources, 301)
    const none = await fhir.run<ExportReport>('fhir-export', { into: fhir.at('none'), types: ['Goal'] })
    assert.deepEqual([none.state, none.report.output, none.warningCount], ['completed', [], 1])
  })

  test('nothing stored makes a manifest of nothing', async () => {
    await using fhir = await FhirStage.open('memory')
    const { report } = await fhir.run<ExportReport>('fhir-export', { into: fhir.at('out') })
    assert.deepEqual([report.resources, report.output], [0, []])
    assert.deepEqual(await readdir(fhir.at('out')), ['manifest.json'])
  })

  test('a folder that is not empty, or no folder, is left as it is', async () => {
    await using fhir = await FhirStage.open('memory')
    await mkdir(fhir.at('full'))
    await writeFile(fhir.at('full', 'Patient.00001.ndjson'), 'mine')
    await writeFile(fhir.at('file'), 'mine')
    for (const [into, reason] of [
      ['full', 'folder not empty'],
      ['file', 'not a folder'],
    ] as const) {
      const view = await fhir.run('fhir-export', { into: fhir.at(into) })
      assert.deepEqual([view.state, view.reasons], ['failed', { [reason]: 1 }], view.errorMessage ?? '')
    }
    assert.deepEqual(await readdir(fhir.at('full')), ['Patient.00001.ndjson'])
    assert.equal(await readFile(fhir.at('full', 'Patient.00001.ndjson'), 'utf8'), 'mine')
  })

  test('of two exports into one folder at most one is completed', async () => {
    await using fhir = await FhirStage.open('memory')
    await filled(fhir, 200)
    const parameters = { into: fhir.at('out') }
    const views = await Promise.all([fhir.run('fhir-export', parameters), fhir.run('fhir-export', parameters)])
    assert.deepEqual(views.map(({ state }) => state).sort(), ['completed', 'failed'])
    assert.deepEqual(views.find(({ state }) => state === 'failed')!.reasons, { 'folder not empty': 1 })
  })

  test('a file that was half written, by an attempt that failed, is written again in its place', async () => {
    await using fhir = await FhirStage.open('memory', { limits: { exportResources: 2_000 } })
    await filled(fhir, 2_500)
    const { desk } = fhir.jobs
    const really = desk.export.bind(desk)
    let pages = 0
    desk.export = (query) => {
      pages += 1
      return pages % 3 === 2 && pages < 8 ? Promise.reject(new Error('the thread died')) : really(query)
    }
    const view = await fhir.run<ExportReport>('fhir-export', { into: fhir.at('out') })
    assert.deepEqual([view.state, view.report.resources], ['completed', 2_500])
    assert.ok(view.errorCount > 0)
    const manifest = JSON.parse(await readFile(fhir.at('out', 'manifest.json'), 'utf8')) as ExportManifest
    assert.deepEqual(
      (await readdir(fhir.at('out'))).sort(),
      ['manifest.json', ...manifest.output.map(({ url }) => url)].sort(),
    )
  })
})
