import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { FhirDesk } from '../desk/fhir-desk.ts'
import { writeSample } from '../sample.ts'
import type { ImportReport } from './import-report.ts'
import { FhirStage } from './test/fhir-stage.ts'

const shares = { bad: 0.08, repeated: 0.05, changed: 0.05, withoutId: 0.05 }

interface End {
  readonly state: string
  readonly error: string | null
  readonly report: ImportReport
  readonly drift: readonly unknown[]
}

/** One process works on the import, and is killed once it has stored so many groups: then there is no end to tell of. */
async function life(folder: string, killAfter: number): Promise<End | null> {
  const script = fileURLToPath(new URL('test/import-process.ts', import.meta.url))
  const words = [...process.execArgv, script, folder, join(folder, 'in'), String(killAfter)]
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  let said = ''
  for await (const text of child.stdout) said += String(text)
  const [code, signal] = await ended
  assert.equal(signal, killAfter > 0 ? 'SIGKILL' : null, `It ended with ${code}, and said: ${said.slice(0, 500)}`)
  return said === '' ? null : (JSON.parse(said) as End)
}

test('an import whose processes are killed again and again counts every line once', { timeout: 120_000 }, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-fhir-crash-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const { counts } = await writeSample({ folder: join(folder, 'in'), count: 2_000, gzip: true, ...shares })
  for (const killAfter of [2, 9, 25]) assert.equal(await life(folder, killAfter), null)
  const end = await life(folder, 0)
  assert.equal(end?.state, 'completed', end?.error ?? '')
  const { lines, created, updated, superseded, unchanged, refused, refusedBy, errors } = end!.report
  assert.deepEqual(
    { lines, created, changed: updated + superseded, unchanged, refused, refusedBy },
    {
      lines: 2_000,
      created: counts.resources,
      changed: counts.changed,
      unchanged: counts.repeated,
      refused: counts.bad,
      refusedBy: counts.badByCode,
    },
  )
  assert.deepEqual(end!.drift, [])
  const texts = await Promise.all(errors.files.map((name) => readFile(join(errors.folder!, name), 'utf8')))
  assert.equal(texts.join('').trimEnd().split('\n').length, counts.bad, 'each bad line is told of once')
  assert.deepEqual((await readdir(errors.folder!)).sort(), [...errors.files].sort())
  assert.deepEqual(await readdir(join(folder, 'fhir', 'downloads')), [])
  const desk = new FhirDesk({ file: join(folder, 'fhir', 'resources.db') })
  t.after(() => desk.stop())
  assert.equal(
    (await desk.types()).reduce((sum, { resources }) => sum + resources, 0),
    counts.resources,
  )
})

test('answers that are lost on their way, after the group was stored, are given again', async () => {
  await using fhir = await FhirStage.open('sqlite', { limits: { rangeBytes: 40_000, groupLines: 25 } })
  const { counts } = await writeSample({ folder: fhir.at('in'), count: 1_000, ...shares })
  const { desk } = fhir.jobs
  const really = desk.import.bind(desk)
  const seen = new Set<string>()
  desk.import = async (group) => {
    const answer = await really(group)
    // Of each range two groups are lost, each once: fewer than a range has attempts.
    const [, chunk] = group.key!.split(':')
    const lost = [...seen].filter((key) => key.split(':')[1] === chunk).length
    if (seen.has(group.key!) || lost >= 2) return answer
    seen.add(group.key!)
    throw new Error('The answer was lost.')
  }
  const { report, ...view } = await fhir.run<ImportReport>('fhir-import', { inputs: [{ folder: fhir.at('in') }] })
  assert.equal(view.state, 'completed', view.errorMessage ?? '')
  assert.equal(view.errorCount, seen.size)
  assert.deepEqual(
    [report.lines, report.created, report.unchanged, report.refused],
    [counts.lines, counts.resources, counts.repeated, counts.bad],
  )
})

test('a range that failed for good is run again: what it had stored counts as it was, once', async () => {
  await using fhir = await FhirStage.open('memory', { limits: { groupLines: 100 } })
  const { counts } = await writeSample({ folder: fhir.at('in'), count: 800, types: ['Observation'] })
  const { desk } = fhir.jobs
  const really = desk.import.bind(desk)
  let isBroken = true
  desk.import = async (group) => {
    if (isBroken && group.lines[0]!.line > 400) throw new Error('The disk is full.')
    return really(group)
  }
  const failed = await fhir.run('fhir-import', { inputs: [{ folder: fhir.at('in') }] })
  assert.equal(failed.state, 'failed')
  assert.equal((await desk.types())[0]?.resources, 400)
  isBroken = false
  await fhir.stage.chunked.rerun(fhir.stage.control, failed.id)
  await fhir.stage.until(failed.id, 'its end', ({ state }) => state === 'completed')
  const { report } = (await fhir.stage.view(failed.id)) as { report: ImportReport }
  assert.deepEqual([report.created, report.unchanged], [counts.resources, 0])
})
