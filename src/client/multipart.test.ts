import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formOf, type Part } from './multipart.ts'

async function* blocks(...texts: readonly string[]): AsyncGenerator<Uint8Array, void, undefined> {
  for (const text of texts) yield new TextEncoder().encode(text)
}

/** As any other program reads it. */
async function parsed(parts: readonly Part[]): Promise<FormData> {
  const { contentType, body } = formOf(parts, Math.random)
  const whole: Uint8Array[] = []
  for await (const block of body) whole.push(block)
  return new Response(Buffer.concat(whole), { headers: { 'content-type': contentType } }).formData()
}

test('fields and files come out as they went in', async () => {
  const form = await parsed([
    { name: 'job', content: '{"a":"ü"}' },
    {
      name: 'file',
      fileName: 'ü "x"\r\nx-evil: 1.json',
      contentType: 'application/json',
      content: blocks('[1,', '\r\n2]'),
    },
    { name: 'file', fileName: 'empty', content: blocks() },
  ])
  assert.equal(form.get('job'), '{"a":"ü"}')
  const [file, empty] = form.getAll('file') as File[]
  assert.equal(await file?.text(), '[1,\r\n2]')
  assert.equal(file?.type, 'application/json')
  assert.match(file?.name ?? '', /^ü .*x-evil: 1\.json$/s)
  assert.equal(await empty?.text(), '')
  assert.equal([...form.keys()].length, 3)
})
