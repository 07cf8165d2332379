import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { isSluiceError } from '../../errors.ts'
import { parseAddress } from './address.ts'
import { settingKeys, settingsOf, settingVariables } from './settings.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-settings-'))
after(() => rmSync(folder, { recursive: true }))

function written(name: string, content: unknown): string {
  const file = join(folder, name)
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
  return file
}

test('without anything all lies in this folder, and only this machine is served', () => {
  const { layout, listen, log, names, upload } = settingsOf({}, {})
  assert.deepEqual(layout, {
    store: 'sluice.db',
    upload: 'sluice-upload',
    jobs: 'sluice-jobs',
    server: 'sluice-server',
  })
  assert.deepEqual([listen, log, names, upload], [{ host: '127.0.0.1', port: 7878 }, 'warn', [], {}])
})

test('options go before the environment, the environment before the file; an empty variable is none', () => {
  const config = written('some.json', { listen: '[::1]:1', log: 'error', name: 'file', textIndex: false, maxSize: 5 })
  const environment = { SLUICE_LISTEN: '127.0.0.1:2', SLUICE_LOG: 'info', SLUICE_WORKER_NAME: '', SLUICE_NAMES: 'a, b' }
  const settings = settingsOf({ listen: 'localhost:3' }, environment, config)
  assert.deepEqual(settings.listen, { host: 'localhost', port: 3 })
  assert.deepEqual([settings.log, settings.name, settings.names], ['info', 'file', ['a', 'b']])
  assert.deepEqual(settings.upload, { textIndex: false, fileBytesMax: 5 })
  assert.equal(settingsOf({}, { SLUICE_CONFIG: config }).log, 'error')
})

test('files that a file names lie beside it', () => {
  const config = written('beside.json', { folder: 'data', machines: ['m.ts'], jobs: ['/abs/j.ts'], roots: ['in'] })
  const { layout, machines, jobs, roots } = settingsOf({}, {}, config)
  assert.equal(layout.store, join(folder, 'data', 'sluice.db'))
  assert.deepEqual([machines, jobs, roots], [[join(folder, 'm.ts')], ['/abs/j.ts'], [join(folder, 'in')]])
  assert.deepEqual(settingsOf({}, { SLUICE_ROOTS: '/a,/b' }, config).roots, ['/a', '/b'])
  assert.deepEqual(settingsOf({}, {}).roots, [], 'nothing is allowed by itself')
})

test('a store is a file beside the settings, or on a server; machines are names or modules', () => {
  const config = written('store.json', {
    store: 'sqlite:data/a.db',
    machines: ['letter@2,parcel', 'mine.ts'],
    connections: 3,
    migrate: false,
  })
  const beside = settingsOf({}, {}, config)
  assert.equal(beside.layout.store, join(folder, 'data', 'a.db'))
  assert.deepEqual([beside.machines, beside.serves], [[join(folder, 'mine.ts')], ['letter@2', 'parcel']])
  assert.deepEqual([beside.connections, beside.migrate], [3, false])
  const url = 'postgres://me@host/db?schema=a'
  const environment = { SLUICE_STORE: url, SLUICE_MACHINES: 'letter, ./b.ts', SLUICE_MIGRATE: 'true' }
  const away = settingsOf({ folder: '/data', connections: 9 }, { ...environment, SLUICE_CONNECTIONS: '2' }, config)
  assert.deepEqual([away.layout.store, away.layout.upload], [url, '/data/sluice-upload'])
  assert.deepEqual([away.machines, away.serves], [['./b.ts'], ['letter']])
  assert.deepEqual([away.connections, away.migrate], [9, true])
  assert.throws(
    () => settingsOf({ store: 'postgres:x' }, { SLUICE_STORE: 'mysql://u:secret@h/d', SLUICE_CONNECTIONS: 'many' }),
    (error) => {
      assert.ok(isSluiceError(error, 'invalid'))
      assert.match(error.message, /SLUICE_STORE: .*mysql:\/\/u:\*\*\*@h.*SLUICE_CONNECTIONS: .*--store: /)
      return true
    },
  )
})

test('all that is wrong is told at once, under the names that it was given', () => {
  const config = written('wrong.json', { lisen: 1, roles: 'x', allowPort: [0], folder: '' })
  const environment = { SLUICE_LOG: 'loud', SLUICE_TEXT_INDEX: 'perhaps', SLUICE_PORT: 'tcp://10.0.0.1' }
  assert.throws(
    () => settingsOf({ listen: ':80', maxSize: 'big' }, environment, config),
    (error) => {
      assert.ok(isSluiceError(error, 'invalid'))
      for (const name of [
        'lisen is not known',
        'roles:',
        'allowPort.0',
        'folder:',
        'SLUICE_LOG:',
        'SLUICE_TEXT_INDEX:',
        '--listen:',
        '--max-size:',
      ])
        assert.ok(error.message.includes(name), `${name} in ${error.message}`)
      assert.equal((error.detail.faults as string[]).length, 8)
      return true
    },
  )
})

test('a file that is not there or is no JSON is named', () => {
  assert.throws(() => settingsOf({}, {}, join(folder, 'none.json')), /ENOENT/)
  assert.throws(() => settingsOf({}, {}, written('half.json', '{')), /half\.json are not JSON/)
  assert.throws(() => settingsOf({}, {}, written('list.json', '[]')), /list\.json: the whole: /)
})

test('addresses', () => {
  assert.deepEqual(parseAddress('0.0.0.0:80'), { host: '0.0.0.0', port: 80 })
  assert.deepEqual(parseAddress('[::1]:7878'), { host: '::1', port: 7878 })
  assert.deepEqual(parseAddress(0), { host: '127.0.0.1', port: 0 })
  assert.deepEqual(parseAddress('my-host.example:1'), { host: 'my-host.example', port: 1 })
  for (const text of ['', ':80', 'host', 'host:', 'host:99999', '::1:80', 'a b:1', 'http://x:1', '-1']) {
    assert.throws(() => parseAddress(text), /An address such as/, text)
  }
})

test('every key and every variable is documented', () => {
  const guide = readFileSync(new URL('../../../docs/guides/cli.md', import.meta.url), 'utf8')
  for (const name of [...settingKeys, ...settingVariables]) assert.ok(guide.includes(`\`${name}\``), name)
})
