import assert from 'node:assert/strict'
import { test } from 'node:test'
import { errorCodes, errorStatus, isSluiceError, messageOf, SluiceError } from './errors.ts'

test('every code has an HTTP status and an exit status of its own', () => {
  assert.deepEqual(Object.keys(errorStatus).toSorted(), [...errorCodes].toSorted())
  for (const { http, exit } of Object.values(errorStatus)) {
    assert.ok(http >= 400 && http <= 599, `${http}`)
    // 0 is success; a shell uses 126 and above for itself.
    assert.ok(exit >= 1 && exit <= 125, `${exit}`)
  }
  assert.equal(new Set(Object.values(errorStatus).map(({ exit }) => exit)).size, errorCodes.length)
})

test('an error carries its code, its detail for programs, and its cause', () => {
  const cause = new Error('disk')
  const error = new SluiceError('not_found', 'Entity 7 is unknown; list the entities.', { id: 7 }, cause)
  assert.deepEqual([error.name, error.code, error.detail, error.cause], ['SluiceError', 'not_found', { id: 7 }, cause])
  assert.deepEqual(new SluiceError('invalid', 'No.').detail, {})
  assert.equal(Object.hasOwn(new SluiceError('invalid', 'No.'), 'cause'), false)
})

test('isSluiceError asks for the class, and for the code if one is named', () => {
  const error: unknown = new SluiceError('conflict', 'No.')
  assert.equal(isSluiceError(error), true)
  assert.equal(isSluiceError(error, 'conflict'), true)
  assert.equal(isSluiceError(error, 'invalid'), false)
  assert.equal(isSluiceError(new Error('conflict')), false)
  assert.equal(isSluiceError(null), false)
})

test('anything thrown has a text', () => {
  assert.equal(messageOf(new Error('broken')), 'broken')
  assert.equal(messageOf(new TypeError()), 'TypeError')
  assert.equal(messageOf('plain'), 'plain')
  assert.equal(messageOf(undefined), 'undefined')
  assert.equal(messageOf(Symbol('odd')), 'Symbol(odd)')
  assert.match(messageOf(Object.create(null)), /without text/)
  assert.equal(messageOf(Object.assign(new Error(), { message: 404 })), '404')
})

test('a long text is cut to what a history row keeps, between characters', () => {
  assert.equal(messageOf('abcdef', 6), 'abcdef')
  assert.equal(messageOf('abcdefg', 6), 'abcde…')
  assert.equal(messageOf(new Error('x'.repeat(5_000))).length, 2_000)
  assert.equal(messageOf(`abcd😀fg`, 6).isWellFormed(), true)
})
