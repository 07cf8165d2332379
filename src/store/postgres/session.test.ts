import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type PostgresServer, skip, startPostgres } from '../../../test/postgres/server.ts'
import { systemClock } from '../../clock.ts'
import { Database, type Value } from './database.ts'

const options = { skip, timeout: 30_000 }
let server: PostgresServer
before(async () => {
  if (!skip) server = await startPostgres()
})
after(() => server?.close())

test('what cannot be put into words fails by itself, and whoever asks next is answered', options, async () => {
  const database = new Database(server.url, 'public', 1, systemClock())
  // As a text that would be longer than any text can be.
  const unspeakable = [[Symbol('x')]] as unknown as Value[]
  await assert.rejects(
    database.write(async (session) => {
      session.send('SELECT 1')
      return session.all('SELECT $1::text[]', unspeakable)
    }),
    TypeError,
  )
  const rows = await database.single((session) => session.all('SELECT 2'))
  assert.deepEqual(rows, [[2]])
  await database.close()
})
