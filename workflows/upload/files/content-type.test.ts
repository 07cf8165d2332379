import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sniffContentType } from './content-type.ts'

function typeOf(content: string | Buffer, fileName = 'file', header?: string): string {
  return sniffContentType({ bytes: Buffer.from(content as string), offset: 0, whole: true }, { fileName, header })
}

test('what the sender says counts, if it says anything', () => {
  assert.equal(typeOf('[]', 'a', 'application/json; charset=utf-8'), 'application/json')
  assert.equal(typeOf('[]', 'a', 'Application/X-NDJSON'), 'application/x-ndjson')
  assert.equal(typeOf('[]', 'a.json', 'text/csv'), 'text/csv')
  for (const header of [
    'application/octet-stream',
    'application/gzip',
    'application/x-gzip',
    '',
    'nonsense',
    'a/b\r\nc: d',
  ]) {
    assert.equal(typeOf('{"id":1}\n{"id":2}\n', 'a', header), 'application/x-ndjson')
  }
})

test('otherwise the first bytes do', () => {
  const cases: readonly (readonly [string | Buffer, string])[] = [
    ['[{"id":1}]', 'application/json'],
    ['\uFEFF\n{"id":1}', 'application/json'],
    ['{"id":1}{"id":2}', 'application/json'],
    ['null\n{"id":1}\n', 'application/x-ndjson'],
    ['"text"', 'application/json'],
    ['id,type\n1,story\n', 'text/csv'],
    ['id\ttype\n1\tstory\n', 'text/csv'],
    ['<!doctype html><p>', 'text/html'],
    ['<rss></rss>', 'application/xml'],
    ['Dear all', 'text/plain'],
    [Buffer.from('PK\x03\x04....'), 'application/zip'],
    [Buffer.from([0x1f, 0x8b, 8, 0]), 'application/gzip'],
    [Buffer.from([1, 0, 2, 0]), 'application/octet-stream'],
    [Buffer.from('SQLite format 3\0'), 'application/vnd.sqlite3'],
  ]
  for (const [content, expected] of cases) assert.equal(typeOf(content, 'items.json'), expected, String(content))
})

test('and where there are none, the name', () => {
  assert.equal(typeOf('', 'items.json'), 'application/json')
  assert.equal(typeOf('', 'items.JSONL.gz'), 'application/x-ndjson')
  assert.equal(typeOf('', 'items'), 'application/octet-stream')
  assert.equal(typeOf(' \n', 'items'), 'text/plain')
})
