import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { pino } from 'pino'
import { Engine } from '../../src/engine/engine.ts'
import { isSluiceError } from '../../src/errors.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { skipOwn, startPostgres } from './server.ts'

const log = pino({ level: 'silent' })

describe('a process that starts before its server', { skip: skipOwn }, () => {
  test('waits for it, a bounded time', async () => {
    await using server = await startPostgres({ own: true })
    const url = await server.database()
    await server.stop('immediate')
    const store = postgresStore({ url })
    const engine = new Engine({ store, implementations: [], log })
    const started = engine.start()
    // Nothing answers at first; then the server says that it is starting up, as it recovers from its crash.
    await server.start()
    await started
    assert.equal((await engine.control.workers()).length, 1)
    await engine.stop()
    await store.close()
  })

  test('says who does not answer when the time is over; a wrong address is told at once', async () => {
    await using server = await startPostgres({ own: true })
    const url = await server.database()
    const nowhere = postgresStore({ url: url.replace(/\/[^/?]+($|\?)/, '/no_such_database$1') })
    await assert.rejects(
      new Engine({ store: nowhere, implementations: [], log }).start(),
      (error) => isSluiceError(error, 'invalid') && /There is no such database/.test(error.message),
    )
    await nowhere.close()
    await server.stop('fast')
    const store = postgresStore({ url })
    await assert.rejects(
      new Engine({ store, implementations: [], log, limits: { startMs: 300 } }).start(),
      (error) => isSluiceError(error, 'internal') && /nobody answers there/.test(error.message),
    )
    await store.close()
  })
})
