import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { isSluiceError } from 'sluice'
import type { Opening } from './opening-thread.ts'
import { Documents, folderOf, withCatalogue } from './sample-items.ts'

test('a database of another program, a newer one and a file that is none are each refused with a sentence', (context) => {
  const folder = folderOf(context)
  const open = (name: string) => withCatalogue({ folder, file: join(folder, name) }, () => {})
  const foreign = new DatabaseSync(join(folder, 'foreign.db'))
  foreign.exec('CREATE TABLE other (a)')
  foreign.close()
  assert.throws(() => open('foreign.db'), /another program.*Nothing was changed/)
  open('newer.db')
  const newer = new DatabaseSync(join(folder, 'newer.db'))
  newer.exec('PRAGMA user_version = 99')
  newer.close()
  assert.throws(() => open('newer.db'), /newer program \(schema 99; this one knows 2\)/)
  writeFileSync(join(folder, 'text.db'), 'This is no database, and it is long enough to be seen as none.'.repeat(20))
  assert.throws(
    () => open('text.db'),
    (error) => isSluiceError(error, 'invalid') && error.message.includes('no SQLite database'),
  )
  assert.throws(
    () => open('missing/catalogue.db'),
    (error) => isSluiceError(error, 'forbidden') && error.message.includes('folder exists'),
  )
})

test('two connections see what the other has put', (context) => {
  const folder = folderOf(context)
  const documents = new Documents()
  const options = { folder, readDocument: documents.read }
  withCatalogue(options, (first) =>
    withCatalogue(options, (second) => {
      const entry = documents.entry(1, 1, { hnId: 5, type: 'story', score: 1 })
      assert.deepEqual(first.put([entry]), ['added'])
      second.settle()
      assert.deepEqual(second.put([entry]), ['added'])
      assert.deepEqual(second.put([documents.entry(2, 2, { hnId: 5, type: 'story', score: 2 })]), ['merged'])
      assert.deepEqual(first.put([entry]), ['added'])
      assert.deepEqual(first.put([documents.entry(3, 3, { hnId: 5, type: 'story', score: 1 })]), [{ duplicateOf: 2 }])
    }),
  )
})

test('several may open a new file at the same moment', { timeout: 60_000 }, async (context) => {
  const [files, threads] = [15, 3]
  const opening = { folder: folderOf(context), files, threads, ready: new SharedArrayBuffer(files * 4) }
  const ends = Array.from({ length: threads }, async (_, thread) => {
    const workerData: Opening = { ...opening, thread }
    const [faults] = await once(new Worker(new URL('opening-thread.ts', import.meta.url), { workerData }), 'message')
    assert.deepEqual(faults, [])
  })
  await Promise.all(ends)
  const counts = (file: number) => {
    const options = { folder: opening.folder, file: join(opening.folder, `${file}.db`), textIndex: true }
    return withCatalogue(options, (catalogue) => catalogue.counts().documents)
  }
  for (let file = 0; file < files; file += 1) assert.equal(counts(file), threads)
})

test('a process that is killed while it puts leaves whole groups only, and a usable file', {
  timeout: 60_000,
}, async (context) => {
  const folder = folderOf(context)
  const script = fileURLToPath(new URL('putting-process.ts', import.meta.url))
  const group = 500
  let known = 0
  for (let round = 0; round < 5; round += 1) {
    const child = spawn(process.execPath, [...process.execArgv, script, folder, String(known + 1), String(group)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    // It says the last id of each group once `put` has returned. It is killed at some moment of a later group.
    let said = ''
    const ended = once(child, 'exit')
    for await (const chunk of child.stdout) {
      said += String(chunk)
      if (said.split('\n').length > 3 + round * 2) child.kill('SIGKILL')
    }
    await ended
    const acknowledged = Number(said.trimEnd().split('\n').at(-1))
    withCatalogue({ folder, textIndex: true }, (catalogue) => {
      const { documents: total } = catalogue.counts()
      assert.equal(total % group, 0, 'a part of a group was written')
      assert.ok(total >= acknowledged, 'what was acknowledged is gone')
      const all = Array.from({ length: total + 1 }, (_, index) => index + 1)
      const flags = chunksOf(all, 10_000).flatMap((part) => catalogue.known(part))
      assert.equal(flags.indexOf(false), total)
      catalogue.settle()
      known = total
    })
  }
  const file = new DatabaseSync(join(folder, 'catalogue.db'))
  assert.deepEqual({ ...file.prepare('PRAGMA integrity_check').get() }, { integrity_check: 'ok' })
  for (const table of ['words_docsize', 'place', 'by_time', 'by_author']) {
    assert.deepEqual({ ...file.prepare(`SELECT count(*) AS rows FROM ${table}`).get() }, { rows: known }, table)
  }
  file.close()
})

function chunksOf<Element>(list: readonly Element[], size: number): Element[][] {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, index) =>
    list.slice(index * size, (index + 1) * size),
  )
}
