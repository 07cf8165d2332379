import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { differential } from '../../src/testing/index.ts'
import { movingStore } from '../transfer/moving-store.ts'
import { sqlitePlace } from '../transfer/place.ts'
import { postgresPlaces } from '../transfer/postgres-place.ts'
import { settled } from '../transfer/settled-store.ts'
import { type PostgresServer, skipOwn, startPostgres } from './server.ts'

if (skipOwn) {
  test('a store that is moved to postgres and back', { skip: skipOwn }, () => {})
} else {
  let server: PostgresServer
  const postgres = postgresPlaces(() => server)
  const moving = movingStore([sqlitePlace, postgres.place])
  before(async () => {
    // The feed shows what is older than the oldest transaction of the whole server: here nobody else has one.
    server = await startPostgres({ settings: { autovacuum: 'off' } })
  })
  after(async () => {
    await postgres.close()
    await server?.close()
    assert.ok(moving.moves() > 0, 'It was moved.')
  })
  differential('sqlite, and a store that is moved to postgres and back', settled, moving.open, { budgetMs: 15_000 })
}
