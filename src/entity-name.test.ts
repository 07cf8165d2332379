import assert from 'node:assert/strict'
import { test } from 'node:test'
import { entityName } from './entity-name.ts'
import { isSluiceError } from './errors.ts'
import { defineMachine } from './machine.ts'

test('the first title whose fields are all there names an entity', () => {
  const data = { hnId: 8863, index: 0, file: { name: 'archive.json' }, empty: '', list: [1], none: null }
  for (const [titles, name] of [
    [['hnId'], '8863'],
    [['item {hnId}'], 'item 8863'],
    [['{index} of {file.name}'], '0 of archive.json'],
    [['missing', 'item {none}', 'no {index}'], 'no 0'],
    [['missing {hnId} {missing}'], null],
    [['empty', 'list', 'constructor', '__proto__', 'file'], null],
    [[], null],
  ] as const) {
    assert.equal(entityName(titles, data), name, titles.join())
  }
  assert.equal(entityName(['a'], null), null)
  assert.equal(entityName(['a'], { a: 'x'.repeat(500) })?.length, 120)
})

test('a machine declares its title as one text or several; it is no part of the digest', () => {
  const declaration = {
    ...({ name: 'm', version: 1, initial: ['a'], settled: ['b'], final: ['b'], states: { a: 'a', b: 'b' } } as const),
    transitions: { go: { from: 'a', to: 'b', on: 'action' } },
  } as const
  const plain = defineMachine(declaration)
  const titled = defineMachine({ ...declaration, title: ['{x} of {y}', 'x'] })
  assert.deepEqual([plain.title, titled.title], [[], ['{x} of {y}', 'x']])
  assert.deepEqual(defineMachine({ ...declaration, title: 'x' }).title, ['x'])
  assert.equal(titled.digest, plain.digest)
  for (const title of [7, [''], [7], '', 'a {b', '{}']) {
    assert.throws(
      () => defineMachine({ ...declaration, title: title as string }),
      (error) => isSluiceError(error, 'invalid') && /title must be/.test(error.message),
    )
  }
})
