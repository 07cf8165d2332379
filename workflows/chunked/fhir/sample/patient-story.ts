import type { Random } from './random.ts'
import {
  type Coded,
  cities,
  conditions,
  familyNames,
  givenNames,
  measurements,
  medications,
  streets,
  vaccines,
  visits,
} from './words.ts'

/** The types that are made up, those that others refer to first. */
export const sampleTypes = [
  'Organization',
  'Practitioner',
  'Patient',
  'Encounter',
  'Condition',
  'Observation',
  'MedicationRequest',
  'Immunization',
] as const
export type SampleType = (typeof sampleTypes)[number]

export type SampleResource = { readonly resourceType: SampleType; readonly id: string } & Readonly<
  Record<string, unknown>
>

const loinc = 'http://loinc.org'
const snomed = 'http://snomed.info/sct'
const terminology = 'http://terminology.hl7.org/CodeSystem'
const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs
/** 2015-01-01: nothing depends on the day on which it is made. */
const firstMs = 1_420_070_400_000
const patientsOfClinic = 200

/** Makes up patients one after another, each with what belongs to them; every few hundred a new clinic. */
export class PatientStories {
  readonly #random: Random
  #patients = 0
  #clinic = { organization: '', practitioner: '' }

  constructor(random: Random) {
    this.#random = random
  }

  /** In an order in which nothing refers to what comes later. */
  next(): SampleResource[] {
    const story: SampleResource[] = []
    if (this.#patients % patientsOfClinic === 0) story.push(...this.#newClinic())
    this.#patients += 1
    const patient = this.#patient()
    story.push(patient)
    const subject = { reference: `Patient/${patient.id}` }
    for (let visit = 1 + this.#random.below(4); visit > 0; visit -= 1) story.push(...this.#visit(subject))
    return story
  }

  #newClinic(): SampleResource[] {
    const random = this.#random
    const organization: SampleResource = {
      resourceType: 'Organization',
      id: random.uuid(),
      active: true,
      type: [
        { coding: [{ system: `${terminology}/organization-type`, code: 'prov', display: 'Healthcare Provider' }] },
      ],
      name: `${random.pick(cities)[0]} Medical Center`,
      telecom: [this.#phone('work')],
      address: [this.#address()],
    }
    const practitioner: SampleResource = {
      resourceType: 'Practitioner',
      id: random.uuid(),
      active: true,
      identifier: [{ system: 'http://hl7.org/fhir/sid/us-npi', value: String(9_999_000_000 + random.below(999_999)) }],
      name: [{ family: random.pick(familyNames), given: [random.pick(givenNames)], prefix: ['Dr.'] }],
      gender: random.pick(['male', 'female']),
    }
    this.#clinic = { organization: `Organization/${organization.id}`, practitioner: `Practitioner/${practitioner.id}` }
    return [organization, practitioner]
  }

  #patient(): SampleResource {
    const random = this.#random
    const born = firstMs - random.below(85 * 365) * dayMs
    return {
      resourceType: 'Patient',
      id: random.uuid(),
      text: { status: 'generated', div: '<div xmlns="http://www.w3.org/1999/xhtml">Made up for tests.</div>' },
      identifier: [
        {
          type: { coding: [{ system: `${terminology}/v2-0203`, code: 'MR', display: 'Medical Record Number' }] },
          system: 'http://hospital.example.org',
          value: random.uuid(),
        },
      ],
      active: true,
      name: [
        {
          use: 'official',
          family: random.pick(familyNames),
          given: [random.pick(givenNames), random.pick(givenNames)],
        },
      ],
      telecom: [this.#phone('home')],
      gender: random.pick(['male', 'female', 'other', 'unknown']),
      birthDate: dateOf(born),
      address: [this.#address()],
      maritalStatus: {
        coding: [{ system: `${terminology}/v3-MaritalStatus`, code: random.pick(['M', 'S', 'D', 'W']) }],
      },
      generalPractitioner: [{ reference: this.#clinic.practitioner }],
      managingOrganization: { reference: this.#clinic.organization },
    }
  }

  #visit(subject: object): SampleResource[] {
    const random = this.#random
    const start = firstMs + random.below(9 * 365 * 24 * 60) * minuteMs
    const encounter: SampleResource = {
      resourceType: 'Encounter',
      id: random.uuid(),
      status: 'finished',
      class: { system: `${terminology}/v3-ActCode`, code: random.pick(['AMB', 'EMER', 'IMP']) },
      type: [conceptOf(snomed, random.pick(visits))],
      subject,
      participant: [{ individual: { reference: this.#clinic.practitioner } }],
      period: { start: timeOf(start), end: timeOf(start + (15 + random.below(60)) * minuteMs) },
      serviceProvider: { reference: this.#clinic.organization },
    }
    const about = { subject, encounter: { reference: `Encounter/${encounter.id}` } }
    const made: SampleResource[] = [encounter]
    if (random.happens(0.6)) made.push(this.#condition(about, start))
    for (let count = 2 + random.below(5); count > 0; count -= 1) made.push(this.#observation(about, start))
    if (random.happens(0.15)) made.push(this.#bloodPressure(about, start))
    if (random.happens(0.5)) made.push(this.#request(about, start))
    if (random.happens(0.3)) made.push(this.#immunization(about, start))
    return made
  }

  #condition(about: object, at: number): SampleResource {
    const random = this.#random
    return {
      resourceType: 'Condition',
      id: random.uuid(),
      clinicalStatus: {
        coding: [{ system: `${terminology}/condition-clinical`, code: random.pick(['active', 'resolved']) }],
      },
      verificationStatus: { coding: [{ system: `${terminology}/condition-ver-status`, code: 'confirmed' }] },
      category: [
        {
          coding: [
            {
              system: `${terminology}/condition-category`,
              code: 'encounter-diagnosis',
              display: 'Encounter Diagnosis',
            },
          ],
        },
      ],
      code: conceptOf(snomed, random.pick(conditions)),
      ...about,
      onsetDateTime: timeOf(at),
      recordedDate: timeOf(at),
    }
  }

  #observation(about: object, at: number): SampleResource {
    const random = this.#random
    const [code, display, unit, lowest, highest, digits] = random.pick(measurements)
    const value = Number((lowest + random.next() * (highest - lowest)).toFixed(digits))
    return {
      resourceType: 'Observation',
      id: random.uuid(),
      status: random.pick(['final', 'final', 'final', 'amended']),
      category: [
        { coding: [{ system: `${terminology}/observation-category`, code: 'vital-signs', display: 'Vital Signs' }] },
      ],
      code: conceptOf(loinc, [code, display]),
      ...about,
      effectiveDateTime: timeOf(at),
      issued: new Date(at).toISOString(),
      valueQuantity: { value, unit, system: 'http://unitsofmeasure.org', code: unit },
    }
  }

  #bloodPressure(about: object, at: number): SampleResource {
    const random = this.#random
    const part = (coded: Coded, value: number) => ({
      code: conceptOf(loinc, coded),
      valueQuantity: { value, unit: 'mm[Hg]', system: 'http://unitsofmeasure.org', code: 'mm[Hg]' },
    })
    return {
      resourceType: 'Observation',
      id: random.uuid(),
      status: 'final',
      category: [
        { coding: [{ system: `${terminology}/observation-category`, code: 'vital-signs', display: 'Vital Signs' }] },
      ],
      code: conceptOf(loinc, ['85354-9', 'Blood Pressure']),
      ...about,
      effectiveDateTime: timeOf(at),
      issued: new Date(at).toISOString(),
      component: [
        part(['8462-4', 'Diastolic Blood Pressure'], 60 + random.below(40)),
        part(['8480-6', 'Systolic Blood Pressure'], 95 + random.below(70)),
      ],
    }
  }

  #request(about: object, at: number): SampleResource {
    const random = this.#random
    return {
      resourceType: 'MedicationRequest',
      id: random.uuid(),
      status: random.pick(['active', 'stopped', 'completed']),
      intent: 'order',
      medicationCodeableConcept: conceptOf('http://www.nlm.nih.gov/research/umls/rxnorm', random.pick(medications)),
      ...about,
      authoredOn: timeOf(at),
      requester: { reference: this.#clinic.practitioner },
      dosageInstruction: [{ sequence: 1, text: 'Take as needed.', asNeededBoolean: true }],
    }
  }

  #immunization(about: { readonly subject: object; readonly encounter: object }, at: number): SampleResource {
    const random = this.#random
    return {
      resourceType: 'Immunization',
      id: random.uuid(),
      status: 'completed',
      vaccineCode: conceptOf(`http://hl7.org/fhir/sid/cvx`, random.pick(vaccines)),
      patient: about.subject,
      encounter: about.encounter,
      occurrenceDateTime: timeOf(at),
      primarySource: true,
    }
  }

  #phone(use: 'home' | 'work'): object {
    return { system: 'phone', value: `555-${String(this.#random.below(10_000)).padStart(4, '0')}`, use }
  }

  #address(): object {
    const [city, state, postalCode] = this.#random.pick(cities)
    const line = [`${1 + this.#random.below(999)} ${this.#random.pick(streets)}`]
    return { line, city, state, postalCode, country: 'US' }
  }
}

function conceptOf(system: string, [code, display]: Coded): object {
  return { coding: [{ system, code, display }], text: display }
}

function timeOf(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}+00:00`
}

function dateOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10)
}
