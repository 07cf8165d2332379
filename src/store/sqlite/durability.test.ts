import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Database } from './database.ts'

test('every connection writes ahead and syncs the log at each commit', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-durability-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'sluice.db')
  const first = new Database(file)
  first.migrate()
  // A second one finds the file as the first has left it: what is not kept in the file must be asked for each time.
  const second = new Database(file)
  for (const database of [first, second]) {
    assert.equal(database.get('PRAGMA journal_mode')?.[0], 'wal')
    assert.equal(database.number('PRAGMA synchronous'), 2, 'FULL: what is answered has survived a power failure')
    database.close()
  }
})
