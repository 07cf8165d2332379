import type { IssueCode } from '../issue.ts'
import type { SampleResource, SampleType } from './patient-story.ts'

export interface BadLine {
  readonly code: IssueCode
  readonly bytes: Buffer
}

type Spoil = (resource: SampleResource, lineBytesMax: number) => BadLine

const required: Readonly<Partial<Record<SampleType, string>>> = {
  Encounter: 'class',
  Condition: 'subject',
  Observation: 'code',
  MedicationRequest: 'intent',
  Immunization: 'patient',
}

/** One way after another to spoil a resource; each is found for one reason and no other. */
export const spoils: readonly Spoil[] = [
  (resource) => bad('not_json', JSON.stringify(resource).slice(0, -5)),
  (resource) => bad('not_object', JSON.stringify([resource])),
  (resource) => spoiled('unknown_type', resource, { resourceType: 'Patiant' }),
  (resource) => spoiled('bad_id', resource, { id: 'not an id' }),
  (resource) => spoiled('structure', resource, { language: 5 }),
  (resource) => {
    const field = required[resource.resourceType]
    return spoiled('structure', resource, field ? { [field]: undefined } : { colour: 'blue' })
  },
  (resource) => spoiled('structure', resource, { extension: 'none' }),
  (resource) =>
    spoiled('unknown_code', resource, {
      text: { status: 'made up', div: '<div xmlns="http://www.w3.org/1999/xhtml">x</div>' },
    }),
  (resource) => spoiled('invariant', resource, { extension: [{ url: 'http://example.org/nothing' }] }),
  (resource) => ({
    code: 'not_utf8',
    bytes: Buffer.concat([Buffer.from(JSON.stringify(resource).slice(0, -2)), Buffer.from([0xff, 0xfe, 0x22, 0x7d])]),
  }),
]

/** Apart from the others, as each takes so much space. */
export const tooLong: Spoil = (resource, lineBytesMax) =>
  spoiled('too_long', resource, { language: 'x'.repeat(lineBytesMax) })

function spoiled(code: IssueCode, resource: SampleResource, change: object): BadLine {
  return bad(code, JSON.stringify({ ...resource, ...change }))
}

function bad(code: IssueCode, text: string): BadLine {
  return { code, bytes: Buffer.from(text) }
}
