import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isSluiceError } from '../errors.ts'
import { dialErrorDetail } from './dial-error.ts'
import { display } from './display.ts'
import { rulesOf } from './rules.ts'
import { checkUrl, redirectTarget } from './target.ts'

function reasonOf(text: string, rules = rulesOf()): string | undefined {
  try {
    checkUrl(text, rules)
    return undefined
  } catch (error) {
    assert.ok(isSluiceError(error), String(error))
    return dialErrorDetail(error)?.reason
  }
}

const addresses = [
  'http://127.0.0.1/',
  'http://0x7f.1/',
  'http://0x7f000001/',
  'http://2130706433/',
  'http://017700000001/',
  'http://0177.0.0.1/',
  'http://127.1/',
  'http://127.0.1/',
  'http://127.0.0.1./',
  'http://0/',
  'http://0.0.0.0/',
  'http://127。0。0。1/',
  'http://127．0．0．1/',
  'http://127｡0｡0｡1/',
  'http://１２７.0.0.1/',
  'http://①②⑦.0.0.1/',
  'http://127%2e0%2e0%2e1/',
  'http://%31%32%37.0.0.1/',
  'http://169.254.169.254/latest/meta-data/',
  'http://0xa9.0xfe.0xa9.0xfe/',
  'http://2852039166/',
  'http://169.254.43518/',
  'http://10.0.0.1/',
  'http://172.16.0.1/',
  'http://192.168.0.1/',
  'http://100.64.0.1/',
  'http://255.255.255.255/',
  'http://224.0.0.251/',
  'http://[::1]/',
  'http://[::]/',
  'http://[0:0:0:0:0:0:0:1]/',
  'http://[::ffff:127.0.0.1]/',
  'http://[::ffff:a9fe:a9fe]/',
  'http://[::ffff:0:127.0.0.1]/',
  'http://[::127.0.0.1]/',
  'http://[64:ff9b::a9fe:a9fe]/',
  'http://[64:ff9b:1::a9fe:a9fe]/',
  'http://[2002:7f00:1::]/',
  'http://[2001:db8::1]/',
  'http://[fd00:ec2::254]/',
  'http://[fe80::1]/',
  'http://[fec0::1]/',
  'http://[ff02::1]/',
]

test('hosts that are inner addresses in disguise are refused', () => {
  assert.ok(addresses.length >= 40)
  for (const url of addresses) assert.equal(reasonOf(url), 'address', url)
})

const shapes: readonly (readonly [url: string, reason: string])[] = [
  ['http://good.example@127.0.0.1/', 'userinfo'],
  ['http://user:secret@good.example/', 'userinfo'],
  ['http://@good.example/', 'userinfo'],
  ['http://:@good.example/', 'userinfo'],
  ['http://good.example\\@127.0.0.1/', 'url'],
  ['http:\\\\127.0.0.1\\x', 'url'],
  ['http://good.example\\x', 'url'],
  ['http://h/a\r\nHost: x', 'url'],
  ['http://h/a\nb', 'url'],
  ['ht\ttp://good.example/', 'url'],
  [' http://good.example/', 'url'],
  ['http://good.example/ ', 'url'],
  ['http://good.example/\u0000', 'url'],
  ['http://good.example/\u0085', 'url'],
  ['http://good.example/a b', 'url'],
  ['http://good.example/\ud800', 'url'],
  ['http:/good.example/', 'url'],
  ['http:good.example/', 'url'],
  ['http:///good.example/', 'url'],
  ['//good.example/', 'url'],
  ['/etc/passwd', 'url'],
  ['', 'url'],
  ['http://', 'url'],
  ['http://good.example:99999/', 'url'],
  ['http://good.example:x/', 'url'],
  ['http://good..example/', 'url'],
  ['http://good.example./', 'url'],
  ['http://[::1/', 'url'],
  ['http://[fe80::1%25eth0]/', 'url'],
  ['http://1.2.3.4.5/', 'url'],
  ['http://256.256.256.256/', 'url'],
  [`http://${'a'.repeat(64)}.example/`, 'url'],
  [`http://good.example/${'a'.repeat(4_096)}`, 'url'],
  ['http://good.example:22/', 'port'],
  ['http://good.example:6379/', 'port'],
  ['https://good.example:25/', 'port'],
  ['http://good.example:0/', 'port'],
  ['file:///etc/passwd', 'scheme'],
  ['ftp://good.example/', 'scheme'],
  ['gopher://good.example/_x', 'scheme'],
  ['data:text/plain,x', 'scheme'],
  ['javascript:alert(1)', 'scheme'],
  ['blob:http://good.example/x', 'scheme'],
  ['ws://good.example/', 'scheme'],
  ['HTTPX://good.example/', 'scheme'],
]

test('URLs of a wrong shape are refused, each for its reason', () => {
  assert.ok(shapes.length >= 24)
  for (const [url, reason] of shapes) assert.equal(reasonOf(url), reason, JSON.stringify(url))
})

test('plain URLs pass, and come out as they will be asked for', () => {
  for (const [text, href] of [
    ['http://good.example', 'http://good.example/'],
    ['HTTPS://Good.Example:443/A?b=c#d', 'https://good.example/A?b=c'],
    ['http://good.example:8080/a%20b', 'http://good.example:8080/a%20b'],
    ['http://bücher.example/ö', 'http://xn--bcher-kva.example/%C3%B6'],
    ['http://8.8.8.8/', 'http://8.8.8.8/'],
    ['http://[2606:4700::1111]/', 'http://[2606:4700::1111]/'],
    ['http://good.example/x@y', 'http://good.example/x@y'],
  ] as const) {
    assert.equal(checkUrl(text).href, href)
  }
})

test('the rules say which schemes, ports and lengths are allowed', () => {
  const rules = rulesOf({ schemes: ['https'], ports: [9443], urlCharactersMax: 30 })
  assert.equal(reasonOf('https://good.example:9443/', rules), undefined)
  assert.equal(reasonOf('http://good.example:9443/', rules), 'scheme')
  assert.equal(reasonOf('https://good.example/', rules), 'port')
  assert.equal(reasonOf('https://good.example:9443/12345', rules), 'url')
})

test('no error shows a query, a user or a password', () => {
  const bad = [
    ...addresses.map((url) => `${url}?sig=SECRET`),
    ...shapes.map(([url]) => `${url}?sig=SECRET`),
    'http://SECRET:SECRET@good.example/',
    'https://good.example:25/?SECRET#SECRET',
    'http://exa mple/?SECRET',
    'mailto:SECRET@good.example',
    'http://good.example:bad/?SECRET',
  ]
  for (const url of bad) {
    assert.throws(
      () => checkUrl(url),
      (error: Error & { detail?: unknown }) =>
        isSluiceError(error) && !`${error.message}${error.stack}${JSON.stringify(error.detail)}`.includes('SECRET'),
      url,
    )
  }
})

test('whatever the text, there is a URL that the rules allow or an error of ours', () => {
  const piece = fc.constantFrom(
    'http',
    'https',
    ':',
    '/',
    '//',
    '@',
    '127.0.0.1',
    'a.example',
    '?',
    '#',
    '\\',
    '\n',
    '%2e',
    '。',
    '[::1]',
    ':80',
    '0x7f',
  )
  fc.assert(
    fc.property(
      fc.oneof(
        fc.webUrl(),
        fc.string(),
        fc.array(piece, { maxLength: 10 }).map((list) => list.join('')),
      ),
      (text) => {
        try {
          const url = checkUrl(text)
          assert.match(url.href, /^https?:\/\/[^/@]+\//)
          assert.equal(url.username + url.password + url.hash, '')
          assert.doesNotThrow(() => checkUrl(url.href), 'what was found good is good again')
        } catch (error) {
          assert.ok(isSluiceError(error), String(error))
        }
      },
    ),
    { numRuns: 2_000 },
  )
})

test('a redirect is resolved, checked anew, and never leads from https to http', () => {
  const from = new URL('https://good.example/a/b?x')
  const to = (location: string): string => redirectTarget(location, from, rulesOf()).href
  assert.equal(to('c'), 'https://good.example/a/c')
  assert.equal(to('/c?d'), 'https://good.example/c?d')
  assert.equal(to('//other.example/c'), 'https://other.example/c')
  assert.equal(to('?y'), 'https://good.example/a/b?y')
  for (const [location, reason] of [
    ['http://good.example/', 'redirect'],
    ['file:///etc/passwd', 'scheme'],
    ['javascript:alert(1)', 'scheme'],
    ['//user@other.example/', 'userinfo'],
    ['//127.0.0.1/', 'address'],
    ['https://0x7f.1/', 'address'],
    ['\\\\127.0.0.1\\', 'url'],
    ['/a\tb', 'url'],
    ['https:other', 'url'],
    ['//[', 'url'],
    ['//other.example:22/', 'port'],
    ['', 'url'],
  ] as const) {
    assert.throws(
      () => to(location),
      (error) => dialErrorDetail(error)?.reason === reason,
      location,
    )
  }
})

test('display keeps the place and drops the keys', () => {
  assert.equal(display('https://u:p@good.example:8443/a/b?sig=1#f'), 'https://good.example:8443/a/b?…')
  assert.equal(display(new URL('http://good.example')), 'http://good.example/')
  assert.equal(display('nonsense'), 'an unreadable URL')
  assert.equal(display('data:text/plain,secret'), 'data:…')
  assert.equal(display(`http://good.example/${'a'.repeat(1_000)}?b`).length < 310, true)
})
