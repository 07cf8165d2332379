import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { defineJob } from 'sluice/chunked'
import { z } from 'zod'
import { answerText } from '../src/http/internals.ts'
import { defineMachine, fail, implement } from '../src/index.ts'
import { Ear } from './http/ear.ts'
import { type House, openHouse } from './http/house.ts'

/** Fails with all that an operator may see and a submitter may not: an error with a path, and a stack kept in its data. */
const press = defineMachine({
  name: 'press',
  version: 1,
  initial: ['ready', 'waiting'],
  settled: ['jammed', 'printed'],
  final: ['jammed', 'printed'],
  states: { ready: 'Loaded.', waiting: 'Its sheets are on their way.', jammed: 'Broken.', printed: 'Done.' },
  transitions: {
    print: { from: 'ready', to: 'printed', on: 'done', processor: 'print' },
    jam: { from: 'ready', to: 'jammed', on: 'fail' },
    collect: { from: 'waiting', to: 'printed', on: 'done', processor: 'collect' },
    tear: { from: 'waiting', to: 'jammed', on: 'fail' },
  },
  policies: { print: { attemptsMax: 1 }, collect: { attemptsMax: 1 } },
  data: z.looseObject({ path: z.string().optional(), note: z.string().optional() }),
})

const secretPath = '/srv/sluice-secret/keys/signing.pem'

const printing = implement(press, {
  processors: {
    print: async () => {
      await readFile(secretPath)
    },
    collect: async ({ data }) => {
      const error = new Error(`cannot open ${secretPath}`)
      return fail('the paper tore', error.message, {
        ...data,
        lastError: { message: error.message, stack: error.stack },
      })
    },
  },
})

const leaky = defineJob({
  id: 'leaky',
  version: 1,
  description: 'Its step throws an error that names a file of the server.',
  parameters: z.object({}),
}).firstStep({
  id: 'read',
  retry: { attemptsMax: 1 },
  run: async () => {
    await readFile(secretPath)
  },
})

const boundary = 'the-boundary'

describe('what a submitter sees of failures', () => {
  let house: House
  let submitter: string
  let operator: string
  const ids: number[] = []
  before(async () => {
    house = await openHouse({ hasFamilies: true, implementations: [printing], jobs: [leaky], hasDashboard: true })
    submitter = await house.token({ name: 'sub', role: 'submitter' })
    operator = await house.token({ name: 'ops', role: 'operator' })
    const submit = async (path: string, body: object) => {
      const said = await house.ask('POST', path, { token: submitter, body })
      assert.equal(said.status, 201, said.text)
      ids.push(said.body.id)
      return said.body.id as number
    }
    await submit('/api/entities', { machine: 'press', data: { note: 'see /home/me/letter.txt' } })
    await submit('/api/entities', { machine: 'press', data: {}, state: 'waiting' })
    await submit('/api/entities', {
      machine: 'crate',
      data: { parcels: [{ to: 'Delft', broken: true }] },
      state: 'packed',
    })
    await submit('/api/jobs', { definition: 'leaky', parameters: {} })
    await failedUpload()
    for (const id of ids) assert.ok(await house.control.settled(id, 60_000), `entity ${id} ends`)
    const { entities } = await house.control.list({ limit: 1_000 })
    for (const { id } of entities) if (!ids.includes(id)) ids.push(id)
  })
  after(() => house.close())

  /** The stored file is taken away while the batch is held, and something that cannot be read stands there. */
  async function failedUpload(): Promise<void> {
    const hold = await house.control.hold(
      { machine: 'upload_batch', state: 'uploaded' },
      { reason: 'to change its file', owner: 'test' },
    )
    const text = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="x.json"\r\nContent-Type: application/json\r\n\r\n[{"id":1,"type":"story","title":"x"}]\r\n--${boundary}--\r\n`
    const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` }
    const said = await house.ask('POST', '/api/uploads', { token: submitter, text, headers })
    assert.equal(said.status, 201, said.text)
    const files = join(house.folder, 'upload', 'files')
    for (const name of await readdir(files)) {
      await rm(join(files, name), { recursive: true })
      await mkdir(join(files, name))
    }
    await house.control.release(hold.id)
    ids.push(said.body.id)
  }

  /** Every address that a GET route has for what is there. */
  async function addresses(): Promise<readonly string[]> {
    const { machines } = (await house.ask('GET', '/api/machines', { token: submitter })).body
    const routes = house.server.routes.filter(({ method, path }) => method === 'GET' && path !== '/api/events')
    return routes.flatMap(({ path }) => {
      if (path.includes(':name/:version'))
        return machines.map(({ name, version }: { name: string; version: number }) =>
          path.replace(':name', name).replace(':version', String(version)),
        )
      return path.includes(':') ? ids.map((id) => path.replace(/:[a-zA-Z]+/, String(id))) : [path]
    })
  }

  const isTold = (text: string) =>
    [/\\n\s+at /, /sluice-secret/, /node_modules/, new RegExp(house.folder), new RegExp(process.cwd())].filter((sign) =>
      sign.test(text),
    )

  test('no route tells a stack or where a file lies', async () => {
    const found: string[] = []
    let asked = 0
    for (const path of await addresses()) {
      const said = await house.ask('GET', path, { token: submitter })
      if (said.status === 200) asked += 1
      for (const sign of isTold(said.text)) found.push(`${path}: ${sign}`)
    }
    assert.ok(asked > 30, `${asked} answers were looked at`)
    assert.deepEqual(found, [])
  })

  test('nor does the event stream, read from the beginning', async () => {
    const all: string[] = []
    for (const token of [submitter, operator]) {
      const ear = new Ear(`${house.url}/api/events?after=0`, { authorization: `Bearer ${token}` })
      await ear.until(({ messages }) => messages.some(({ data }) => JSON.stringify(data).includes('signing.pem')))
      all.push(JSON.stringify(ear.messages))
      ear.close()
    }
    const [shown, whole] = all as [string, string]
    assert.deepEqual(isTold(shown), [])
    assert.ok(whole.includes(secretPath), 'an operator hears it')
  })

  test('an operator sees message and stack', async () => {
    const [thrown, kept] = await Promise.all(
      ids.slice(0, 2).map((id) => house.ask('GET', `/api/entities/${id}`, { token: operator })),
    )
    assert.match(thrown?.body.error, new RegExp(`ENOENT.*'${secretPath}'`))
    assert.match(kept?.body.data.lastError.stack, /\n {4}at .*http-internals/)
    const batch = (await house.control.list({ machine: 'upload_batch' })).entities[0]
    const upload = await house.ask('GET', `/api/entities/${batch?.id}`, { token: operator })
    assert.match(upload.body.data.failure.stackTrace, /\n {4}at /)
  })

  test('a submitter still learns what failed, and has data back as it was sent', async () => {
    const [thrown, kept] = await Promise.all(
      ids.slice(0, 2).map((id) => house.ask('GET', `/api/entities/${id}`, { token: submitter })),
    )
    assert.match(thrown?.body.error, /ENOENT: no such file or directory, open '…\/signing\.pem'/)
    assert.equal(thrown?.body.data.note, 'see /home/me/letter.txt')
    assert.deepEqual(kept?.body.data.lastError, { message: 'cannot open …/signing.pem', stack: null })
  })
})

describe('what is left out for a submitter', () => {
  const shown = (answer: unknown) => JSON.parse(answerText({ role: 'submitter' }, answer))

  test('is nothing of an operator’s or an admin’s answer', () => {
    const answer = { error: 'Error: x\n    at f (/a/b.js:1:2)' }
    for (const role of ['operator', 'admin'] as const)
      assert.deepEqual(JSON.parse(answerText({ role }, answer)), answer)
    assert.deepEqual(JSON.parse(answerText(null, answer)), { error: 'Error: x' })
  })

  for (const [given, told] of [
    ["ENOENT: no such file, open '/var/lib/x y/f.gz'", "ENOENT: no such file, open '…/f.gz'"],
    ['at /var/lib/sluice/sluice.db: full', 'at …/sluice.db: full'],
    ['file:///opt/app/main.ts is wrong', '…/main.ts is wrong'],
    ['C:\\app\\data\\f.db is locked', '…\\f.db is locked'],
    [
      'POST /api/jobs/5 instead, or https://example.org/a/b/c',
      'POST /api/jobs/5 instead, or https://example.org/a/b/c',
    ],
    ['2026/11/18, Patient/12/_history/3', '2026/11/18, Patient/12/_history/3'],
    ['TypeError: x\n    at f (/a/b.js:1:2)\n    at async Promise.all (index 0)', 'TypeError: x'],
    ['we meet\n   at noon', 'we meet\n   at noon'],
  ] as const) {
    test(`of the error ${JSON.stringify(given)}`, () => {
      assert.deepEqual(shown({ error: given }), { error: told })
      assert.deepEqual(shown({ data: { failure: { report: given } } }), { data: { failure: { report: told } } })
      assert.deepEqual(shown({ data: { text: given, report: given } }), { data: { text: given, report: given } })
    })
  }

  test('makes one of reasons that differ by their paths alone', () => {
    const reasons = { 'lost /a/b/c.txt': 2, 'lost /a/d/c.txt': 3, other: 1 }
    assert.deepEqual(shown({ reasons }), { reasons: { 'lost …/c.txt': 5, other: 1 } })
  })

  test('is a stack under its own name, in data too', () => {
    const stack = 'Error: x\n    at f (/a/b.js:1:2)'
    assert.deepEqual(shown({ data: { stack, stackTrace: 'pile 3' } }), { data: { stack: null, stackTrace: 'pile 3' } })
  })
})
