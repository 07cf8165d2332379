import { z } from 'zod'
import { SluiceError } from '../errors.ts'
import { type StateOutcome, stateOutcomes } from '../state-outcome.ts'
import { type Cause, causes } from '../transition.ts'
import { type Annotations, documentLimits } from './document.ts'
import { type JsonPlace, placeText, valueAt, valueText } from './plain-json.ts'

/**
 * What the platforms' schema cannot say of a machine, under the key `sluice` of the annotations that they leave alone. Only
 * that: whatever the document says elsewhere is read there, so that an edit made elsewhere counts.
 */
const names = z.array(z.string())

const policy = z.strictObject({
  attemptsMax: z.number(),
  backoff: z.strictObject({ firstMs: z.number(), factor: z.number(), maxMs: z.number(), jitter: z.number() }),
  timeoutMs: z.number(),
  concurrency: z.number().nullable(),
  concurrencyPer: z.strictObject({ label: z.string(), max: z.number() }).nullable(),
  parallel: z.number(),
  role: z.string().nullable(),
})

export const annotationFormat = 1

const machineAnnotation = z.strictObject({
  format: z.literal(annotationFormat, `expected format ${annotationFormat}: another release of Sluice wrote it`),
  version: z.number(),
  initial: names,
  settled: names,
  final: names,
  title: names.optional(),
  labels: names.optional(),
  policies: z.record(z.string(), policy).optional(),
  /** Of criteria and assigns; a processor has its own in its annotations. */
  purposes: z.record(z.string(), z.string()).optional(),
  parent: z.string().optional(),
  watches: names.optional(),
  respawn: z.string().optional(),
})

const stateAnnotation = z.strictObject({
  retentionMs: z.number().optional(),
  holdable: z.boolean().optional(),
  outcome: z.enum(stateOutcomes).optional(),
})

const edgeAnnotation = z.strictObject({
  /** Position among all edges of the machine: siblings of different states stand together there. */
  position: z.number(),
  on: z.enum(causes),
  /** Of the criteria, the last ones: judged after the processor, not before. */
  ensure: names.optional(),
  assign: z.string().optional(),
  inline: z.boolean().optional(),
  action: z.string().optional(),
  /** Where `schedule` cannot say it. */
  afterMs: z.number().optional(),
  children: z.enum(['rest', 'stop', 'go']).optional(),
  role: z.enum(['submitter', 'operator', 'admin']).optional(),
  warning: z.string().optional(),
  /** Why it is disabled: for whoever reads the document elsewhere. */
  why: z.string().optional(),
})

const processorAnnotation = z.strictObject({
  /** It is the assign of its transition, and runs in the transition's own commit. */
  assign: z.literal(true),
})

export type ProcessorAnnotation = z.infer<typeof processorAnnotation>
export type MachineAnnotation = z.infer<typeof machineAnnotation>
export type StateAnnotation = z.infer<typeof stateAnnotation>
export type EdgeAnnotation = z.infer<typeof edgeAnnotation>

export const readMachineAnnotation = reader(machineAnnotation)
export const readStateAnnotation = reader(stateAnnotation)
export const readEdgeAnnotation = reader(edgeAnnotation)
export const readProcessorAnnotation = reader(processorAnnotation)

/** Null: whoever wrote these annotations was not Sluice. */
function reader<T>(schema: z.ZodType<T>) {
  return (annotations: Annotations | null | undefined, place: JsonPlace): T | null => {
    const written = annotations?.sluice
    if (written === undefined) return null
    const result = schema.safeParse(written)
    if (result.success) return result.data
    const lines = result.error.issues.map((issue) => {
      const path = placeText([...place, 'annotations', 'sluice', ...issue.path])
      return `At ${path}: ${issue.message}; found ${valueText(valueAt(written, issue.path))}.`
    })
    throw new SluiceError(
      'invalid',
      `What Sluice noted in the workflow document cannot be read:\n${lines.join('\n')}`,
      {
        path: placeText(place),
      },
    )
  }
}

/** Platforms refuse bigger ones: better here, with the place, than there. */
export function limited(annotations: Annotations, place: JsonPlace): Annotations {
  const bytes = annotationBytes(annotations)
  if (bytes <= documentLimits.annotationBytesMax) return annotations
  const path = placeText([...place, 'annotations'])
  const rule = `expected at most ${documentLimits.annotationBytesMax}; shorten the purposes or warnings there`
  throw new SluiceError('invalid', `The annotations at ${path} would take ${bytes} bytes, ${rule}.`, { path, bytes })
}

export function annotationBytes(annotations: Annotations): number {
  return Buffer.byteLength(JSON.stringify(annotations))
}

/** Also a document that Sluice did not write may say how an entity in a state is doing. */
export function outcomeIn(annotations: Annotations | null | undefined): StateOutcome | undefined {
  const noted = annotations?.sluice as { readonly outcome?: unknown } | null | undefined
  return stateOutcomes.find((outcome) => outcome === noted?.outcome)
}

/** Annotations may hold anything: only a text is a title or a purpose. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** Leaves out what is undefined: JSON has no word for it. */
export function defined<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>
  }
}

/**
 * Why a platform must not take an edge of this cause by itself; null: it may. It knows no leases, no outcomes and no
 * children: a transition without criterion would be taken the moment its state is entered.
 */
export function reasonToDisable(on: Cause, isGuarded: boolean, isTimed: boolean): string | null {
  switch (on) {
    case 'done':
    case 'action':
      return null
    case 'claim':
      // Where there are no workers to wait for, what was only waiting for one goes on at once.
      return null
    case 'time':
      return isTimed ? null : 'Its time is set by whoever leads to this state, so no delay can be given.'
    case 'children':
      return isGuarded ? null : 'Taken when no child is open; taken at once if it were enabled.'
    case 'gate':
      return 'Taken when the parent opens the gate; taken at once if it were enabled.'
    case 'fail':
      return 'Taken when the work has failed for good; taken at once if it were enabled.'
    case 'retry':
      return 'Taken when an attempt has failed; taken at once if it were enabled.'
    case 'poll':
      return 'Taken when the processor asks to be run again later; taken at once if it were enabled.'
    default:
      return on satisfies never
  }
}
