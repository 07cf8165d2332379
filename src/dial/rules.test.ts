import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseAddress } from './addresses.ts'
import { dialLimitsOf } from './limits.ts'
import { type DialRules, refusalOf, rulesOf } from './rules.ts'
import { checkUrl } from './target.ts'

function passes(allow: readonly string[], host: string, address: string): boolean {
  return refusalOf(rulesOf({ allow }), host, parseAddress(address)!) === null
}

test('a network opens exactly its addresses, under any name', () => {
  assert.equal(passes(['10.1.2.0/24'], 'any.example', '10.1.2.255'), true)
  assert.equal(passes(['10.1.2.0/24'], 'any.example', '::ffff:10.1.2.255'), true)
  assert.equal(passes(['10.1.2.0/24'], 'any.example', '10.1.3.0'), false)
  assert.equal(passes(['10.1.2.3'], 'any.example', '10.1.2.4'), false)
  assert.equal(passes(['fd00:1::/32'], 'any.example', 'fd00:1:2::3'), true)
  assert.equal(passes(['fd00:1::/32'], 'any.example', 'fd00:2::'), false)
  assert.equal(passes(['127.0.0.1'], 'any.example', '127.0.0.1'), true)
  assert.equal(passes(['127.0.0.1'], 'any.example', '64:ff9b::7f00:1'), false)
  assert.equal(checkUrl('http://10.1.2.3/', rulesOf({ allow: ['10.1.2.0/24'] })).host, '10.1.2.3')
})

test('a host name opens private ranges for exactly this name', () => {
  const allow = ['files.inside.example']
  assert.equal(passes(allow, 'files.inside.example', '10.1.2.3'), true)
  assert.equal(passes(allow, 'files.inside.example', 'fd00::1'), true)
  assert.equal(passes(allow, 'files.inside.example', '100.64.1.1'), true)
  assert.equal(passes(allow, 'a.files.inside.example', '10.1.2.3'), false)
  assert.equal(passes(allow, 'inside.example', '10.1.2.3'), false)
  assert.equal(passes(['Files.Inside.Example'], 'files.inside.example', '10.1.2.3'), true)
})

test('a host name never opens loopback, link-local or other special addresses', () => {
  for (const address of ['127.0.0.1', '::1', '169.254.169.254', 'fe80::1', '0.0.0.0', '224.0.0.1', '64:ff9b::a00:1']) {
    assert.equal(passes(['files.inside.example'], 'files.inside.example', address), false, address)
  }
})

test('rules that make no sense are refused when the dialer is opened', () => {
  const wrong: readonly DialRules[] = [
    { allow: ['*.example'] },
    { allow: ['host.example:80'] },
    { allow: ['http://host.example'] },
    { allow: ['host.example/path'] },
    { allow: ['bücher.example'] },
    { allow: ['host.example.'] },
    { allow: [''] },
    { allow: ['0.0.0.0/0'] },
    { allow: ['::/0'] },
    { allow: ['10.0.0.1/8'] },
    { allow: ['::ffff:10.0.0.0/104'] },
    { allow: ['0x7f.1'] },
    { ports: [] },
    { ports: [0] },
    { ports: [80.5] },
    { schemes: [] },
    { schemes: ['ftp' as 'http'] },
    { urlCharactersMax: 0 },
  ]
  for (const rules of wrong) assert.throws(() => rulesOf(rules), { code: 'invalid' }, JSON.stringify(rules))
})

test('limits are whole numbers', () => {
  assert.equal(dialLimitsOf({ redirectsMax: 0 }).redirectsMax, 0)
  assert.throws(() => dialLimitsOf({ connectMs: 0, keepMs: Number.NaN }), {
    code: 'invalid',
    message: /connectMs, keepMs/,
  })
})
