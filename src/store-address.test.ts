import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { sentenceOf } from './cli/failure.ts'
import { commandLine } from './cli/text.ts'
import { isSluiceError, messageOf } from './errors.ts'
import { masked } from './masked.ts'
import { parseStoreAddress, shownStore, storeFile, storeText } from './store-address.ts'

test('a file is a file, with or without sqlite: before it', () => {
  for (const [text, file] of [
    ['sluice.db', 'sluice.db'],
    ['./data/a b.db', './data/a b.db'],
    ['/var/lib/x.db', '/var/lib/x.db'],
    ['C:\\data\\x.db', 'C:\\data\\x.db'],
    ['2024:x.db', '2024:x.db'],
    ['sqlite:sluice.db', 'sluice.db'],
    ['SQLITE:/var/x.db', '/var/x.db'],
    ['sqlite:///var/x.db', '/var/x.db'],
    ['sqlite:postgres:x', 'postgres:x'],
  ] as const) {
    assert.deepEqual(parseStoreAddress(text), { kind: 'sqlite', file }, text)
    assert.deepEqual(parseStoreAddress(storeText(text)), { kind: 'sqlite', file }, text)
  }
})

test('a store in memory is named by its scheme alone', () => {
  assert.deepEqual(parseStoreAddress('memory:'), { kind: 'memory' })
  assert.equal(storeText('memory:'), 'memory:')
  assert.equal(storeFile('memory:'), null)
})

test('a server is a server, and its schema is read from the address', () => {
  for (const [text, url, schema] of [
    ['postgres://u@h/d', 'postgres://u@h/d', null],
    ['postgresql://u:p%40@h:1/d', 'postgresql://u:p%40@h:1/d', null],
    ['POSTGRES://u@h/d', 'postgres://u@h/d', null],
    ['postgres:///d?host=/run/x', 'postgres:///d?host=/run/x', null],
    ['postgres://u@h/d?schema=batch', 'postgres://u@h/d', 'batch'],
    ['postgres://u@h/d?sslmode=verify-full&schema=batch', 'postgres://u@h/d?sslmode=verify-full', 'batch'],
  ] as const) {
    assert.deepEqual(parseStoreAddress(text), { kind: 'postgres', url, schema }, text)
    assert.equal(storeText(text), text)
  }
})

test('what is neither is refused, and no password is repeated', () => {
  for (const [text, expected] of [
    ['', /it was empty/],
    ['postgres:d', /postgres:d \(expected postgres:\/\//],
    ['postgres://u:s3cr/t@h/d', /u:\*\*\*@h\/d .*%2F/],
    ['postgres://h1:1,h2:2/d', /expected postgres:/],
    ['postgres://u:s3cr@h/d?schema=', /one name after schema=/],
    ['postgres://u:s3cr@h/d?schema=a&schema=b', /one name after schema=/],
    ['mysql://u:s3cr@h/d', /mysql:\/\/u:\*\*\*@h\/d \(expected FILE, sqlite:FILE, memory: or postgres:/],
    ['sqlite:', /expected sqlite:FILE/],
    ['memory:x', /expected memory: alone/],
    [':memory:', /expected memory: alone/],
    ['sqlite://data.db', /expected sqlite:FILE/],
  ] as const) {
    assert.throws(
      () => parseStoreAddress(text),
      (error) => {
        assert.ok(isSluiceError(error, 'invalid'))
        assert.match(messageOf(error), expected)
        assert.doesNotMatch(`${messageOf(error)}${JSON.stringify(error.detail)}`, /s3cr/)
        return true
      },
      text,
    )
  }
})

test('no password is ever shown, whatever characters it has', () => {
  // A mark at both ends: what is between may be cut anywhere by somebody who reads addresses in another way.
  const password = fc
    .array(fc.constantFrom(...'ab1/@:?#%&= \\\'"*$(^'), { maxLength: 12 })
    .map((letters) => `SECRET${letters.join('')}SECRET`)
  const address = fc.oneof(
    password.map((word) => `postgres://user:${encodeURIComponent(word)}@host:5432/database`),
    password.map((word) => `postgresql://:${word}@host/database?schema=a`),
    password.map((word) => `postgres://user:${word}@host/database`),
    password.map((word) => `postgres://host/database?user=me&password=${encodeURIComponent(word)}&schema=a`),
  )
  fc.assert(
    fc.property(address, (text) => {
      assert.doesNotMatch(shownStore(text), /SECRET/)
      if (/\s/.test(text)) return
      assert.doesNotMatch(sentenceOf(new Error(`Could not reach ${text}.`)), /SECRET/)
      assert.doesNotMatch(commandLine(['sluice', 'serve', '--store', text, `--store=${text}`]), /SECRET/)
    }),
    { numRuns: 500 },
  )
})

test('only passwords are hidden', () => {
  for (const text of [
    'postgres://user@host:5432/database?schema=a',
    'https://example.org:8080/a@b?c=d',
    'http://127.0.0.1:7878',
    'a sentence: with a colon, an address@example.org and a password of its own',
    '/var/lib/sluice.db',
  ])
    assert.equal(masked(text), text)
  assert.equal(masked('at postgres://u:x@h/d now'), 'at postgres://u:***@h/d now')
  assert.equal(masked('https://u:x@h/d?password=y&z=1'), 'https://u:***@h/d?password=***&z=1')
})
