import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { test } from 'node:test'
import { storeKinds } from '../../test/stage.ts'
import { writeSample } from '../sample.ts'
import type { ReindexReport } from './reindex-job.ts'
import { FhirStage } from './test/fhir-stage.ts'

for (const kind of storeKinds) {
  test(`what is out of date is indexed, and only that, unless all is asked for, ${kind}`, async () => {
    await using fhir = await FhirStage.open(kind, { limits: { reindexGroup: 100 } })
    const { counts } = await writeSample({ folder: fhir.at('in'), count: 800 })
    await fhir.run('fhir-import', { inputs: [{ folder: fhir.at('in') }] })
    const { desk } = fhir.jobs
    const found = () => desk.search({ type: 'Observation', param: 'code', value: '8867-4', limit: 1_000 })
    assert.equal((await found()).items.length, 0)

    const patients = await fhir.run<ReindexReport>('fhir-reindex', { types: ['Patient', 'Goal'] })
    assert.deepEqual([patients.state, patients.warningCount], ['completed', 1])
    assert.deepEqual(patients.report.types, {
      Patient: { changed: counts.resourcesByType.Patient, unchanged: 0, missing: 0, failed: 0 },
    })
    const rest = await fhir.run<ReindexReport>('fhir-reindex', {})
    assert.equal(rest.report.changed, 800 - counts.resourcesByType.Patient!)
    assert.equal(rest.records, rest.report.resources)
    assert.ok((await found()).items.length > 0)
    assert.ok((await desk.types()).every(({ stale }) => stale === 0))

    const none = await fhir.run<ReindexReport>('fhir-reindex', {})
    assert.deepEqual([none.state, none.report.resources], ['completed', 0])
    const all = await fhir.run<ReindexReport>('fhir-reindex', { all: true })
    assert.deepEqual([all.report.changed, all.report.unchanged], [0, 800])
    assert.deepEqual(await fhir.stage.drift(all.id), [])
  })
}

test('what cannot be indexed is told, and so is what has gone; neither fails the job', async () => {
  await using fhir = await FhirStage.open('memory')
  await writeFile(fhir.at('a.ndjson'), '{"resourceType":"Patient","id":"a"}\n{"resourceType":"Patient","id":"b"}\n')
  await fhir.run('fhir-import', { inputs: [{ file: fhir.at('a.ndjson') }] })
  const { desk } = fhir.jobs
  const really = desk.reindex.bind(desk)
  // The parts that can fail so are other people's: an expression that cannot be evaluated, a row that was taken away.
  desk.reindex = async (numbers) => (await really(numbers)).map((_, at) => (at === 0 ? { failed: 'why' } : 'missing'))
  const { state, report } = await fhir.run<ReindexReport>('fhir-reindex', {})
  assert.deepEqual([state, report.failed, report.missing], ['completed', 1, 1])
  assert.deepEqual(report.samples, [{ resource: 'Patient/a', message: 'why' }])
})
