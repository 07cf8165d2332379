import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { after, before, describe, test } from 'node:test'
import { type PostgresServer, skipOwn as skip, startPostgres } from '../../test/postgres/server.ts'
import { systemClock } from '../clock.ts'
import { type Ending, newFolder, type Running, removeFolders, resultIn, start, written } from './command-process.ts'
import type { Host } from './host.ts'
import { main } from './main.ts'

const guide = readFileSync(new URL('../../docs/operating/postgres.md', import.meta.url), 'utf8')
const [createRoles = '', grantRights = '', monitoring = ''] = [...guide.matchAll(/```sql\n([\s\S]*?)```/g)].map(
  ([, sql]) => sql,
)

/** The command, in this process, which saves its start; on the store that the environment names. What works on a store is a process of its own. */
async function sluice(cwd: string, store: string, ...words: readonly string[]): Promise<Ending> {
  let [out, err] = ['', '']
  const host: Host = {
    terminal: {
      isTty: false,
      columns: 80,
      isRead: false,
      out: (text) => {
        out += text
      },
      err: (text) => {
        err += text
      },
    },
    clock: systemClock(),
    signals: new EventEmitter(),
    input: Readable.from([]),
    user: 'tester',
    // No server comes while a command waits for one.
    environment: { SLUICE_FOLDER: cwd, SLUICE_STORE: store, SLUICE_START_MS: '100' },
    words,
    peakRssMiB: () => 0,
    exit: (status) => assert.fail(`It left at once, with ${status}.`),
    leave: () => {},
  }
  const status = await main(words, host)
  return { status, out, err }
}

describe('on PostgreSQL', { skip }, () => {
  let server: PostgresServer
  const started: Running[] = []
  before(async () => {
    // Roles are made, which belong to a whole server.
    server = await startPostgres({ own: true })
    // Everybody is trusted but the role that runs.
    const file = await server.psql('SHOW hba_file')
    writeFileSync(file, `host all sluice 127.0.0.1/32 scram-sha-256\n${readFileSync(file, 'utf8')}`)
    await server.stop()
    await server.start()
  })
  after(async () => {
    for (const running of started) running.process.kill('SIGKILL')
    await Promise.all(started.map(({ ending }) => ending))
    await server?.close()
    removeFolders()
  })

  /** Until it says that it is ready; what it says then. */
  async function running(cwd: string, words: readonly string[], environment?: Readonly<Record<string, string>>) {
    const process = start(cwd, [...words, '--json'], [], environment)
    started.push(process)
    const line = await process.told(/^\{.*\}\n/)
    if (line === null) assert.fail((await process.ending).err)
    return { ...process, facts: JSON.parse(line) as Record<string, unknown> & { url: string; machines: string[] } }
  }

  async function stopped({ process, ending }: Running): Promise<void> {
    process.kill('SIGTERM')
    const { status, err } = await ending
    assert.equal(status, 0, err)
  }

  const schemas = (url: string) => server.psql(`SELECT nspname FROM pg_namespace WHERE nspname LIKE '%sluice%'`, url)

  test('migrate plans, prints and does; whoever only looks does none of it', async () => {
    const [cwd, url] = [newFolder(), await server.database()]
    const looked = await sluice(cwd, url, 'status')
    assert.equal(looked.status, 4, looked.err)
    assert.match(looked.err, /^There is no store at postgres:\/\/.* start one \(sluice serve\) first\.\n$/)
    const planned = resultIn(await sluice(cwd, url, 'migrate', '--dry-run', '--json'))
    assert.deepEqual([planned.schema, planned.from, planned.migrated], ['sluice', 0, false])
    const refused = await sluice(cwd, url, 'worker', '--no-migrate')
    assert.equal(refused.status, 5, refused.err)
    assert.match(refused.err, /has no tables yet; this program needs number \d+\. Run: sluice migrate --store postgres/)
    assert.equal(await schemas(url), '')

    const made = await sluice(cwd, url, 'migrate')
    assert.equal(made.status, 0, made.err)
    assert.match(made.out, /^Migrated postgres:\/\/.*, schema sluice: tables of number \d+\.\n$/)
    const again = resultIn(await sluice(cwd, url, 'migrate', '--json'))
    assert.deepEqual([again.from, again.migrated], [again.to, false])
    assert.match((await sluice(cwd, url, 'migrate', '--sql')).out, /^-- The store at [^\n]*\n$/)

    const { out: script, err } = await sluice(cwd, `${url}?schema=by_hand_sluice`, 'migrate', '--sql')
    assert.equal(err, '')
    await server.psql(script, url)
    const byHand = resultIn(await sluice(cwd, `${url}?schema=by_hand_sluice`, 'migrate', '--json'))
    assert.deepEqual([byHand.schema, byHand.from, byHand.migrated], ['by_hand_sluice', byHand.to, false])
    assert.equal((await sluice(cwd, `${url}?schema=by_hand_sluice`, 'status')).status, 0)
    assert.deepEqual(readdirSync(cwd), [])
  })

  test('two that migrate at once both succeed', async () => {
    const [cwd, url] = [newFolder(), await server.database()]
    const endings = await Promise.all([1, 2].map(() => sluice(cwd, url, 'migrate')))
    for (const { status, err } of endings) assert.equal(status, 0, err)
  })

  test('a server and workers share the work; they are listed, and leave when they are told to', async () => {
    const [cwd, url] = [newFolder(), await server.database()]
    const serving = await running(cwd, ['serve', '--listen', '127.0.0.1:0', '--store', url, '--machines', 'walk'])
    const worker = ['worker', '--store', url]
    const working = await Promise.all([
      running(cwd, [...worker, '--machines', 'upload_batch,upload_item', '--connections', '3', '--name', 'one']),
      running(cwd, [...worker, '--machines', 'upload_item', '--name', 'two']),
    ])
    assert.deepEqual(working[1]?.facts.machines, ['upload_item@2', 'upload_item@1'])
    assert.ok(!existsSync(join(cwd, 'sluice.db')))

    const items = Array.from({ length: 2_000 }, (_, index) => ({ id: index + 1, type: 'story', title: `t${index}` }))
    written(cwd, 'items.json', JSON.stringify(items))
    const ran = await sluice(
      cwd,
      url,
      'upload',
      'run',
      join(cwd, 'items.json'),
      '--server',
      serving.facts.url,
      '--json',
    )
    assert.equal(ran.status, 0, ran.err)
    assert.deepEqual([resultIn(ran).state, resultIn(ran).completed], ['completed', 2_000])

    const { workers, lanes } = resultIn(await sluice(cwd, url, 'status', '--json')) as unknown as {
      workers: { name: string; host: string; pid: number; program: string; machines: string[]; leases: number }[]
      lanes: { open: number }[]
    }
    assert.deepEqual(workers.map(({ name }) => name.split('-')[0]).sort(), ['engine', 'one', 'two'])
    for (const { host, pid, program, leases } of workers) {
      assert.ok(host !== '' && pid > 0)
      assert.match(program, /^sluice \d/)
      assert.equal(leases, 0)
    }
    assert.ok(lanes.every(({ open }) => open === 0))
    const pids = [serving, ...working].map(({ process }) => process.pid)
    assert.deepEqual(new Set(workers.map(({ pid }) => pid)), new Set(pids))
    assert.equal((await sluice(cwd, url, 'check', '--all')).status, 0)

    for (const one of [...working, serving]) await stopped(one)
    const after = resultIn(await sluice(cwd, url, 'status', '--json'))
    assert.deepEqual(after.workers, [])
  })

  test('commands of the families and of every entity work on it', async () => {
    const [cwd, url] = [newFolder(), await server.database()]
    const at = (...words: readonly string[]) => sluice(cwd, url, ...words)
    written(cwd, 'items.json', JSON.stringify([{ id: 1, type: 'story', title: 'one' }, { id: 2 }]))
    const ran = await at('upload', 'run', join(cwd, 'items.json'), '--json')
    assert.equal(ran.status, 1, ran.err)
    const id = String(resultIn(ran).batchId)
    assert.equal(resultIn(await at('upload', 'show', id, '--json')).itemsErrored, 1)
    assert.match((await at('upload', 'search', '--type', 'story')).out, /one/)
    assert.match((await at('history', id)).out, /validate_file/)
    assert.equal((await at('explain', id)).status, 0)
    const held = await at('hold', '--collection', 'red', '--reason', 'a look')
    assert.match(held.out, /Hold 1 stands.*sluice release 1/)
    const job = await at('job', 'run', 'fhir-reindex', '--json')
    assert.equal(job.status, 0, job.err)
    assert.equal((await at('check', '--all')).status, 0)
    assert.ok(!existsSync(join(cwd, 'sluice.db')))
  })

  test('the roles of the guide: one migrates, the other runs and may do no more, with its password from wherever', async () => {
    const [cwd, url] = [newFolder(), await server.database()]
    const database = new URL(url).pathname.slice(1)
    await server.psql(createRoles.replaceAll('DATABASE app', `DATABASE ${database}`).replaceAll("'…'", "'pw'"), url)
    const by = (role: string, password = 'pw') => {
      const address = new URL(url)
      address.username = role
      address.password = password
      return address.href
    }
    const early = await sluice(cwd, by('sluice'), 'migrate')
    assert.equal(early.status, 3, early.err)
    assert.equal(await schemas(url), '')
    const made = await sluice(cwd, by('sluice_owner'), 'migrate')
    assert.equal(made.status, 0, made.err)
    assert.doesNotMatch(made.out, /:pw@/)
    const ungranted = await sluice(cwd, by('sluice'), 'status')
    assert.equal(ungranted.status, 3, ungranted.err)
    await server.psql(grantRights, by('sluice_owner'))

    const wrong = await sluice(cwd, by('sluice', 'wrong-word'), 'status')
    assert.equal(wrong.status, 3)
    assert.match(wrong.err, /^PostgreSQL at .*password was refused.*PGPASSWORD/)
    assert.doesNotMatch(wrong.err, /wrong-word/)
    const words = ['worker', '--no-migrate', '--no-text-index', '--store']
    const worker = await running(cwd, [...words, by('sluice')])
    assert.match(String(worker.facts.store), /^postgres:\/\/sluice:\*\*\*@/)
    written(cwd, 'items.json', JSON.stringify([{ id: 1, type: 'story', title: 'one' }]))
    const ran = await sluice(cwd, by('sluice'), 'upload', 'run', join(cwd, 'items.json'), '--json')
    assert.equal(ran.status, 0, ran.err)
    await stopped(worker)
    const file = join(cwd, written(cwd, 'pgpass', '*:*:*:sluice:pw\n'))
    chmodSync(file, 0o600)
    for (const [name, value] of [
      ['PGPASSWORD', 'pw'],
      ['PGPASSFILE', file],
    ] as const) {
      await stopped(await running(cwd, [...words, by('sluice', '')], { [name]: value }))
    }
    await assert.rejects(server.psql('CREATE TABLE sluice.more (id int)', by('sluice')), /permission denied/)
    await server.psql(monitoring, url)
  })

  test('doctor asks the server', async () => {
    const [cwd, url] = [newFolder(), await server.database()]
    const before = await sluice(cwd, url, 'doctor', '--json')
    assert.equal(await schemas(url), '')
    assert.match(before.out, /The tables are not there yet \(schema sluice\)\. Run: sluice migrate/)
    assert.equal((await sluice(cwd, url, 'migrate')).status, 0)
    const { findings } = resultIn(await sluice(cwd, url, 'doctor', '--json')) as unknown as {
      findings: readonly { what: string; verdict: string; sentence: string }[]
    }
    // A server for tests may be set to forget: that is rightly found.
    const troubles = findings.filter(({ verdict, sentence }) => verdict === 'trouble' && !/fsync/.test(sentence))
    assert.deepEqual(troubles, [])
    const said = findings.filter(({ what }) => what === 'store').map(({ sentence }) => sentence)
    assert.match(said.join('\n'), /^PostgreSQL 1\d.* at [\s\S]*UTF8[\s\S]*The schema sluice is of number/)
    assert.ok(findings.some(({ what, sentence }) => what === 'work' && sentence.startsWith('0 workers')))
    assert.deepEqual(readdirSync(cwd), [])
  })

  describe('what is wrong is said, with what to do, and nothing is left half done', () => {
    const cases: readonly (readonly [
      title: string,
      address: () => Promise<string>,
      status: number,
      sentence: RegExp,
    ])[] = [
      ['nobody answers', async () => 'postgres://me:hidden@127.0.0.1:1/app', 1, /nobody answers there/],
      ['no such database', async () => `${new URL('/none', server.url)}`, 2, /no such database.*createdb/],
      [
        'a replica or a server that is read-only',
        async () => {
          const url = await server.database()
          await server.psql(
            `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET default_transaction_read_only = on`,
            url,
          )
          return url
        },
        7,
        /read-only/,
      ],
      [
        'another encoding',
        async () => {
          await server.psql(`CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'`)
          return `${new URL('/latin', server.url)}`
        },
        7,
        /LATIN1; UTF8 is needed.*createdb --encoding=UTF8/,
      ],
      [
        'tables of a newer program',
        async () => {
          const url = await server.database()
          await server.psql(`CREATE SCHEMA sluice; COMMENT ON SCHEMA sluice IS 'sluice 999'`, url)
          return url
        },
        5,
        /999.*newer program/,
      ],
      [
        'a schema of somebody else',
        async () => {
          const url = await server.database()
          await server.psql('CREATE SCHEMA sluice; CREATE TABLE sluice.entity (id int)', url)
          return url
        },
        5,
        /not ours/,
      ],
      [
        'a schema that cannot be',
        async () => `${await server.database()}?schema=Very%20Odd`,
        2,
        /The schema must be named/,
      ],
    ]
    for (const [title, addressOf, status, sentence] of cases) {
      test(title, async () => {
        const [cwd, address] = [newFolder(), await addressOf()]
        for (const words of [['migrate'], ['worker', '--log', 'debug']]) {
          const ended = await sluice(cwd, address, ...words)
          assert.equal(ended.status, status, `${words[0]}: ${ended.err}`)
          assert.match(ended.err, sentence, words[0])
          assert.doesNotMatch(ended.err, /hidden|\n[\s\S]*\n/, 'one sentence')
        }
      })
    }
  })
})
