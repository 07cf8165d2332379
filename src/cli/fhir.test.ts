import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { newFolder, removeFolders, resultIn, sluice } from './command-process.ts'

after(removeFolders)

test('a sample is imported as it was told to, re-indexed, and exported again', async () => {
  const cwd = newFolder()
  const words = ['fhir', 'sample', 'samples', '--resources', '400', '--bad', '5%', '--repeated', '0.05', '--seed', '7']
  const { counts } = resultIn(await sluice(cwd, ...words, '--json')) as {
    counts: { lines: number; resources: number; repeated: number; bad: number; badByCode: Record<string, number> }
  }
  assert.equal(counts.lines, 400)
  assert.ok(counts.bad > 5 && counts.repeated > 5)

  const imported = await sluice(
    cwd,
    'job',
    'run',
    'fhir-import',
    '--params',
    '{"inputs":[{"folder":"samples"}]}',
    '--json',
  )
  assert.equal(imported.status, 0, imported.err)
  const report = resultIn(imported).report as Record<string, unknown>
  assert.deepEqual(
    [report.lines, report.created, report.unchanged, report.refused, report.refusedBy],
    [400, counts.resources, counts.repeated, counts.bad, counts.badByCode],
  )

  const indexed = await sluice(cwd, 'job', 'run', 'fhir-reindex', '--json')
  assert.equal((resultIn(indexed).report as { resources: number }).resources, counts.resources)

  const exported = await sluice(cwd, 'job', 'run', 'fhir-export', '--params', '{"into":"exported"}', '--json')
  assert.equal(exported.status, 0, exported.err)
  const files = readdirSync(join(cwd, 'exported')).filter((name) => name.endsWith('.ndjson'))
  const lines = files.flatMap((name) =>
    readFileSync(join(cwd, 'exported', name), 'utf8')
      .trim()
      .split('\n'),
  )
  assert.equal(lines.length, counts.resources)

  const again = await sluice(cwd, 'job', 'run', 'fhir-export', '--params', '{"into":"exported"}')
  assert.equal(again.status, 2)
  assert.match(again.out, /\nWhy it failed\n.*folder not empty/)
})

test('a sample tells what it wrote and how to try it; a folder that is not empty is left alone', async () => {
  const cwd = newFolder()
  const { out, status } = await sluice(cwd, 'fhir', 'sample', 'some files', '--resources', '50')
  assert.equal(status, 0)
  assert.match(out, /^some files: 50 lines in \d files, written in [^\n]+\n\n {2}resources +50\n/)
  const [, parameters = ''] = /\nTry it: sluice job run fhir-import --params '(.*)'\n$/.exec(out) ?? []
  assert.match(JSON.parse(parameters).inputs[0].folder, /some files$/)
  const again = await sluice(cwd, 'fhir', 'sample', 'some files', '--resources', '50')
  assert.equal(again.err, 'some files is not empty. Take another folder, or --force to write into it.\n')
  assert.equal(again.status, 5)
  assert.equal((await sluice(cwd, 'fhir', 'sample', 'some files', '--resources', '50', '--force', '--quiet')).status, 0)
})
