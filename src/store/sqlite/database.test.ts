import assert from 'node:assert/strict'
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, describe, test } from 'node:test'
import { isSluiceError } from '../../errors.ts'
import { faultOf } from './fault.ts'
import { sqliteStore } from './index.ts'
import { migrations, newest } from './migrations.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-files-'))
after(() => rmSync(folder, { recursive: true, force: true }))

let files = 0
const newFile = (): string => {
  files += 1
  return join(folder, `${files}.db`)
}

const pragma = (file: string, sql: string): unknown => {
  const database = new DatabaseSync(file)
  try {
    return Object.values(database.prepare(sql).get() ?? {})[0]
  } finally {
    database.close()
  }
}

/** One clear sentence with a code; no words of the driver's insides. */
function refuses(act: () => unknown, code: string, words: RegExp): void {
  assert.throws(act, (error) => {
    assert.ok(isSluiceError(error), String(error))
    assert.equal(error.code, code)
    assert.match(error.message, words)
    assert.doesNotMatch(error.message, /\n|ERR_|at .*\.ts:/)
    return true
  })
}

describe('opening a file', () => {
  test('a new file is made, durable and marked as ours', async () => {
    const file = newFile()
    const store = sqliteStore({ file })
    await store.migrate()
    await store.migrate()
    await store.close()
    assert.equal(pragma(file, 'PRAGMA user_version'), newest)
    assert.equal(pragma(file, 'PRAGMA journal_mode'), 'wal')
    assert.equal(pragma(file, 'PRAGMA application_id'), 0x534c_5549)
    const again = sqliteStore({ file })
    await again.migrate()
    assert.deepEqual(await again.lanes([null]), [])
    await again.close()
  })

  test('a file of an older program is brought up to date, with what is in it', async () => {
    const file = newFile()
    const old = new DatabaseSync(file)
    old.exec(migrations[0]!.sql)
    old.exec(`PRAGMA application_id = ${0x534c_5549}; PRAGMA user_version = 1`)
    old.exec(
      `INSERT INTO hold (id, scope, reason, owner, until, since) VALUES (1, '{"machine":"m"}', 'audit', 'olga', NULL, 5)`,
    )
    old.close()
    const store = sqliteStore({ file })
    await store.migrate()
    const by = { actor: null, role: null, reason: null, requestId: null }
    const hold = {
      id: 1,
      scope: { machine: 'm' },
      reason: 'audit',
      owner: 'olga',
      until: null,
      since: 5,
      by,
      ended: null,
    }
    assert.deepEqual(await store.holds(), [hold])
    await store.close()
    assert.equal(pragma(file, 'PRAGMA user_version'), newest)
  })

  test('a file that is no database is refused and left as it was', () => {
    const file = newFile()
    writeFileSync(file, 'This is a letter, not a database. '.repeat(100))
    const before = readFileSync(file)
    refuses(() => sqliteStore({ file }), 'invalid', /no SQLite database/)
    assert.deepEqual(readFileSync(file), before)
  })

  test('a database of another program is refused and left as it was', () => {
    const file = newFile()
    const other = new DatabaseSync(file)
    other.exec('CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)')
    other.close()
    const before = readFileSync(file)
    refuses(() => sqliteStore({ file }), 'invalid', /another program/)
    assert.deepEqual(readFileSync(file), before)
  })

  test('a database of a newer program is refused', async () => {
    const file = newFile()
    const store = sqliteStore({ file })
    await store.migrate()
    await store.close()
    pragma(file, `PRAGMA user_version = ${newest + 1}`)
    refuses(() => sqliteStore({ file }), 'conflict', /newer program/)
    assert.equal(pragma(file, 'PRAGMA user_version'), newest + 1)
  })

  test('a damaged database is refused', async () => {
    const file = newFile()
    const store = sqliteStore({ file })
    await store.migrate()
    await store.close()
    const bytes = readFileSync(file)
    // The header stays; what the header leads to is noise.
    for (let at = 8_192; at < bytes.length; at += 1) bytes[at] = (at * 31) % 251
    writeFileSync(file, bytes)
    refuses(() => sqliteStore({ file }), 'invalid', /damaged/)
  })

  test('a database that was cut short is refused', async () => {
    const file = newFile()
    const store = sqliteStore({ file })
    await store.migrate()
    await store.close()
    truncateSync(file, 8_192 * 3)
    refuses(() => sqliteStore({ file }), 'invalid', /damaged/)
  })

  test('a folder that does not exist, or is none, is said so', () => {
    refuses(() => sqliteStore({ file: join(folder, 'nowhere', 'a.db') }), 'forbidden', /folder exists/)
    refuses(() => sqliteStore({ file: folder }), 'forbidden', /cannot be opened/)
  })

  test('a folder that may not be written to is said so', () => {
    const locked = process.getuid?.() === 0 ? '/proc' : join(folder, 'locked')
    // Root may write anywhere but there.
    if (locked !== '/proc') mkdirSync(locked, { mode: 0o500 })
    refuses(() => sqliteStore({ file: join(locked, 'a.db') }), 'forbidden', /cannot be opened/)
  })
})

describe('a file that its path no longer leads to', () => {
  const birth = {
    ...{ machine: 'm', version: 1, state: 's', settled: false, data: '{}', labels: [], priority: 0, reason: null },
    ...{ wait: { for: 'run' as const, at: 0 }, sums: null, key: null, createdBy: null },
  }
  const refused = (work: Promise<unknown>, words: RegExp) =>
    assert.rejects(work, (error) => isSluiceError(error, 'internal') && words.test(error.message))

  test('deleted: nothing is acknowledged any more, and reading says so too', async () => {
    const file = newFile()
    const store = sqliteStore({ file })
    await store.migrate()
    await store.create('before', [birth])
    rmSync(file)
    await refused(store.create('after', [birth]), /was deleted or moved away/)
    await refused(store.workers(), /was deleted or moved away/)
    await store.close()
  })

  test('replaced by a backup: the backup is not touched, and what was acknowledged is whole in the old file', async () => {
    const file = newFile()
    const store = sqliteStore({ file })
    await store.migrate()
    await store.create('before', [birth])
    const backup = newFile()
    pragma(file, `VACUUM INTO '${backup}'`)
    for (let more = 0; more < 20; more += 1) await store.create(`more ${more}`, [birth, birth])
    const old = newFile()
    renameSync(file, old)
    copyFileSync(backup, file)
    await refused(store.create('after', [birth]), /was replaced by another file/)
    await store.close()
    assert.deepEqual(readFileSync(file), readFileSync(backup))
    const counts = async (name: string) => {
      const opened = sqliteStore({ file: name })
      const [lane] = await opened.lanes([null])
      await opened.close()
      return lane?.total
    }
    assert.equal(await counts(file), 1)
    assert.equal(await counts(old), 41)
  })

  test('a database in memory has no path', async () => {
    const store = sqliteStore({ file: ':memory:' })
    await store.migrate()
    const [verdict] = await store.create('one', [birth])
    assert.equal(verdict?.kind, 'saved')
    await store.close()
  })

  test('put back: it goes on', async () => {
    const file = newFile()
    const store = sqliteStore({ file })
    await store.migrate()
    renameSync(file, `${file}.away`)
    await refused(store.create('one', [birth]), /moved away/)
    renameSync(`${file}.away`, file)
    const [verdict] = await store.create('two', [birth])
    assert.equal(verdict?.kind, 'saved')
    await store.close()
  })
})

describe('faults of the database', () => {
  const fault = (errcode: number) =>
    faultOf(Object.assign(new Error('said so'), { code: 'ERR_SQLITE_ERROR', errcode }), 'a.db')

  test('each says what happened and what to do', () => {
    for (const [errcode, code, words] of [
      [13, 'internal', /disk that holds a\.db is full.*Free some space/],
      [8, 'forbidden', /cannot be opened for writing/],
      [14, 'forbidden', /cannot be opened for writing/],
      [26, 'invalid', /no SQLite database/],
      [11, 'invalid', /damaged.*restore/],
      [5, 'internal', /locked for too long/],
      [10, 'internal', /failed to read or write/],
      [1, 'internal', /refused a statement/],
    ] as const) {
      const error = fault(errcode)
      assert.equal(error.code, code)
      assert.match(error.message, words)
    }
  })

  test('extended codes mean the same', () => assert.match(fault(10 | (12 << 8)).message, /failed to read or write/))
})

describe('a full disk', () => {
  test('is one clear error, and nothing is half done', async () => {
    const file = newFile()
    const store = sqliteStore({ file })
    await store.migrate()
    await store.close()
    const pages = pragma(file, 'PRAGMA page_count') as number
    const small = sqliteStore({ file, pagesMax: pages + 3 })
    const births = Array.from({ length: 1_000 }, () => ({
      machine: 'm',
      version: 1,
      state: 's',
      settled: false,
      data: JSON.stringify('x'.repeat(500)),
      labels: [],
      priority: 0,
      wait: { for: 'run' as const, at: 0 },
      reason: null,
      sums: null,
      key: null,
      createdBy: null,
    }))
    await assert.rejects(
      small.create('big', births),
      (error) => isSluiceError(error, 'internal') && /disk .* is full/.test(error.message),
    )
    assert.deepEqual((await small.list({ limit: 10 })).entities, [])
    assert.deepEqual(await small.lanes([null]), [])
    const [verdict] = await small.create('small', births.slice(0, 1))
    assert.equal(verdict?.kind, 'saved', 'it goes on with what fits')
    await small.close()
  })
})
