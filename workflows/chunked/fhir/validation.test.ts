import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { openDefinitions } from './definitions.ts'
import type { Issue } from './issue.ts'
import { loadPackages } from './medplum.ts'
import { Validator } from './validation.ts'

const definitions = await openDefinitions()
const validator = new Validator(definitions)

function issuesOf(value: unknown, using = validator): readonly Issue[] {
  const checked = using.check(value)
  return 'issues' in checked ? checked.issues : []
}

const said = (value: unknown) => issuesOf(value).map(({ path, code }) => [path, code])
const observation = { resourceType: 'Observation', status: 'final', code: { text: 'x' } }

test('what is good is handed back as it came', () => {
  assert.deepEqual(validator.checkText(' {"resourceType":"Patient","id":"a"} '), {
    resource: { resourceType: 'Patient', id: 'a' },
  })
  for (const good of [
    observation,
    { ...observation, subject: { reference: 'urn:uuid:5c1e1bd2-0c1c-4b1c-9a39-2b7ad7c4a1b1' } },
    { ...observation, contained: [{ resourceType: 'Patient', id: 'p' }], subject: { reference: '#p' } },
    { ...observation, _status: { extension: [{ url: 'http://example.org/x', valueString: 'y' }] } },
    { resourceType: 'Patient', name: [{ given: ['a', null], _given: [null, { id: 'x' }] }] },
    { resourceType: 'Bundle', type: 'collection', entry: [{ resource: observation }] },
    {
      resourceType: 'Questionnaire',
      status: 'draft',
      item: [{ linkId: '1', type: 'group', item: [{ linkId: '2', type: 'string' }] }],
    },
  ]) {
    assert.deepEqual(issuesOf(good), [])
  }
})

test('what is not a resource at all is said in one sentence', () => {
  const first = (text: string) => {
    const checked = validator.checkText(text)
    return 'issues' in checked ? [checked.issues.length, checked.issues[0]!.code, checked.issues[0]!.message] : null
  }
  assert.match(String(first('{"a":')), /1,not_json,This is not JSON\./)
  assert.deepEqual(first('[1]'), [1, 'not_object', 'A resource is an object; found a list.'])
  assert.deepEqual(first('null'), [1, 'not_object', 'A resource is an object; found null.'])
  assert.deepEqual(first('{}'), [1, 'unknown_type', 'resourceType is missing.'])
  assert.deepEqual(first('{"resourceType":5}'), [1, 'unknown_type', 'resourceType must be a text; found a number.'])
  for (const type of ['Patiant', 'constructor', '__proto__', 'Resource', 'DomainResource', 'HumanName', 'Project']) {
    assert.deepEqual(first(JSON.stringify({ resourceType: type })), [
      1,
      'unknown_type',
      'resourceType is not a resource type of FHIR R4.',
    ])
  }
})

test('all issues are told at once, each with its place', () => {
  const bad = {
    resourceType: 'Observation',
    id: 'a b',
    subject: { reference: 'Patient/1', colour: 1 },
    valueInteger: 1.5,
    status: 'odd',
  }
  assert.deepEqual(said(bad), [
    ['Observation.id', 'bad_id'],
    ['Observation.subject.colour', 'structure'],
    ['Observation.status', 'unknown_code'],
    ['Observation.code', 'structure'],
    ['Observation.value[x]', 'structure'],
  ])
})

test('what medplum lets pass is found', () => {
  assert.deepEqual(said({ ...observation, code: 5 }), [['Observation.code', 'structure']])
  assert.deepEqual(said({ ...observation, subject: 'Patient/1' }), [['Observation.subject', 'structure']])
  assert.deepEqual(said({ ...observation, category: [5] }), [['Observation.category[0]', 'structure']])
  assert.deepEqual(said({ ...observation, category: [[{ text: 'x' }]] }), [['Observation.category[0]', 'structure']])
  assert.deepEqual(said({ ...observation, category: { text: 'x' } }), [['Observation.category', 'structure']])
  assert.deepEqual(said({ ...observation, subject: [{ reference: 'x' }] }), [['Observation.subject', 'structure']])
  assert.deepEqual(said({ ...observation, category: [] }), [['Observation.category', 'structure']])
  assert.deepEqual(said({ ...observation, subject: {} }), [['Observation.subject', 'structure']])
  assert.deepEqual(said({ ...observation, implicitRules: '' }), [['Observation.implicitRules', 'structure']])
  assert.deepEqual(said({ ...observation, constructor: 1 }), [['Observation.constructor', 'structure']])
  assert.deepEqual(said({ ...observation, valueString: 'a', valueInteger: 1 }), [
    ['Observation.valueInteger', 'structure'],
  ])
  assert.deepEqual(said({ ...observation, status: 'odd' }), [['Observation.status', 'unknown_code']])
  assert.deepEqual(said({ ...observation, subject: { reference: 'Practitioner/1' } }), [
    ['Observation.subject', 'structure'],
  ])
  assert.deepEqual(said({ ...observation, contained: [{ id: 'x' }] }), [['Observation.contained[0]', 'unknown_type']])
  assert.deepEqual(said({ ...observation, contained: [{ resourceType: 'Song' }] }), [
    ['Observation.contained[0]', 'unknown_type'],
  ])
  assert.deepEqual(said({ ...observation, contained: [{ resourceType: 'Account', foo: 1 }] }), [
    ['Observation.contained[0].foo', 'structure'],
    ['Observation.contained[0].status', 'structure'],
  ])
  assert.deepEqual(said({ ...observation, status: null, _status: 5 }), [
    ['Observation.status', 'structure'],
    ['Observation._status', 'structure'],
  ])
})

test('what medplum finds is told in our words', () => {
  assert.deepEqual(said({ resourceType: 'Patient', contact: [{ gender: 'male' }] }), [
    ['Patient.contact[0]', 'invariant'],
  ])
  assert.deepEqual(said({ resourceType: 'Patient', birthDate: '1970-13-01', deceasedBoolean: 'yes' }), [
    ['Patient.birthDate', 'structure'],
    ['Patient.deceased[x]', 'structure'],
  ])
})

test('size, depth and the number of issues have bounds', () => {
  const small = new Validator(definitions, { resourceBytesMax: 60, depthMax: 8, issuesMax: 3 })
  const text = (length: number) => JSON.stringify({ resourceType: 'Patient', language: 'é'.repeat(length) })
  const long = small.checkText(text(20))
  assert.deepEqual('issues' in long && [long.issues[0]!.code, long.issues[0]!.message], [
    'too_long',
    'The resource has 80 bytes; up to 60 are taken.',
  ])
  const nested = (depth: number): object =>
    depth === 0 ? { url: 'http://a', valueString: 'x' } : { url: 'http://a', extension: [nested(depth - 1)] }
  assert.deepEqual(issuesOf({ resourceType: 'Patient', extension: [nested(2)] }, small), [])
  assert.equal(issuesOf({ resourceType: 'Patient', extension: [nested(5)] }, small)[0]?.code, 'too_deep')
  // So deep that a walk without a bound would run out of stack.
  const deep = `{"resourceType":"Patient","extension":[${'{"extension":['.repeat(50_000)}${']}'.repeat(50_000)}]}`
  const checked = validator.checkText(deep)
  assert.deepEqual('issues' in checked && checked.issues.map(({ code }) => code), ['too_deep'])
  const wrong = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`x${index}`, 1]))
  assert.equal(issuesOf({ resourceType: 'Patient', ...wrong }, small).length, 3)
})

test('the definitions of the specification are resources too, and good ones', async () => {
  const { folder } = await loadPackages()
  for (const name of ['search-parameters.json', 'conceptmaps.json']) {
    const bundle = JSON.parse(readFileSync(join(folder, 'fhir', 'r4', name), 'utf8')) as {
      entry: { resource: unknown }[]
    }
    for (const { resource } of bundle.entry.slice(0, 200)) assert.deepEqual(issuesOf(resource), [])
  }
})

test('nothing that can be written as JSON makes it throw', () => {
  const keys = fc.constantFrom(
    'id',
    'name',
    'given',
    'extension',
    'url',
    'valueString',
    'contained',
    'resourceType',
    '_birthDate',
    'code',
    'subject',
    'reference',
    'meta',
    'toString',
    '__proto__',
  )
  const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom<unknown>(null, true, 0, 1.5, '', 'x', 'Patient', '1970-01-01', 'Patient/1'),
      fc.array(tie('tree'), { maxLength: 3 }),
      fc.dictionary(keys, tie('tree'), { maxKeys: 4 }),
    ),
  }))
  fc.assert(
    fc.property(
      fc.constantFrom('Patient', 'Observation', 'Bundle'),
      fc.dictionary(keys, tree),
      (resourceType, rest) => {
        const checked = validator.checkText(JSON.stringify({ ...rest, resourceType }))
        if ('issues' in checked) assert.ok(checked.issues.length > 0 && checked.issues.length <= 20)
      },
    ),
    { numRuns: 500 },
  )
})
