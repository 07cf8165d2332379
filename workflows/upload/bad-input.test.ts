import assert from 'node:assert/strict'
import { readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { after, before, describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { badFiles } from './fixtures/bad-files.ts'
import { badItems } from './fixtures/bad-items.ts'
import { around, countsOf, Stage } from './test/stage.ts'

const one = '{"id":1,"type":"story","title":"One"}'

describe('bad input', () => {
  // One for all: whatever is handed over, the next batch finds the family at work.
  let stage: Stage
  before(async () => {
    stage = await Stage.open('sqlite')
  })
  after(async () => {
    const view = await stage.run('{"id":4711,"type":"story"}')
    await stage[Symbol.asyncDispose]()
    assert.equal(view.state, 'completed', 'the family is still at work')
  })

  for (const { name, bytes, fault, total, reasons } of badFiles) {
    test(`${name}: ${fault ?? reasons.join(', ')}`, async () => {
      // What begins like gzip is inflated while it is received: here the inside is meant.
      const content = name === 'gzip in gzip' ? gzipSync(bytes()) : bytes()
      const view = await stage.run(content, { fileName: 'bad', force: true })
      if (fault === null) {
        assert.equal(view.itemsErrored, reasons.length)
        assert.equal(view.totalItemsInFile, total)
        assert.equal(view.state, reasons.length < total ? 'partially_completed' : 'failed')
        const { errors } = await stage.upload.errors(stage.control, view.id)
        assert.deepEqual(
          errors.map(({ reason }) => reason),
          reasons,
        )
        for (const { errorType, errorMessage, itemIndex, offset } of errors) {
          assert.equal(errorType, 'VALIDATION')
          assert.ok(errorMessage.length > 10, errorMessage)
          assert.ok(itemIndex > 0 && offset > 0)
        }
      } else {
        assert.equal(view.state, 'failed')
        assert.deepEqual(await stage.items(view.id), [], 'nothing was taken from it')
        assert.equal(view.failure?.processor, 'UploadBatchValidationProcessor')
        assert.equal(view.failure?.state, 'uploaded')
        const { reason } = view.failure!
        assert.ok(
          reason.startsWith(`the file cannot be read: ${fault}: `) || /^(contentType|fileSize) is/.test(reason),
          reason,
        )
        assert.match(view.failure!.report, /bad.*failed in uploaded/)
      }
    })
  }

  const refusals: readonly (readonly [name: string, content: string | Uint8Array, file: string, reason: RegExp])[] = [
    ['an empty file', '', 'a.json', /fileSize is 0: the file is empty/],
    ['gzip of nothing', gzipSync(''), 'a.json.gz', /empty|no items|whitespace/i],
    ['an empty list', '[]', 'a.json', /totalItemsInFile is 0: the file holds no items/],
    ['only space', '  \n ', 'a.json', /cannot be read: .*(space|nothing)/i],
    ['CSV', 'id,type\n1,story\n', 'a.csv', /contentType is text\/csv: it must contain "json"/],
    ['HTML', '<!doctype html><title>x</title>', 'a.html', /contentType is text\/html/],
    ['not JSON, called JSON by its sender', 'Permission denied', 'a.json', /cannot be read: .*JSON/],
    ['a string at the top', '"items"', 'a.json', /cannot be read: .*top/],
    ['a number at the top', '42', 'a.json', /cannot be read: .*top/],
    ['a truncated list', `[${one},{"id":2`, 'a.json', /cannot be read: .*(ends|truncated)/],
    ['unbalanced brackets', `[${one},{"id":3,"kids":[4}]`, 'a.json', /cannot be read: .*"}" closes what "\[" opened/],
    ['NUL between elements', `${one}\0${one}`, 'a.json', /cannot be read: .*NUL/],
  ]
  for (const [name, content, fileName, reason] of refusals) {
    test(`${name} is refused with the condition that failed`, async () => {
      const about = /called JSON/.test(name) ? { contentType: 'application/json' } : {}
      const view = await stage.run(content, { fileName, force: true, ...about })
      assert.equal(view.state, 'failed')
      assert.match(view.failure?.reason ?? '', reason)
      assert.match(view.failure?.report ?? '', reason)
      assert.equal(view.totalItemsInFile === 0 || (await stage.items(view.id)).length === 0, true)
    })
  }

  test('what its sender calls CSV is refused, whatever it is', async () => {
    const view = await stage.run(`[${one}]`, { contentType: 'text/csv', force: true })
    assert.equal(view.state, 'failed')
    assert.match(view.failure?.reason ?? '', /contentType is text\/csv/)
  })

  test('broken gzip is refused while it is received, and leaves no batch', async () => {
    const whole = gzipSync(`[${one}]`.repeat(50))
    const before = (await stage.control.totals()).reduce((sum, { total }) => sum + total, 0)
    const broken = Buffer.from(whole)
    broken[20] = broken[20]! ^ 0xff
    await assert.rejects(stage.send(whole.subarray(0, 30)), { code: 'invalid', message: /truncated/ })
    await assert.rejects(stage.send(broken), { code: 'invalid', message: /gzip file is broken/ })
    await assert.rejects(stage.send(Buffer.concat([whole, Buffer.from('tail')])), { code: 'invalid' })
    assert.equal(
      (await stage.control.totals()).reduce((sum, { total }) => sum + total, 0),
      before,
    )
  })

  test('every bad item is a failed item with its index, reason and message, and the good ones around it are not lost', async () => {
    // In a list, an element that is not balanced takes the rest along; lines end whatever began in them.
    const inLines = badItems.filter(({ json }) => typeof json === 'string' && !/\n|\} \{|^$/.test(json))
    const lines = inLines.flatMap(({ json }, index) => [`{"id":${100_000 + index},"type":"job"}`, String(json)])
    const view = await stage.run(lines.join('\n'), { fileName: 'lines.ndjson' })
    assert.equal(view.state, 'partially_completed')
    assert.deepEqual(countsOf(view), {
      total: lines.length,
      completed: inLines.length,
      failed: inLines.length,
      skipped: 0,
    })
    const { errors } = await stage.upload.errors(stage.control, view.id)
    assert.equal(errors.length, inLines.length)
    for (const [index, { reason, message, hnId, json }] of inLines.entries()) {
      const error = errors[index]!
      assert.equal(error.itemIndex, 2 * index + 1, String(json))
      assert.equal(error.reason, reason, String(json))
      assert.match(error.errorMessage, message)
      if (hnId !== null) assert.equal(error.hnId, hnId, String(json))
    }
  })

  test('a key __proto__ changes no prototype', async () => {
    await stage.run(`[${one},{"id":3,"type":"story","__proto__":{"polluted":1}},{"id":4,"type":"job"}]`)
    assert.equal(({} as { polluted?: number }).polluted, undefined)
  })

  test('an element longer than an item may be is one failed item', async () => {
    const long = `{"id":70,"type":"story","title":"${'x'.repeat(1_100_000)}"}`
    const view = await stage.run(`[{"id":69,"type":"story"},${long},{"id":71,"type":"story"}]`)
    assert.deepEqual(countsOf(view), { total: 3, completed: 2, failed: 1, skipped: 0 })
    const [error] = (await stage.upload.errors(stage.control, view.id)).errors
    assert.equal(error?.itemIndex, 1)
    assert.match(error?.errorMessage ?? '', /1048576/)
  })
})

test('a file that is too big is refused before it is read, while it is read, and while it is inflated', async () => {
  await using stage = await Stage.open('memory', { fileBytesMax: 10_000 })
  const big = `[${one},${' '.repeat(20_000)}${one}]`
  async function* never(): AsyncGenerator<Uint8Array> {
    assert.fail('nobody reads it')
    yield new Uint8Array()
  }
  const about = { fileName: 'big.json', uploadedBy: 'ada' }
  await assert.rejects(stage.upload.receive(stage.control, never(), { ...about, expectedBytes: 10_001 }), {
    code: 'invalid',
    message: /10001 bytes; at most 10000 are taken/,
  })
  await assert.rejects(stage.send(big), { code: 'invalid', message: /more than the 10000 bytes/ })
  await assert.rejects(stage.send(gzipSync(big)), { code: 'invalid', message: /inflates to more than the 10000 bytes/ })
  assert.deepEqual(await stage.control.totals(), [])
})

test('a stored file whose content changed without its length is noticed when it is validated, and can be mended', async () => {
  await using stage = await Stage.open('memory')
  const hold = await stage.control.hold({ machine: 'upload_batch' }, { reason: 'test', owner: 'test' })
  const content = `[${one},${one}]`
  const plain = await stage.send(content)
  const zipped = await stage.send(gzipSync(content))
  const broken = await stage.send(`[${one},${one},${one}]`)
  for (const { id } of [plain, zipped, broken]) {
    const path = stage.path(`files/${(await stage.view(id)).sha256}`)
    const bytes = await readFile(path, 'utf8')
    await writeFile(path, id === broken.id ? bytes.replace('[', '{') : bytes.replace('"story"', '"stony"'))
  }
  await stage.control.release(hold.id)
  for (const { id } of [plain, zipped, broken]) {
    const view = await stage.settled(id)
    assert.equal(view.state, 'failed')
    assert.equal(view.failure?.reason, 'stored file is missing or changed')
    assert.equal(view.failure?.processor, 'UploadBatchValidationProcessor')
    assert.match(`${view.failure?.error}`, /its content is not what was received\. Upload the file again/)
  }
  // The same content again replaces what is damaged.
  assert.deepEqual(await stage.send(gzipSync(content)), { id: zipped.id, existing: true })
  await stage.control.act(zipped.id, 'retry_batch', { actor: 'olga', role: 'operator', confirmed: true })
  assert.equal((await stage.settled(zipped.id)).state, 'completed')
})

test('a stored file that was cut at the end of a line after it had been validated does not complete', async () => {
  const lines = Array.from({ length: 40 }, (_, index) => `{"id":${index + 1},"type":"story"}`)
  const content = `${lines.join('\n')}\n`
  let path = ''
  await using stage = await Stage.open('memory', {
    groupMax: 10,
    wrap: (bound) =>
      around(bound, 'UploadBatchExtractionProcessor', (extract) => async (context) => {
        await truncate(path, content.indexOf('{"id":21'))
        return extract(context)
      }),
  })
  const hold = await stage.control.hold({ machine: 'upload_batch' }, { reason: 'test', owner: 'test' })
  const { id } = await stage.send(content)
  path = stage.path(`files/${(await stage.view(id)).sha256}`)
  await stage.control.release(hold.id)
  const view = await stage.settled(id)
  assert.equal(view.state, 'failed')
  assert.equal(view.failure?.reason, 'stored file is missing or changed')
  assert.match(`${view.failure?.error}`, /it has 20 elements instead of the 40 that were counted before/)
})

test('a stored file that was removed or cut is noticed by name', async () => {
  await using stage = await Stage.open('memory')

  const hold = await stage.control.hold({ machine: 'upload_batch' }, { reason: 'test', owner: 'test' })
  const gone = await stage.send(`[${one}]`)
  const cut = await stage.send(`[${one},${one}]`)
  const path = async (id: number) => stage.path(`files/${(await stage.view(id)).sha256}`)
  await rm(await path(gone.id))
  await truncate(await path(cut.id), 10)
  await stage.control.release(hold.id)
  for (const [{ id }, why] of [
    [gone, /it is not there/],
    [cut, /10 bytes instead of/],
  ] as const) {
    const view = await stage.settled(id)
    assert.equal(view.state, 'failed')
    assert.equal(view.failure?.state, 'initial_state')
    assert.equal(view.failure?.processor, 'UploadBatchInitProcessor')
    assert.match(`${view.failure?.error}`, why)
  }
})
