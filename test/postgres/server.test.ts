import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import { skipOwn, startPostgres } from './server.ts'

const execute = promisify(execFile)
const script = fileURLToPath(new URL('../../scripts/services.sh', import.meta.url))
const serverModule = new URL('./server.ts', import.meta.url).href
const redis = '/usr/bin/redis-server'
const skipRedis = existsSync(redis) ? false : 'Redis is not installed: `npm run services -- redis` installs it.'

describe('a PostgreSQL of a test', { skip: skipOwn, timeout: 60_000 }, () => {
  test('keeps what was committed through a crash, and has nothing in a fresh database', async () => {
    await using server = await startPostgres({ own: true })
    const url = await server.database()
    await server.psql('CREATE TABLE kept (id int); INSERT INTO kept VALUES (1), (2)', url)
    await server.stop('immediate')
    await assert.rejects(server.psql('SELECT 1', url), { code: 'ECONNREFUSED' })
    await server.start()
    assert.match(server.log(), /automatic recovery/)
    assert.equal(await server.psql('SELECT id, id > 1, NULL FROM kept ORDER BY id', url), '1|f|\n2|t|')
    assert.equal(await server.psql("SELECT to_regclass('kept') IS NULL", await server.database()), 't')
    await server.stop('fast')
    await server.start()
    assert.equal(await server.psql('SELECT count(*) FROM kept', url), '2')
  })

  test('has the settings that it was given', async () => {
    await using server = await startPostgres({
      fsync: true,
      settings: { max_connections: '20', timezone: 'Asia/Tokyo' },
    })
    const names = ['fsync', 'max_connections', 'timezone', 'server_encoding']
    const settings = names.map((name) => `current_setting('${name}')`).join(', ')
    assert.equal(await server.psql(`SELECT ${settings}`), 'on|20|Asia/Tokyo|UTF8')
  })

  test('says why it did not start', async () => {
    await assert.rejects(startPostgres({ settings: { nonsense: '1' } }), /did not start.*nonsense/s)
  })

  test('ends with its test, however that ends', {
    skip: process.platform !== 'linux' && 'Only Linux can.',
  }, async (t) => {
    const program = `
      import { startPostgres } from ${JSON.stringify(serverModule)}
      const { url } = await startPostgres({ own: true })
      process.stdout.write(url)
      process.stdin.resume()`
    // Whoever is killed removes nothing: its folder is the test's.
    const folder = await mkdtemp(join(tmpdir(), 'sluice-killed-'))
    t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }))
    await execute('chmod', ['755', folder])
    const child = spawn(process.execPath, ['--input-type=module-typescript', '--eval', program], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, TMPDIR: folder },
    })
    const [url] = await once(child.stdout, 'data')
    const client = new pg.Client({ connectionString: String(url) })
    const isCut = new Promise<Error>((resolve) => client.on('error', resolve))
    await client.connect()
    child.kill('SIGKILL')
    assert.match((await isCut).message, /terminating connection|Connection terminated/)
  })
})

/** Starts and stops the servers that people use by hand. */
describe('npm run services', () => {
  async function services(folder: string, ...words: readonly string[]): Promise<string> {
    const { stdout } = await execute('bash', [script, ...words], { env: { ...process.env, SLUICE_SERVICES: folder } })
    return stdout.trim()
  }

  async function inFolder(story: (folder: string) => Promise<void>): Promise<void> {
    const folder = await mkdtemp(join(tmpdir(), 'sluice-services-'))
    await execute('chmod', ['755', folder])
    try {
      await story(folder)
    } finally {
      await services(folder, 'stop')
      await rm(folder, { recursive: true, force: true })
    }
  }

  test('runs a durable PostgreSQL whose address and data stay', { skip: skipOwn, timeout: 60_000 }, () =>
    inFolder(async (folder) => {
      const url = await services(folder, 'start')
      assert.equal(await services(folder, 'start', 'postgres'), url)
      const ask = async (sql: string) => {
        const client = new pg.Client({ connectionString: url })
        await client.connect()
        const { rows } = await client.query<{ answer: string }>(sql)
        await client.end()
        return rows[0]?.answer
      }
      const names = ['fsync', 'synchronous_commit', 'full_page_writes']
      const durable = names.map((name) => `current_setting('${name}')`).join(" || ' ' || ")
      assert.equal(await ask(`SELECT ${durable} AS answer`), 'on on on')
      // Tests that are told of it make a database of their own there, and remove it.
      const program = `
        import { startPostgres } from ${JSON.stringify(serverModule)}
        const server = await startPostgres()
        process.stdout.write(server.url + ' ' + (await server.psql('SELECT current_database()', await server.database())))
        await server.close()`
      const env = { ...process.env, SLUICE_POSTGRES_URL: url }
      const { stdout } = await execute(process.execPath, ['--input-type=module-typescript', '--eval', program], { env })
      const [used, name] = stdout.split(' ')
      assert.equal(used, url)
      assert.match(name!, /^sluice_[0-9a-f]{32}$/)
      assert.equal(await ask(`SELECT count(*) AS answer FROM pg_database WHERE datname = '${name}'`), '0')
      await ask("CREATE TABLE kept AS SELECT 'still here' AS answer")
      await services(folder, 'stop', 'postgres')
      await assert.rejects(ask('SELECT 1'), { code: 'ECONNREFUSED' })
      assert.equal(await services(folder, 'start'), url)
      assert.equal(await ask('SELECT answer FROM kept'), 'still here')
    }),
  )

  test('runs a Redis that keeps every write', { skip: skipRedis, timeout: 60_000 }, () =>
    inFolder(async (folder) => {
      const { port } = new URL(await services(folder, 'start', 'redis'))
      const ask = async (...words: readonly string[]) =>
        (await execute('redis-cli', ['-p', port, ...words])).stdout.trim().split('\n').at(-1)
      assert.equal(await ask('config', 'get', 'appendonly'), 'yes')
      assert.equal(await ask('config', 'get', 'appendfsync'), 'always')
      assert.equal(await ask('set', 'kept', 'still here'), 'OK')
      await services(folder, 'stop')
      await services(folder, 'start', 'redis')
      assert.equal(await ask('get', 'kept'), 'still here')
    }),
  )

  test('refuses what it does not know', async () => {
    await assert.rejects(services('/nowhere', 'oracle'), /There is no service oracle/)
    await assert.rejects(services('/nowhere', 'start', 'browser'), /no server/)
  })
})
