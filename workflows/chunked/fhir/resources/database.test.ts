import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { isSluiceError } from 'sluice'
import { Resources } from './resources.ts'
import { migrations } from './schema.ts'

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-resources-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function open(file: string): Resources {
  return new Resources({ file, now: () => 1, index: () => ({ terms: [] }) })
}

test('a database of another program, a newer one and a file that is none are each refused with a sentence', (t) => {
  const folder = folderOf(t)
  const opened = (name: string) => () => open(join(folder, name)).close()
  const foreign = new DatabaseSync(join(folder, 'foreign.db'))
  foreign.exec('CREATE TABLE other (a)')
  foreign.close()
  assert.throws(opened('foreign.db'), /another program.*Nothing was changed/)
  opened('newer.db')()
  const newer = new DatabaseSync(join(folder, 'newer.db'))
  newer.exec('PRAGMA user_version = 99')
  newer.close()
  assert.throws(opened('newer.db'), /newer program \(schema 99; this one knows 2\)/)
  writeFileSync(join(folder, 'text.db'), 'This is no database, and it is long enough to be seen as none.'.repeat(20))
  assert.throws(
    opened('text.db'),
    (error) => isSluiceError(error, 'invalid') && /no SQLite database/.test(error.message),
  )
  assert.throws(
    opened('missing/resources.db'),
    (error) => isSluiceError(error, 'forbidden') && error.message.includes('folder exists'),
  )
})

test('a file from before there were collections keeps what it has, in none', (t) => {
  const file = join(folderOf(t), 'resources.db')
  const before = new DatabaseSync(file)
  before.exec(migrations[0]!.sql)
  before.exec(`INSERT INTO type VALUES (1, 'Patient');
    INSERT INTO resource VALUES (1, 1, 'a', 3, 5, NULL, NULL, 0, '"text"');
    INSERT INTO tally VALUES (1, 0, 1);
    PRAGMA user_version = 1; PRAGMA application_id = ${0x534c_5552}`)
  before.close()
  const resources = open(file)
  t.after(() => resources.close())
  assert.deepEqual(resources.types(), [{ type: 'Patient', resources: 1, stale: 1 }])
  assert.deepEqual(resources.types({ collection: 'red' }), [])
  assert.equal(resources.get('Patient', 'a')?.version, 3)
  assert.equal(resources.get('Patient', 'a', { collection: 'red' }), null)
  const entry = { type: 'Patient', id: 'a', json: '"red"', collection: 'red', origin: null }
  assert.deepEqual(resources.put([entry]), ['created'], 'another with the same type and id')
  assert.equal(resources.get('Patient', 'a')?.json, '"text"')
  assert.equal(resources.get('Patient', 'a', { collection: 'red' })?.json, '"red"')
})

test('two connections see what the other has put', (t) => {
  const file = join(folderOf(t), 'resources.db')
  const [first, second] = [open(file), open(file)]
  const put = (into: Resources, text: string, type = 'Patient') =>
    into.put([{ type, id: 'a', json: JSON.stringify(text), origin: { source: 's', line: 1 } }])
  assert.deepEqual([put(first, 'one'), put(second, 'one'), put(second, 'two'), put(first, 'one')].flat(), [
    'created',
    'unchanged',
    'updated',
    'updated',
  ])
  // Each gives out names of its own; the other must not take them for something else.
  assert.deepEqual([put(second, 'one', 'Group'), put(first, 'one', 'Account'), put(second, 'one', 'Account')].flat(), [
    'created',
    'created',
    'unchanged',
  ])
  assert.deepEqual(first.types(), second.types())
  first.close()
  second.close()
})

test('a process that is killed while it puts leaves whole groups only, and a usable file', {
  timeout: 60_000,
}, async (t) => {
  const file = join(folderOf(t), 'resources.db')
  const script = fileURLToPath(new URL('putting-process.ts', import.meta.url))
  const group = 200
  let known = 0
  for (let round = 0; round < 4; round += 1) {
    const child = spawn(process.execPath, [...process.execArgv, script, file, String(known + 1), String(group)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    // It is killed at some moment of a later group.
    let said = ''
    const ended = once(child, 'exit')
    for await (const chunk of child.stdout) {
      said += String(chunk)
      if (said.split('\n').length > 3 + round * 2) child.kill('SIGKILL')
    }
    await ended
    const acknowledged = Number(said.trimEnd().split('\n').at(-1))
    const resources = open(file)
    const { resources: total, stale } = resources.counts()
    assert.equal(total % group, 0, 'a part of a group was written')
    assert.ok(total >= acknowledged, 'what was acknowledged is gone')
    assert.equal(stale, 0)
    assert.equal(resources.get('Patient', String(total))?.version, 1)
    assert.equal(resources.get('Patient', String(total + 1)), null)
    resources.close()
    known = total
  }
  const database = new DatabaseSync(file)
  assert.deepEqual({ ...database.prepare('PRAGMA integrity_check').get() }, { integrity_check: 'ok' })
  const count = (sql: string) => ({ ...database.prepare(sql).get() })
  assert.deepEqual(count('SELECT count(*) AS rows FROM resource'), { rows: known })
  assert.deepEqual(count('SELECT count(*) AS rows FROM indexed'), { rows: known })
  assert.deepEqual(count('SELECT count(*) AS rows FROM term'), { rows: 2 * known })
  assert.deepEqual(count('SELECT count(*) AS rows FROM operation'), { rows: known / group })
  database.close()
})
