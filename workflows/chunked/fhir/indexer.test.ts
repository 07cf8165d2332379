import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openDefinitions } from './definitions.ts'
import { Indexer, termsMax } from './indexer.ts'
import { sampleResources } from './sample.ts'
import { termValues } from './term.ts'
import type { Resource } from './validation.ts'

const definitions = await openDefinitions()
const indexer = new Indexer(definitions)

function termsOf(resource: Resource): Record<string, unknown[]> {
  const indexed = indexer.index(resource)
  if ('fault' in indexed) throw new Error(indexed.fault)
  const byParam: Record<string, unknown[]> = {}
  for (const { param, value } of indexed.terms) byParam[param] = [...(byParam[param] ?? []), value]
  return byParam
}

test('a patient is found by all that R4 names', () => {
  const terms = termsOf({
    resourceType: 'Patient',
    id: 'a',
    meta: { tag: [{ system: 't', code: 'x' }] },
    name: [{ family: 'Müller', given: ['Ann', 'Bea'] }],
    birthDate: '1970-01-02',
    gender: 'female',
    telecom: [
      { system: 'phone', value: '1' },
      { system: 'email', value: 'a@b' },
    ],
    address: [{ city: 'Ulm' }],
    managingOrganization: { reference: 'Organization/o' },
  })
  assert.deepEqual(terms, {
    _tag: ['x|t'],
    family: ['muller'],
    given: ['ann', 'bea'],
    name: ['muller', 'ann', 'bea'],
    phonetic: ['muller', 'ann', 'bea'],
    birthdate: [86_400_000],
    gender: ['female|'],
    telecom: ['1|phone', 'a@b|email'],
    phone: ['1|phone'],
    email: ['a@b|email'],
    address: ['ulm'],
    'address-city': ['ulm'],
    organization: ['Organization/o'],
    // It says something of a field that is absent.
    deceased: ['false|'],
  })
})

test('choices and conditions in expressions are followed', () => {
  const observation = { resourceType: 'Observation', status: 'final', code: { coding: [{ code: 'c' }] } }
  const terms = termsOf({
    ...observation,
    subject: { reference: 'Patient/1' },
    effectivePeriod: { start: '1970-01-01' },
    valueString: 'Big',
  })
  assert.deepEqual(
    [terms.patient, terms.subject, terms.date, terms['value-string']],
    [['Patient/1'], ['Patient/1'], [0], ['big']],
  )
  assert.equal(termsOf({ ...observation, subject: { reference: 'Group/1' } }).patient, undefined)
  assert.deepEqual(termsOf({ ...observation, valueQuantity: { value: 5 } })['value-quantity'], [5])
})

test('leaving out what cannot be found changes nothing', () => {
  const { medplum } = definitions
  for (const { bytes } of sampleResources({ count: 300 })) {
    const resource = JSON.parse(bytes.toString()) as Resource
    const parameters = indexer.parameters.of(resource.resourceType)
    const about = parameters.about(resource)
    for (const code of parameters.codes) {
      const parameter = parameters.get(code)!
      if (about.has(parameter)) continue
      const found = medplum.evalFhirPathTyped(parameter.expression, [medplum.toTypedValue(resource)], {})
      assert.deepEqual(
        found.flatMap((value) => termValues(parameter.kind, value)),
        [],
        `${resource.resourceType} ${code}`,
      )
    }
  }
})

test('a resource has a bounded number of terms, the same each time', () => {
  const name = Array.from({ length: 2_000 }, (_, index) => ({ family: `f${index}` }))
  const first = indexer.index({ resourceType: 'Patient', name })
  assert.equal('terms' in first && first.terms.length, termsMax)
  assert.deepEqual(indexer.index({ resourceType: 'Patient', name }), first)
})

test('every type of R4 has its parameters', () => {
  for (const type of definitions.types) assert.ok(indexer.parameters.of(type).get('_tag'), type)
  assert.ok(indexer.parameters.of('Encounter').get('location'))
  assert.equal(indexer.parameters.of('Patient').get('nothing'), undefined)
})
