import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { signatureOf, verifySignature } from './signature.ts'

const secret = 'correct horse battery'
const now = 1_700_000_000_000

test('the signature is the HMAC-SHA256 of time, dot and body, as another program computes it', () => {
  // printf '%s' '1700000000.{"a":1}' | openssl dgst -sha256 -hmac 'correct horse battery'
  const digest = '98a51b330afc58453095af8ed727e6cc4bd565edb4230482620146eda751b416'
  assert.equal(signatureOf('{"a":1}', secret, now), `t=1700000000,v1=${digest}`)
})

test('what was signed is known again, also as bytes and beside unknown parts', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ minLength: 1 }), (body, key) => {
      const header = signatureOf(body, key, now)
      assert.ok(verifySignature(body, header, key, { now }))
      assert.ok(verifySignature(Buffer.from(body), header, key, { now }))
      assert.ok(verifySignature(body, `v2=new, ${header}`, key, { now }))
    }),
  )
})

test('another body, secret or time is refused', () => {
  const header = signatureOf('body', secret, now)
  assert.equal(verifySignature('bodi', header, secret, { now }), false)
  assert.equal(verifySignature('body', header, `${secret}!`, { now }), false)
  assert.equal(verifySignature('body', header.replace('t=1700000000', 't=1700000001'), secret, { now }), false)
})

test('the time may be off by the tolerance and not by more, in both directions', () => {
  const header = signatureOf('body', secret, now)
  for (const sign of [1, -1]) {
    assert.ok(verifySignature('body', header, secret, { now: now + sign * 300_000 }))
    assert.equal(verifySignature('body', header, secret, { now: now + sign * 300_001 }), false)
    assert.equal(verifySignature('body', header, secret, { now: now + sign * 2, toleranceMs: 1 }), false)
  }
  assert.equal(verifySignature('body', header, secret, { now: Number.NaN }), false)
})

test('while a secret is being replaced, either is good, on both sides', () => {
  const header = signatureOf('body', 'the old secret', now)
  assert.ok(verifySignature('body', header, ['the new secret', 'the old secret'], { now }))
  const both = `${header},${signatureOf('body', 'the new secret', now).split(',')[1]}`
  assert.ok(verifySignature('body', both, 'the new secret', { now }))
  assert.equal(verifySignature('body', both, [], { now }), false)
})

test('a header that is none of ours is refused, whatever it is', () => {
  const good = signatureOf('body', secret, now)
  const bad = [
    null,
    undefined,
    '',
    't=1700000000',
    good.split(',')[1],
    `${good},t=1700000000`,
    good.toUpperCase(),
    good.slice(0, -1),
  ]
  for (const header of [...bad, `${good}${',x=y'.repeat(1_000)}`]) {
    assert.equal(verifySignature('body', header, secret, { now }), false, String(header))
  }
  fc.assert(fc.property(fc.string(), (header) => !verifySignature('body', header, secret, { now })))
})
