import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { type ClientRequest, type IncomingMessage, request as rawRequest } from 'node:http'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { type House, openHouse, type Said } from './http/house.ts'

const boundary = 'the-boundary'
const type = { 'content-type': `multipart/form-data; boundary=${boundary}` }
const field = (name: string, value: string) =>
  `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
const file = (name: string, fileName: string, content: string) =>
  `--${boundary}\r\nContent-Disposition: form-data; name="${name}"; filename="${fileName}"\r\nContent-Type: application/json\r\n\r\n${content}\r\n`
const end = `--${boundary}--\r\n`
const items = JSON.stringify([{ id: 1, type: 'story', title: 'x' }])

describe('an upload', () => {
  let house: House
  before(async () => {
    house = await openHouse({ hasFamilies: true, limits: { receiveMs: 400, fileBytesMax: 200_000 } })
  })
  after(() => house.close())

  const send = (text: string, path = '/api/uploads', headers: Readonly<Record<string, string>> = {}) =>
    house.ask('POST', path, { text, headers: { ...type, ...headers } })
  const files = () => readdir(join(house.folder, 'upload', 'files'))
  const stored = async () => (await files()).filter((name) => /^[0-9a-f]{64}$/.test(name))
  const batches = async () => (await house.control.list({ machine: 'upload_batch' })).entities.length

  /** Nothing is stored and no batch is made. */
  async function refused(status: number, ask: () => Promise<Said>): Promise<Said> {
    const before = [await stored(), await batches()]
    const said = await ask()
    assert.equal(said.status, status, said.text)
    assert.deepEqual([await stored(), await batches()], before)
    return said
  }

  test('takes what is said of the file from fields before it or from the query', async () => {
    const one = await send(
      field('collection', 'a') + field('fileName', 'mine.json') + file('file', 'x.json', items) + end,
    )
    assert.equal(one.status, 201)
    const view = await house.ask('GET', `/api/uploads/${one.body.id}`)
    assert.deepEqual([view.body.fileName, view.body.contentType], ['mine.json', 'application/json'])
    const two = await send(
      file('file', '../../../etc/x.json', `${items} `) + end,
      '/api/uploads?collection=b&fileName=b.json',
    )
    assert.equal((await house.ask('GET', `/api/uploads/${two.body.id}`)).body.fileName, 'b.json')
    assert.ok((await house.control.get(two.body.id)).labels.includes('b'))
  })

  test('shows an item as it stands in its file, bounded, to those who may see its batch', async () => {
    const long = JSON.stringify({ id: 3, type: 'mystery', text: 'x'.repeat(9_000) })
    const { body } = await send(file('file', 'odd.json', `[null,${long},{"id":2,"type":"story"}]`) + end)
    await house.control.settled(body.id)
    const { errors } = (await house.ask('GET', `/api/uploads/${body.id}/errors`)).body
    const [none, unknown] = await Promise.all(
      errors.map(({ id }: { id: number }) => house.ask('GET', `/api/uploads/items/${id}/content`)),
    )
    assert.deepEqual(
      { ...none.body, id: 0 },
      { id: 0, fileName: 'odd.json', itemIndex: 0, offset: 1, length: 4, text: 'null', truncated: false },
    )
    assert.deepEqual([unknown.body.length, unknown.body.truncated], [long.length, true])
    assert.equal(unknown.body.text, long.slice(0, 4_096))
    assert.equal((await house.ask('GET', `/api/uploads/items/${body.id}/content`)).status, 404)
    const [name] = (await stored()).filter((one) => one === none.body.sha256)
    assert.equal(name, undefined, 'nothing of the server is named')
  })

  test('with a hostile name keeps it as a label alone', async () => {
    const said = await send(file('file', '../../../etc/<script>.json', `${items}  `) + end)
    const { body } = await house.ask('GET', `/api/uploads/${said.body.id}`)
    assert.doesNotMatch(body.fileName, /\//)
    for (const name of await stored()) assert.match(name, /^[0-9a-f]{64}$/)
  })

  test('that is no form, or not the form that is expected, is refused', async () => {
    await refused(415, () => house.ask('POST', '/api/uploads', { body: {} }))
    await refused(415, () =>
      house.ask('POST', '/api/uploads', { text: items, headers: { 'content-type': 'text/plain' } }),
    )
    const content = `${items}   `
    for (const [text, why] of [
      [end, /there must be a file/],
      [field('collection', 'a') + end, /there must be a file/],
      [file('other', 'x.json', content) + end, /must be in the field file/],
      [file('file', 'x.json', content) + field('collection', 'a') + end, /before the files/],
      [file('file', 'x.json', content) + file('file', 'y.json', content) + end, /one file only/],
      [field('color', 'red') + file('file', 'x.json', content) + end, /color/],
      [field('force', 'maybe') + file('file', 'x.json', content) + end, /force/],
      [field('collection', 'a') + field('collection', 'b') + file('file', 'x.json', content) + end, /twice/],
      [field('__proto__', 'a') + file('file', 'x.json', content) + end, /./],
    ] as const) {
      const said = await refused(400, () => send(text))
      assert.match(said.body.detail, why)
    }
    await refused(400, () => send(file('file', 'x.json', content) + end, '/api/uploads?color=red'))
  })

  test('that is too big is refused', async () => {
    await refused(413, () => send(file('file', 'x.json', `[${' '.repeat(300_000)}]`) + end))
  })

  test('that is too big for the family is refused the same way', async () => {
    const small = await openHouse({ hasFamilies: true, uploadBytesMax: 1_000 })
    try {
      for (const bytes of [1_100, 300_000]) {
        const text = file('file', 'x.json', `[${' '.repeat(bytes)}]`) + end
        const said = await small.ask('POST', '/api/uploads', { text, headers: type })
        assert.equal(said.status, 413, said.text)
        assert.equal(said.body.type, 'urn:sluice:problem:too-large')
        assert.match(said.body.detail, /1000 bytes.*Nothing was stored/)
      }
      assert.deepEqual(await readdir(join(small.folder, 'upload', 'files')), [])
      assert.equal(
        (await small.ask('POST', '/api/uploads', { text: file('file', 'x.json', items) + end, headers: type })).status,
        201,
      )
    } finally {
      await small.close()
    }
  })

  test('that is not what was announced is refused', async () => {
    const content = `${items}\n`
    const form = file('file', 'x.json', content) + end
    const sha256 = createHash('sha256').update(content).digest('hex')
    const short = await refused(400, () => send(form, '/api/uploads?expectedBytes=1000'))
    assert.match(short.body.detail, /incomplete: 38 bytes arrived, 1000 were announced/)
    const long = await refused(400, () => send(field('expectedBytes', '10') + form))
    assert.match(long.body.detail, /goes on after the 10 bytes/)
    await refused(400, () => send(form, `/api/uploads?sha256=${'0'.repeat(64)}`))
    const odd = await refused(400, () => send(form, '/api/uploads?sha256=12'))
    assert.match(odd.body.detail, /sha256: must be 64 hexadecimal digits/)
    await refused(413, () => send(form, '/api/uploads?expectedBytes=200001'))
    const said = await send(form, `/api/uploads?expectedBytes=${content.length}&sha256=${sha256}`)
    assert.equal(said.status, 201, said.text)
  })

  test('that is declared to be too big is refused before it is read', async () => {
    const headers = { ...type, 'content-length': String(3_000_000) }
    const request = rawRequest(`${house.url}/api/uploads`, { method: 'POST', headers, agent: false })
    request.on('error', () => {})
    request.flushHeaders()
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    assert.equal(response.statusCode, 413)
    request.destroy()
  })

  test('that breaks off stores nothing', async () => {
    for (const text of [
      file('file', 'x.json', `${items}    `),
      file('file', 'x.json', `${items}    `).slice(0, -20),
      field('collection', 'a'),
      `--${boundary}\r\nContent-Disposition: form-data; name="file"`,
      '',
    ]) {
      await refused(400, () => send(text))
    }
    const before = [await files(), await batches()]
    const open = openUpload(file('file', 'x.json', '['))
    await open.connected
    open.request.destroy()
    await open.ended
    await comesTo(before)
  })

  test('that gets stuck is ended', async () => {
    await comesTo([await stored(), await batches()])
    const before = [await files(), await batches()]
    const nextPart = `--${boundary}\r\n`
    // In its file, and behind it: what is still to come may say that there is more.
    for (const text of [file('file', 'x.json', '['), file('file', 'x.json', `${items}      `) + nextPart]) {
      const status = await openUpload(text).ended
      assert.ok(status === 408 || status === 0, String(status))
      await comesTo(before)
    }
  })

  /** The server hears of a broken connection a little later. */
  async function comesTo(before: unknown): Promise<void> {
    for (let times = 0; times < 200; times += 1) {
      if (isDeepStrictEqual([await files(), await batches()], before)) return
      await house.ask('GET', '/health')
    }
    assert.deepEqual([await files(), await batches()], before)
  }

  /** Sends the beginning of a form, and no more. */
  function openUpload(text: string) {
    const headers = { ...type, 'transfer-encoding': 'chunked' }
    const request: ClientRequest = rawRequest(`${house.url}/api/uploads`, { method: 'POST', headers, agent: false })
    const connected = new Promise<void>((resolve) => request.write(text, () => resolve()))
    const ended = new Promise<number>((resolve) => {
      request.on('response', (response) => {
        response.resume()
        resolve(response.statusCode ?? 0)
      })
      request.on('error', () => resolve(0))
      request.on('close', () => resolve(0))
    })
    return { request, connected, ended }
  }

  test('under an Idempotency-Key is done once, also with force', async () => {
    const key = { 'idempotency-key': 'upload-1' }
    const text = file('file', 'x.json', `${items}     `) + end
    const path = '/api/uploads?force=true'
    const first = await send(text, path, key)
    const again = await send(text, path, key)
    assert.deepEqual([first.status, again.status, again.body.id], [201, 201, first.body.id])
    assert.equal(again.headers.get('idempotent-replayed'), 'true')
    const other = await send(file('file', 'x.json', `${items}      `) + end, path, key)
    assert.equal(other.status, 422)
    const forced = await send(text, path)
    assert.notEqual(forced.body.id, first.body.id)
  })

  test('is not held in memory', async () => {
    const big = await openHouse({ hasFamilies: true, limits: { fileBytesMax: 400 * 1024 * 1024 } })
    try {
      const block = new TextEncoder().encode(' '.repeat(1024 * 1024))
      const blocks = 300
      let peak = 0
      const begin = process.memoryUsage.rss()
      const request = rawRequest(`${big.url}/api/uploads`, { method: 'POST', headers: type, agent: false })
      const answered = once(request, 'response')
      const write = async (bytes: Uint8Array | string) => {
        if (!request.write(bytes)) await once(request, 'drain')
        peak = Math.max(peak, process.memoryUsage.rss() - begin)
      }
      await write(`--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="x.json"\r\n\r\n[`)
      for (let count = 0; count < blocks; count += 1) await write(block)
      request.end(`${items.slice(1)}\r\n${end}`)
      const [response] = (await answered) as [IncomingMessage]
      response.resume()
      assert.equal(response.statusCode, 201)
      assert.ok(peak < 200 * 1024 * 1024, `${Math.round(peak / 1024 / 1024)} MiB more`)
    } finally {
      await big.close()
    }
  })

  test('of a job takes its attachments one after another', async () => {
    const job = field('job', JSON.stringify({ definition: 'word-count', parameters: { text: 'a' } }))
    const path = '/api/jobs'
    const key = { 'idempotency-key': 'job-1' }
    const text = job + file('files', 'one.txt', '1') + file('files', 'two.txt', '22') + end
    const first = await send(text, path, key)
    assert.equal(first.status, 201, first.text)
    assert.deepEqual((await send(text, path, key)).body, first.body)
    assert.equal((await send(job + file('files', 'one.txt', '2') + end, path, key)).status, 422)
    const jobs = async () => (await house.control.list({ machine: 'chunked_job' })).entities.length
    const before = await jobs()
    for (const [wrong, status] of [
      [file('files', 'one.txt', '1') + job + end, 400],
      [job + file('files', 'one.txt', '1') + field('more', 'x') + end, 400],
      [job + file('files', 'one.txt', '1') + file('files', 'one.txt', '1') + end, 400],
      [job + file('files', '.hidden/..', '1') + end, 400],
      [job + file('files', 'one.txt', '1'), 400],
      [field('job', '{') + end, 400],
      [field('job', '{"definition":"word-count"}') + end, 400],
      [field('job', '{"definition":"nothing","parameters":{}}') + end, 404],
    ] as const) {
      const said = await send(wrong, path)
      assert.equal(said.status, status, `${wrong.slice(-200)} ${said.text}`)
    }
    assert.equal(await jobs(), before)
  })
})
