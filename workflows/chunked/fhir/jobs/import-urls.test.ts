import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { loopbackNetwork } from 'sluice/dial'
import { range, storeKinds } from '../../test/stage.ts'
import type { ImportReport } from './import-report.ts'
import { FhirStage } from './test/fhir-stage.ts'

type Handler = (request: IncomingMessage, response: ServerResponse) => void
const handlers = new Map<string, Handler>()
const server = createServer((request, response) => {
  const handler = handlers.get(request.url ?? '')
  if (handler) handler(request, response)
  else response.writeHead(404).end()
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
after(() => server.close())
const network = loopbackNetwork({ 'data.example': (server.address() as AddressInfo).port })

/** With a name that is long enough, so that a cut comes when much has been read already. */
const lines = (from: number, count: number, characters = 1) =>
  Buffer.from(
    range(count)
      .map((at) => ({ resourceType: 'Patient', id: `p${from + at}`, name: [{ text: 'x'.repeat(characters) }] }))
      .map((resource) => `${JSON.stringify(resource)}\n`)
      .join(''),
  )

interface Served {
  readonly etag: string
  readonly content: Buffer
  /** Bytes after which the connection is cut, for each request in turn; then none is. */
  readonly cuts?: number[]
}

/** A server as it should be, but for its cuts. Says from where it was asked. */
function serving(current: () => Served): { readonly handler: Handler; readonly asked: (number | 'head')[] } {
  const asked: (number | 'head')[] = []
  const handler: Handler = (request, response) => {
    const { etag, content, cuts = [] } = current()
    response.setHeader('etag', etag)
    if (request.method === 'HEAD') {
      asked.push('head')
      response.writeHead(200, { 'content-length': content.length }).end()
      return
    }
    const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0)
    const isPart = from > 0 && request.headers['if-range'] === etag
    asked.push(isPart ? from : 0)
    const part = isPart ? content.subarray(from) : content
    if (isPart) response.setHeader('content-range', `bytes ${from}-${content.length - 1}/${content.length}`)
    response.writeHead(isPart ? 206 : 200, { 'content-length': part.length })
    const cut = cuts.shift()
    if (cut === undefined || cut >= part.length) response.end(part)
    else response.write(part.subarray(0, cut), () => response.destroy())
  }
  return { handler, asked }
}

const url = (name: string) => `http://data.example/${name}`

for (const kind of storeKinds) {
  test(`a file whose connection is cut again and again arrives whole, ${kind}`, async () => {
    const content = lines(0, 1_000, 4_000)
    const served = serving(() => current)
    const current: Served = { etag: '"v1"', content, cuts: [800_000, 600_000, 0, 900_000] }
    handlers.set('/cut.ndjson', served.handler)
    await using fhir = await FhirStage.open(kind, {
      dialer: network,
      limits: { saveBytes: 50_000, rangeBytes: 300_000 },
    })
    const view = await fhir.run<ImportReport>('fhir-import', { inputs: [{ url: url('cut.ndjson') }] })
    assert.equal(view.state, 'completed', view.errorMessage ?? '')
    assert.deepEqual([view.report.lines, view.report.created], [1_000, 1_000])
    assert.equal(view.report.files[0]?.sha256, createHash('sha256').update(content).digest('hex'))
    assert.equal(view.report.files[0]?.file, url('cut.ndjson'))
    assert.deepEqual(served.asked.slice(0, 2), ['head', 0])
    const [first, ...more] = served.asked.slice(2) as number[]
    assert.ok(first! > 0 && more.every((from, index) => from >= [first, ...more][index]!), 'it went on where it was')
    assert.equal(view.errorCount, 0, 'and nobody had to know')
    assert.deepEqual(await readdir(fhir.at('fhir', 'downloads')), [])
  })
}

describe('files from elsewhere', () => {
  test('an attempt that gave up is gone on with by the next', async () => {
    const content = lines(0, 1_000, 4_000)
    const served = serving(() => current)
    const current: Served = { etag: '"v1"', content, cuts: [800_000, 800_000, 800_000, 800_000] }
    handlers.set('/again.ndjson', served.handler)
    await using fhir = await FhirStage.open('memory', { dialer: network, limits: { resumesMax: 1 } })
    const view = await fhir.run<ImportReport>('fhir-import', { inputs: [{ url: url('again.ndjson') }] })
    assert.deepEqual([view.state, view.report.created, view.errorCount], ['completed', 1_000, 2])
    const asked = served.asked.slice(1) as number[]
    assert.equal(asked.filter((from) => from === 0).length, 1, 'its beginning was fetched once')
  })

  test('a file that changes between two cuts is read as one version, the new one', async () => {
    const [first, second] = [lines(0, 1_000, 1_000), lines(5_000, 1_200)]
    let requests = 0
    const served = serving(() =>
      requests++ < 2 ? { etag: '"v1"', content: first, cuts: [500_000] } : { etag: '"v2"', content: second },
    )
    handlers.set('/changing.ndjson', served.handler)
    await using fhir = await FhirStage.open('memory', { dialer: network })
    const { report } = await fhir.run<ImportReport>('fhir-import', { inputs: [{ url: url('changing.ndjson') }] })
    assert.deepEqual([report.created, report.refused], [1_200, 0])
    assert.equal(report.files[0]?.sha256, createHash('sha256').update(second).digest('hex'))
  })

  test('gzip is unpacked, whether the file is gzip or only its way here', async () => {
    handlers.set('/file.ndjson.gz', serving(() => ({ etag: '"z"', content: gzipSync(lines(0, 500)) })).handler)
    handlers.set('/packed.ndjson', (_, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(lines(500, 500)))
    })
    await using fhir = await FhirStage.open('memory', { dialer: network })
    const inputs = [{ url: url('file.ndjson.gz') }, { url: url('packed.ndjson') }]
    const { report } = await fhir.run<ImportReport>('fhir-import', { inputs, acceptGzip: true })
    assert.equal(report.created, 1_000)
    const refused = await fhir.run('fhir-import', { inputs: [inputs[1]] })
    assert.deepEqual([refused.state, refused.reasons], ['failed', { 'download failed: encoding': 1 }])
  })

  test('the same URL gives resources without id the same ids, another query gives others', async () => {
    const content = Buffer.from('{"resourceType":"Patient"}\n')
    for (const path of ['/a?key=1', '/a?key=2']) handlers.set(path, serving(() => ({ etag: '"1"', content })).handler)
    await using fhir = await FhirStage.open('memory', { dialer: network })
    const run = async (path: string) =>
      (await fhir.run<ImportReport>('fhir-import', { inputs: [{ url: url(path) }] })).report
    const reports = [await run('a?key=1'), await run('a?key=1'), await run('a?key=2')]
    assert.deepEqual(
      reports.map(({ created }) => created),
      [1, 0, 1],
    )
    assert.doesNotMatch(JSON.stringify(reports), /key=/, 'queries carry keys')
  })

  const refusals: readonly (readonly [what: string, given: string, reason: string])[] = [
    ['an address inside', 'http://127.0.0.1:8080/a', 'URL refused: address'],
    ['the metadata of a cloud', 'http://169.254.169.254/latest', 'URL refused: address'],
    ['an address inside, written otherwise', 'http://0x7f000001:8080/', 'URL refused: address'],
    ['another scheme', 'file:///etc/passwd', 'URL refused: scheme'],
    ['another port', 'http://data.example:22/', 'URL refused: port'],
    ['no URL', 'not a url', 'URL refused: url'],
    ['a name that there is not', 'http://nowhere.example/', 'download failed: name'],
    ['a file that there is not', 'http://data.example/none', 'HTTP 404'],
  ]
  for (const [what, given, reason] of refusals) {
    test(`${what} is refused: ${reason}`, async () => {
      await using fhir = await FhirStage.open('memory', { dialer: network })
      const view = await fhir.run('fhir-import', { inputs: [{ url: given }] })
      assert.deepEqual([view.state, view.reasons], ['failed', { [reason]: 1 }], view.errorMessage ?? '')
      assert.equal(view.errorCount, 1, 'without another attempt')
    })
  }

  test('a redirect to an address inside is refused', async () => {
    handlers.set('/inside', (_, response) => response.writeHead(302, { location: 'http://10.0.0.1/' }).end())
    await using fhir = await FhirStage.open('memory', { dialer: network })
    const view = await fhir.run('fhir-import', { inputs: [{ url: url('inside') }] })
    assert.deepEqual([view.state, view.reasons], ['failed', { 'URL refused: address': 1 }])
  })

  test('a server that is down for a moment, and one that forbids HEAD, are asked again', async () => {
    const content = lines(0, 10)
    let requests = 0
    const served = serving(() => ({ etag: '"v1"', content }))
    handlers.set('/busy', (request, response) => {
      requests += 1
      if (requests < 4) response.writeHead(503, { 'retry-after': '0' }).end()
      else served.handler(request, response)
    })
    handlers.set('/signed', (request, response) => {
      if (request.method === 'HEAD') response.writeHead(403).end()
      else response.end(lines(10, 10))
    })
    await using fhir = await FhirStage.open('memory', { dialer: network })
    const inputs = [{ url: url('busy') }, { url: url('signed') }]
    const view = await fhir.run<ImportReport>('fhir-import', { inputs })
    assert.deepEqual([view.state, view.report.created], ['completed', 20])
  })

  test('a file that is bigger than may be read fails before it is fetched, or where it becomes so', async () => {
    const served = serving(() => ({ etag: '"v1"', content: lines(0, 1_000) }))
    handlers.set('/big', served.handler)
    handlers.set('/endless', (request, response) => {
      if (request.method === 'HEAD') return void response.end()
      const pour = () => {
        while (response.write(lines(0, 100)));
      }
      response.on('drain', pour)
      pour()
    })
    await using fhir = await FhirStage.open('memory', { dialer: network, limits: { fileBytesMax: 20_000 } })
    for (const name of ['big', 'endless']) {
      const view = await fhir.run('fhir-import', { inputs: [{ url: url(name) }] })
      assert.deepEqual([view.state, view.reasons], ['failed', { 'download failed: too_big': 1 }], name)
    }
    assert.deepEqual(served.asked, ['head'])
  })
})
