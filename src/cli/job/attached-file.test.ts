import assert from 'node:assert/strict'
import { test } from 'node:test'
import { attachedFile } from './attached-file.ts'

test('a file is attached under a name, or under its own', () => {
  assert.deepEqual(attachedFile('input=a/b.txt'), [{ name: 'input', file: 'a/b.txt' }])
  assert.deepEqual(attachedFile('a/b.txt'), [{ name: 'b.txt', file: 'a/b.txt' }])
  assert.deepEqual(attachedFile('x=y=z'), [{ name: 'x', file: 'y=z' }])
  // What stands before the sign is a part of a path here, not a name.
  assert.deepEqual(attachedFile('a/b=c.txt'), [{ name: 'b=c.txt', file: 'a/b=c.txt' }])
  const two = attachedFile('b=2', attachedFile('a=1'))
  assert.deepEqual(
    two.map(({ name }) => name),
    ['a', 'b'],
  )
  assert.throws(() => attachedFile(''), /NAME=FILE was expected/)
})
