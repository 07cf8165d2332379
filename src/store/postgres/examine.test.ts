import assert from 'node:assert/strict'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { after, before, test } from 'node:test'
import { type PostgresServer, skipOwn, startPostgres } from '../../../test/postgres/server.ts'
import { examine, type Finding } from './examine.ts'
import { postgresStore } from './index.ts'

const options = { skip: skipOwn }
let server: PostgresServer

before(async () => {
  if (!skipOwn) server = await startPostgres({ fsync: true, own: true })
})
after(() => server?.close())

const worst = (findings: readonly Finding[]) => findings.filter(({ level }) => level !== 'ok')

function only(findings: readonly Finding[], what: RegExp): Finding {
  const found = findings.filter((finding) => what.test(finding.what))
  assert.equal(found.length, 1, `${what} in ${JSON.stringify(findings)}`)
  return found[0]!
}

async function migrated(): Promise<string> {
  const url = await server.database()
  const store = postgresStore({ url })
  await store.migrate()
  await store.close()
  return url
}

test('a server that is well gets no complaint', options, async () => {
  const findings = await examine({ url: await migrated() })
  assert.deepEqual(worst(findings), [])
  assert.ok(findings.length >= 8)
})

test('where nothing was migrated yet it says what to do, and does nothing', options, async () => {
  const url = await server.database()
  const finding = only(worst(await examine({ url })), /not there yet/)
  assert.deepEqual([finding.level, finding.advice], ['warning', 'Run: sluice migrate.'])
  assert.equal(await server.psql("SELECT to_regnamespace('sluice') IS NULL", url), 't')
})

test('nobody there, no such database, a bad address: one error each', options, async () => {
  const nobody = new URL(server.url)
  nobody.port = '1'
  const none = new URL(server.url)
  none.pathname = '/nowhere'
  for (const [url, words] of [
    [nobody.href, /nobody answers/],
    [none.href, /no such database/],
    ['mysql://localhost/x', /address of PostgreSQL/],
  ] as const) {
    const findings = await examine({ url })
    assert.equal(findings.length, 1)
    assert.equal(only(findings, words).level, 'error')
  }
})

test('tables of a newer program, missing ones and another encoding are errors', options, async () => {
  const url = await migrated()
  await server.psql('DROP TABLE sluice.past_hold', url)
  assert.equal(only(worst(await examine({ url })), /has no past_hold/).level, 'error')
  await server.psql("COMMENT ON SCHEMA sluice IS 'sluice 999'", url)
  assert.match(only(worst(await examine({ url })), /number 999/).advice ?? '', /Update/)
  await server.psql("CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'")
  const latin = new URL(server.url)
  latin.pathname = '/latin'
  assert.match(only(worst(await examine({ url: latin.href })), /LATIN1/).advice ?? '', /createdb/)
})

test('rights that a role lacks are named, with what to grant', options, async () => {
  const url = await migrated()
  await server.psql('CREATE ROLE guest LOGIN; ALTER ROLE guest CONNECTION LIMIT 2', url)
  const guest = new URL(url)
  guest.username = 'guest'
  const outside = worst(await examine({ url: guest.href }))
  assert.match(only(outside, /may not use the schema/).advice ?? '', /GRANT USAGE/)
  only(outside, /room for/)
  await server.psql('GRANT USAGE ON SCHEMA sluice TO guest; GRANT SELECT ON ALL TABLES IN SCHEMA sluice TO guest', url)
  const reader = only(worst(await examine({ url: guest.href })), /may not read and write/)
  assert.match(reader.what, /entity.*worker_id/)
  await server.psql(
    `GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA sluice TO guest; GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA sluice TO guest;
     ALTER ROLE guest CONNECTION LIMIT -1`,
    url,
  )
  assert.deepEqual(worst(await examine({ url: guest.href })), [])
  const elsewhere = worst(await examine({ url: guest.href, schema: 'mine' }))
  assert.equal(only(elsewhere, /may not make a schema/).level, 'error')
})

test('settings by which acknowledged work can be lost, or tables grow without end, are told', options, async () => {
  const url = await migrated()
  const name = new URL(url).pathname.slice(1)
  await server.psql(
    `ALTER DATABASE ${name} SET synchronous_commit = off; ALTER DATABASE ${name} SET default_transaction_read_only = on`,
  )
  const findings = worst(await examine({ url }))
  assert.equal(only(findings, /synchronous_commit is off/).level, 'warning')
  assert.equal(only(findings, /read-only by default/).level, 'error')
  await using careless = await startPostgres({ settings: { autovacuum: 'off' } })
  const others = worst(await examine({ url: careless.url }))
  assert.equal(only(others, /fsync is off/).level, 'error')
  assert.equal(only(others, /autovacuum does not run/).level, 'error')
})

test('a pooler that changes the server process between transactions is noticed', options, async () => {
  const url = new URL(await migrated())
  await using pooler = await transactionPooler(server.port)
  url.port = String(pooler.port)
  const finding = only(worst(await examine({ url: url.href })), /pooler in transaction mode/)
  assert.match(finding.advice ?? '', /session mode/)
})

/** Gives each transaction of a client the next of two connections to the server. */
async function transactionPooler(upstream: number): Promise<{ readonly port: number } & AsyncDisposable> {
  const sockets = new Set<Socket>()
  const pooler = createServer((client) => {
    const servers = [connect(upstream, '127.0.0.1'), connect(upstream, '127.0.0.1')]
    for (const socket of [client, ...servers]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        for (const other of [client, ...servers]) other.destroy()
      })
    }
    // The greeting goes to both; the answer to it is that of the first.
    let isGreeted = false
    let isSecondReady = false
    // Held back until the second is ready too: nothing may go to one that is still greeting.
    const held: Buffer[] = []
    servers[0]!.on('data', (bytes) => {
      if (isSecondReady) client.write(bytes)
      else held.push(bytes)
    })
    servers[1]!.on('data', (bytes) => {
      if (isSecondReady) {
        client.write(bytes)
        return
      }
      // Its last message is that it is ready: six bytes that begin with Z.
      isSecondReady = bytes.at(-6) === 'Z'.charCodeAt(0)
      if (isSecondReady) for (const early of held.splice(0)) client.write(early)
    })
    let turn = 0
    let rest = Buffer.alloc(0)
    client.on('data', (bytes) => {
      rest = Buffer.concat([rest, bytes])
      for (;;) {
        const begin = isGreeted ? 1 : 0
        if (rest.length < begin + 4) return
        const end = begin + rest.readUInt32BE(begin)
        if (rest.length < end) return
        const message = rest.subarray(0, end)
        rest = rest.subarray(end)
        if (!isGreeted) for (const server of servers) server.write(message)
        else servers[turn % 2]!.write(message)
        // A whole request ends with a query or a sync.
        if (isGreeted && 'QS'.includes(String.fromCharCode(message[0]!))) turn += 1
        isGreeted = true
      }
    })
  })
  await new Promise<void>((resolve) => pooler.listen(0, '127.0.0.1', resolve))
  return {
    port: (pooler.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => pooler.close(resolve))
    },
  }
}
