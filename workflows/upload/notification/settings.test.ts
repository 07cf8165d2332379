import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isSluiceError } from 'sluice'
import { notifierOf } from './index.ts'
import { checkedSettings } from './settings.ts'

const webhook = { url: 'https://example.org/hook?x=1', secret: '0123456789abcdef' }
const mail = { host: 'mail.example.org', port: 25, from: 'sluice@example.org', to: 'ops@example.org' }

test('no settings mean no notifier; each channel may stand alone', () => {
  assert.equal(notifierOf(undefined), null)
  assert.equal(notifierOf({}), null)
  assert.ok(notifierOf({ webhook }))
  assert.ok(notifierOf({ mail }))
})

test('defaults are filled in, and one address is a list of one', () => {
  const checked = checkedSettings({ webhook, mail })
  assert.equal(checked.webhook?.timeoutMs, 10_000)
  assert.equal(checked.webhook?.url.href, webhook.url)
  assert.deepEqual(checked.mail?.to, ['ops@example.org'])
  assert.deepEqual(checkedSettings({ mail: { ...mail, to: ['a@localhost', 'b@c.org'] } }).mail?.to, [
    'a@localhost',
    'b@c.org',
  ])
})

const refusals: readonly [what: string, settings: unknown, message: RegExp][] = [
  [
    'another protocol',
    { webhook: { ...webhook, url: 'file:///etc/passwd' } },
    /notification\.webhook\.url: an http or https/,
  ],
  ['no address at all', { webhook: { ...webhook, url: 'example.org' } }, /notification\.webhook\.url/],
  ['a line break in an address', { webhook: { ...webhook, url: 'https://example.org/\r\nHost:x' } }, /webhook\.url/],
  [
    'a user in an address',
    { webhook: { ...webhook, url: 'https://u:p@example.org/' } },
    /webhook\.url: .*without user/,
  ],
  [
    'a short secret',
    { webhook: { ...webhook, secret: 'short-secret-15' } },
    /webhook\.secret: .*at least 16 characters/,
  ],
  ['no secret', { webhook: { url: webhook.url } }, /webhook\.secret/],
  ['an unknown field', { webhook: { ...webhook, retries: 3 } }, /webhook: .*retries/],
  ['an unknown channel', { pager: {} }, /notification: .*pager/],
  ['no host', { mail: { ...mail, host: '' } }, /mail\.host: a host name/],
  ['a port out of range', { mail: { ...mail, port: 70_000 } }, /mail\.port/],
  ['two addresses in one', { mail: { ...mail, to: 'a@b.org, c@d.org' } }, /mail\.to\.0: a plain mail address/],
  ['a header in an address', { mail: { ...mail, to: ['a@b.org\r\nBcc: x@y.org'] } }, /mail\.to\.0: a plain mail/],
  ['a name with an address', { mail: { ...mail, from: '"spy@evil x"@internal' } }, /mail\.from: a plain mail/],
  ['nobody to write to', { mail: { ...mail, to: [] } }, /mail\.to/],
  ['a user without password', { mail: { ...mail, user: 'u' } }, /mail\.password: user and password go together/],
  [
    'a password in the clear',
    { mail: { ...mail, user: 'u', password: 'p', tls: 'never' } },
    /mail\.tls: .*in the clear/,
  ],
  ['no object', 'https://example.org', /notification: /],
]

for (const [what, settings, message] of refusals) {
  test(`${what} is refused, and the field is named`, () => {
    assert.throws(
      () => checkedSettings(settings),
      (error) => isSluiceError(error, 'invalid') && message.test(error.message),
    )
  })
}

test('all faults are named at once, and no secret is repeated', () => {
  const settings = {
    webhook: { url: 'nowhere', secret: 'my-short' },
    mail: { ...mail, port: 0, user: 'u', password: '' },
  }
  assert.throws(
    () => checkedSettings(settings),
    (error) => isSluiceError(error) && error.message.split(';').length >= 4 && !error.message.includes('my-short'),
  )
})
