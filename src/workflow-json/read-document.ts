import { z } from 'zod'
import { SluiceError } from '../errors.ts'
import { documentLimits, executionModes, importModes, type WorkflowImport } from './document.ts'
import { copyJson, placeText, valueAt, valueText } from './plain-json.ts'

/** One thing in a document that is not as the schema says. */
export interface DocumentFault {
  readonly code: DocumentFaultCode
  /** `$.workflows[0].states.draft` */
  readonly path: string
  readonly message: string
}

export type DocumentFaultCode =
  | 'invalid-document'
  | 'duplicate-workflow-name'
  | 'duplicate-transition-name'
  | 'unknown-initial-state'
  | 'unknown-transition-target'

/** The document as it was given, and all that is wrong with its shape. */
export function inspectDocument(json: unknown): {
  readonly document: WorkflowImport
  readonly faults: readonly DocumentFault[]
} {
  const document = wrapped(copyJson(json))
  const result = documentSchema.safeParse(document)
  const faults = result.error?.issues.map((issue) => faultOf(issue, document)) ?? []
  // Only a document without faults is what its type says; whoever asks looks at the faults first.
  return { document: document as WorkflowImport, faults }
}

/** Every fault at once, a line each. */
export function refuseFaults(faults: readonly DocumentFault[]): void {
  if (faults.length === 0) return
  const lines = faults.map((fault) => fault.message).join('\n')
  throw new SluiceError('invalid', `The workflow document is refused:\n${lines}`, { faults })
}

/** A workflow by itself, as it lies in a file, is a document of one. */
function wrapped(value: unknown): unknown {
  const isBare =
    typeof value === 'object' &&
    value !== null &&
    !('workflows' in value) &&
    ('states' in value || 'initialState' in value)
  return isBare ? { workflows: [value] } : value
}

function faultOf(issue: z.core.$ZodIssue, document: unknown): DocumentFault {
  const path = placeText(issue.path)
  const code = (issue.code === 'custom' && (issue.params?.fault as DocumentFaultCode)) || 'invalid-document'
  const found = valueText(valueAt(document, issue.path))
  return { code, path, message: `At ${path}: ${issue.message}; found ${found}.` }
}

function report(context: z.RefinementCtx, fault: DocumentFaultCode, path: PropertyKey[], message: string): void {
  context.addIssue({ code: 'custom', path, message, params: { fault } })
}

// Objects are loose: fields that are not known here are kept, for they may be known elsewhere.

const { statesMax, transitionsMax } = documentLimits

const name = z
  .string('expected a name')
  .min(1, 'expected a name of at least one character')
  .max(documentLimits.nameMax, `expected a name of at most ${documentLimits.nameMax} characters`)
const annotations = z.record(z.string(), z.unknown(), 'expected annotations as an object').nullish()
const flag = z.boolean('expected true or false').nullish()
const text = z.string('expected a text').nullish()
const whole = z.int('expected a whole number').nullish()

const functionFields = {
  attachEntity: flag,
  calculationNodesTags: text,
  responseTimeoutMs: whole,
  retryPolicy: text,
  context: text,
}

const operation = { operation: text, operatorType: text }

function requireOperation(criterion: { operation?: unknown; operatorType?: unknown }, context: z.RefinementCtx): void {
  if (criterion.operation || criterion.operatorType) return
  report(context, 'invalid-document', ['operation'], 'expected an operation such as EQUALS')
}

const criterion: z.ZodType = z.lazy(() =>
  z.discriminatedUnion(
    'type',
    [
      z
        .looseObject({ type: z.literal('simple'), jsonPath: z.string('expected a path such as $.grams'), ...operation })
        .superRefine(requireOperation),
      z.looseObject({
        type: z.literal('group'),
        operator: z.enum(['AND', 'OR', 'NOT'], 'expected AND, OR or NOT'),
        conditions: z.array(criterion, 'expected a list of criteria').min(1, 'expected at least one criterion'),
      }),
      z.looseObject({
        type: z.literal('function'),
        function: z.looseObject(
          { name, config: z.looseObject(functionFields).nullish(), criterion: criterion.nullish() },
          'expected a function with a name',
        ),
      }),
      z
        .looseObject({ type: z.literal('lifecycle'), field: z.string('expected a field such as state'), ...operation })
        .superRefine(requireOperation),
      z.looseObject({
        type: z.literal('array'),
        jsonPath: z.string('expected a path such as $.tags'),
        ...operation,
        value: z.array(z.unknown(), 'expected a list of values'),
      }),
    ],
    'expected a criterion of type simple, group, function, lifecycle or array',
  ),
)

const schedule = z
  .looseObject(
    {
      delayMs: z.int('expected a whole number of milliseconds').positive('expected a delay above 0').nullish(),
      function: z.looseObject({ ...functionFields, name, resultKind: text }).nullish(),
      timeoutMs: z.int('expected a whole number of milliseconds').nonnegative('expected 0 or more').nullish(),
    },
    'expected a schedule as an object',
  )
  .superRefine((value, context) => {
    const ways = [value.delayMs, value.function].filter((way) => way !== undefined && way !== null)
    if (ways.length === 1) return
    report(context, 'invalid-document', [], 'expected exactly one of delayMs and function')
  })

const processor = z.looseObject(
  {
    type: text,
    name,
    executionMode: z.enum(executionModes, `expected one of ${executionModes.join(', ')}`).nullish(),
    startNewTxOnDispatch: flag,
    config: z
      .looseObject(
        { ...functionFields, asyncResult: flag, crossoverToAsyncMs: whole },
        'expected a config as an object',
      )
      .nullish(),
    annotations,
  },
  'expected a processor as an object',
)

const transition = z
  .looseObject(
    {
      name,
      next: name,
      manual: flag,
      disabled: flag,
      criterion: criterion.nullish(),
      criterionAnnotations: annotations,
      processors: z.array(processor, 'expected a list of processors').nullish(),
      schedule: schedule.nullish(),
      annotations,
    },
    'expected a transition as an object',
  )
  .superRefine((value, context) => {
    if (!value.schedule || value.manual !== true) return
    report(context, 'invalid-document', ['manual'], 'expected no schedule on a manual transition')
  })

const state = z
  .looseObject(
    { transitions: z.array(transition, 'expected a list of transitions').nullish(), annotations },
    'expected a state as an object',
  )
  .superRefine((value, context) => {
    const seen = new Set<string>()
    for (const [index, { name }] of (value.transitions ?? []).entries()) {
      if (seen.has(name)) {
        const path = ['transitions', index, 'name']
        report(context, 'duplicate-transition-name', path, 'expected each transition name once in a state')
      }
      seen.add(name)
    }
  })

const workflow = z
  .looseObject(
    {
      version: z.string('expected the version of the schema, such as "1.3"').min(1, 'expected a version such as "1.3"'),
      name,
      desc: text,
      initialState: name,
      active: flag,
      criterion: criterion.nullish(),
      criterionAnnotations: annotations,
      annotations,
      states: z
        .record(name, state, 'expected states as an object')
        .refine((states) => Object.keys(states).length > 0, 'expected at least one state')
        .refine((states) => Object.keys(states).length <= statesMax, `expected at most ${statesMax} states`)
        .refine(
          (states) => Object.values(states).flatMap(({ transitions }) => transitions ?? []).length <= transitionsMax,
          `expected at most ${transitionsMax} transitions in all states together`,
        ),
    },
    'expected a workflow as an object',
  )
  .superRefine((value, context) => {
    const known = Object.keys(value.states)
    const expected = (what: string) => `expected ${what} to be one of ${valueText(known, 200)}`
    if (!Object.hasOwn(value.states, value.initialState)) {
      report(context, 'unknown-initial-state', ['initialState'], expected('the initial state'))
    }
    for (const [name, { transitions }] of Object.entries(value.states)) {
      for (const [index, transition] of (transitions ?? []).entries()) {
        if (Object.hasOwn(value.states, transition.next)) continue
        const path = ['states', name, 'transitions', index, 'next']
        report(context, 'unknown-transition-target', path, expected('the next state'))
      }
    }
  })

const documentSchema = z
  .looseObject(
    {
      importMode: z.enum(importModes, `expected one of ${importModes.join(', ')}`).nullish(),
      allowCycles: flag,
      workflows: z.array(workflow, 'expected a list of workflows'),
    },
    'expected an object with a list of workflows',
  )
  .superRefine((value, context) => {
    const seen = new Set<string>()
    for (const [index, { name }] of value.workflows.entries()) {
      if (seen.has(name)) {
        const path = ['workflows', index, 'name']
        report(context, 'duplicate-workflow-name', path, 'expected each workflow name once')
      }
      seen.add(name)
    }
  })
