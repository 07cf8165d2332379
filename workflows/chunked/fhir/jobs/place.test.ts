import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accessProblem } from './place.ts'

const fault = (code: string) => Object.assign(new Error(`${code}: said the system`), { code })

test('what another attempt does not cure has a reason; anything else is thrown', () => {
  const reasons = ['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM', 'ELOOP', 'ENAMETOOLONG', 'EISDIR'].map(
    (code) => accessProblem(fault(code), '/a').reason,
  )
  assert.deepEqual(new Set(reasons), new Set(['no such file', 'file not readable', 'not a file']))
  assert.match(accessProblem(fault('EACCES'), '/a').message, /^\/a may not be read by this process: EACCES/)
  for (const code of ['ENOSPC', 'EIO', 'EMFILE']) assert.throws(() => accessProblem(fault(code), '/a'), { code })
})
