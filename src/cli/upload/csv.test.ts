import assert from 'node:assert/strict'
import { test } from 'node:test'
import { csvLine } from './csv.ts'

test('cells are quoted where they must be, and none is a formula', () => {
  assert.equal(csvLine(['1', 'a b', '', 'x,y']), '1,a b,,"x,y"\r\n')
  assert.equal(csvLine(['say "hi"', 'one\ntwo']), '"say ""hi""","one\ntwo"\r\n')
  assert.equal(csvLine(['=1+1', '@x', '+3', '-x', '-3']), "'=1+1,'@x,'+3,'-x,-3\r\n")
})
