import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, describe, test } from 'node:test'
import { applicationId, migrations, newest } from '../store/sqlite/migrations.ts'
import { type Ending, newFolder, removeFolders, resultIn, sluice, start, written } from './command-process.ts'

after(removeFolders)

/** A store as an older program left it. */
function olderStore(cwd: string, number: number): string {
  const database = new DatabaseSync(join(cwd, 'sluice.db'))
  for (const migration of migrations) if (migration.number <= number) database.exec(migration.sql)
  database.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${number}`)
  database.close()
  return 'sluice.db'
}

function numberOf(cwd: string): unknown {
  const database = new DatabaseSync(join(cwd, 'sluice.db'))
  try {
    return database.prepare('PRAGMA user_version').get()?.user_version
  } finally {
    database.close()
  }
}

function withEnvironment(cwd: string, environment: Readonly<Record<string, string>>, ...words: readonly string[]) {
  const running = start(cwd, words, [], environment)
  running.process.stdin?.end()
  return running.ending
}

describe('migrate', () => {
  test('says what it would do and changes nothing; then does it, once', async () => {
    const cwd = newFolder()
    const planned = await sluice(cwd, 'migrate', '--dry-run')
    assert.equal(planned.status, 0, planned.err)
    assert.equal(
      planned.out,
      `To do at sluice.db: tables of number ${newest}. Nothing was changed; --sql prints the statements.\n`,
    )
    assert.deepEqual(readdirSync(cwd), [])
    const made = await sluice(cwd, 'migrate')
    assert.equal(made.out, `Migrated sluice.db: tables of number ${newest}.\n`)
    assert.equal(numberOf(cwd), newest)
    const again = resultIn(await sluice(cwd, 'migrate', '--store', 'sqlite:sluice.db', '--json'))
    assert.deepEqual(again, { store: 'sluice.db', schema: null, from: newest, to: newest, migrated: false })
    assert.match((await sluice(cwd, 'migrate', '--dry-run')).out, /^The store at sluice\.db has the tables that this/)
    assert.equal((await sluice(cwd, 'doctor')).status, 0)
  })

  test('prints SQL and nothing else, which does the same by hand', async () => {
    const cwd = newFolder()
    olderStore(cwd, 1)
    const { out, err } = await sluice(cwd, 'migrate', '--sql')
    assert.equal(err, '')
    assert.match(out, /^-- The store at sluice\.db has tables of number 1; this program needs \d+\.\nBEGIN;\n/)
    assert.match(out, /\nCOMMIT;\n$/)
    assert.equal(numberOf(cwd), 1)
    const database = new DatabaseSync(join(cwd, 'sluice.db'))
    database.exec(out)
    database.close()
    assert.equal(numberOf(cwd), newest)
    const nothing = await sluice(cwd, 'migrate', '--sql')
    assert.match(nothing.out, /^-- The store at [^\n]*\n$/)
    assert.equal((await sluice(cwd, 'check')).status, 0)
  })

  test('a store of a newer program and a file of another program are refused', async () => {
    const cwd = newFolder()
    olderStore(cwd, newest + 1)
    const newer = await sluice(cwd, 'migrate', '--dry-run')
    assert.equal(newer.status, 5)
    assert.match(newer.err, /was written by a newer program .*\n$/)
    written(cwd, 'other.db', 'this is no database, and long enough to be looked at as one')
    const other = await sluice(cwd, 'migrate', '--store', 'other.db')
    assert.equal(other.status, 2)
  })

  test('serve and worker do it by themselves, or refuse if they are told to', async () => {
    const cwd = newFolder()
    for (const refused of [
      await sluice(cwd, 'serve', '--listen', '127.0.0.1:0', '--no-migrate'),
      await withEnvironment(cwd, { SLUICE_MIGRATE: 'false' }, 'worker'),
    ]) {
      assert.equal(refused.status, 5)
      assert.equal(
        refused.err,
        `The store at sluice.db has no tables yet; this program needs number ${newest}. Run: sluice migrate --store sluice.db\n`,
      )
    }
    assert.deepEqual(readdirSync(cwd), ['sluice-server'])
    olderStore(cwd, 1)
    assert.match((await sluice(cwd, 'worker', '--no-migrate')).err, /has tables of number 1; this program needs/)
    const running = start(cwd, ['worker', '--json', '--no-text-index'])
    assert.ok(await running.told(/^\{.*\}\n/))
    running.process.kill('SIGTERM')
    assert.equal((await running.ending).status, 0)
    assert.equal(numberOf(cwd), newest)
  })
})

describe('the address of a store', () => {
  test('a password is not told, whatever goes wrong', async () => {
    const cwd = newFolder()
    written(cwd, 'config.json', JSON.stringify({ store: 'postgres://me:t0psecret/@h/d' }))
    const address = 'postgres://me:t0psecret@127.0.0.1:1/d'
    const environment = { SLUICE_STORE: address }
    const endings: readonly Ending[] = [
      await sluice(cwd, 'status', '--store', address),
      await withEnvironment(cwd, { ...environment, SLUICE_START_MS: '200' }, 'serve', '--no-migrate', '--log', 'trace'),
      await sluice(cwd, 'worker', '--config', 'config.json'),
      await sluice(cwd, 'upload', 'show', '1', '--store', 'mysql://me:t0psecret@h/d', '--json'),
      await sluice(cwd, 'job', 'show', '1', '--store', `${address}?schema=`),
      await withEnvironment(cwd, environment, 'migrate', '--json'),
      await withEnvironment(cwd, environment, 'doctor', '--json'),
      await withEnvironment(cwd, environment, 'upload', 'errors', '1', '--json'),
    ]
    for (const { status, out, err } of endings) {
      assert.notEqual(status, 0, out)
      assert.doesNotMatch(`${out}${err}`, /t0psecret/)
    }
    assert.ok(!existsSync(join(cwd, 'sluice.db')))
  })

  test('SLUICE_STORE and SLUICE_FOLDER are heeded by the commands of the families too; what is typed goes before', async () => {
    const [cwd, away] = [newFolder(), newFolder()]
    written(cwd, 'items.json', '[{"id":1,"type":"story"}]')
    const environment = { SLUICE_FOLDER: away, SLUICE_STORE: `sqlite:${join(away, 'other.db')}` }
    const ran = await withEnvironment(cwd, environment, 'upload', 'run', 'items.json', '--json')
    assert.equal(ran.status, 0, ran.err)
    assert.deepEqual(readdirSync(cwd), ['items.json'])
    assert.deepEqual(readdirSync(away).sort(), ['other.db', 'sluice-upload'])
    const shown = await withEnvironment(cwd, environment, 'upload', 'show', String(resultIn(ran).batchId), '--json')
    assert.equal(resultIn(shown).state, 'completed')
    const typed = await withEnvironment(cwd, environment, 'upload', 'show', '1', '--store', 'none.db')
    assert.equal(typed.status, 4)
    assert.match(typed.err, /^There is no store at none\.db\./)
  })
})

/** Without versions: an earlier one is served beside the newest. */
function namesOf(machines: readonly string[]): readonly string[] {
  return [...new Set(machines.map((machine) => machine.replace(/@.*$/, '')))]
}

test('a worker may be told which machines to work on', async () => {
  const cwd = newFolder()
  const unknown = await sluice(cwd, 'worker', '--machines', 'letter')
  assert.equal(unknown.status, 4)
  assert.match(unknown.err, /^--machines names letter, which is not known here\. Known: upload_batch@\d, .*\n$/)
  const started = resultIn(await sluice(cwd, 'job', 'run', 'fhir-reindex', '--no-wait', '--json'))
  const uploads = start(cwd, ['worker', '--machines', 'upload_batch,upload_item', '--name', 'uploads', '--json'])
  const told = JSON.parse((await uploads.told(/^\{.*\}\n/)) ?? 'null')
  assert.deepEqual(namesOf(told.machines), ['upload_batch', 'upload_item'])
  const { sentence } = resultIn(await sluice(cwd, 'explain', String(started.jobId), '--json'))
  assert.match(String(sentence), /none of the 1 live workers serves chunked_job@1/)
  const { workers } = resultIn(await sluice(cwd, 'status', '--json'))
  const [row] = workers as { name: string; machines: string[]; host: string; program: string; leases: number }[]
  assert.match(row?.name ?? '', /^uploads-/)
  assert.deepEqual([namesOf(row?.machines ?? []), row?.leases], [['upload_batch', 'upload_item', 'walk'], 0])
  assert.match(`${row?.host} ${row?.program}`, /^\S+ sluice \d/)
  const jobs = start(cwd, ['worker', '--machines', 'chunked_job', '--machines', 'chunked_chunk', '--json'])
  assert.ok(await jobs.told(/^\{.*\}\n/))
  assert.equal((await sluice(cwd, 'watch', String(started.jobId), '--quiet')).status, 0)
  for (const running of [uploads, jobs]) {
    running.process.kill('SIGTERM')
    assert.equal((await running.ending).status, 0)
  }
})
