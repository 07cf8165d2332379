import { SluiceError } from 'sluice'
import type { z } from 'zod'
import { headFaults, reducerFaults, stepFaults, weightFaults } from './definition-fault.ts'
import type { JobDefinition, JobHead } from './job-definition.ts'
import type { FirstStep, LaterStep, Reducer, ReducerDefinition, StepDefinition } from './step.ts'

export interface JobBeginning<P, In> {
  /** The only step without input: it has the parameters. */
  firstStep<O = never>(step: FirstStep<P, O>): JobSteps<P, In, O>
}

/** A definition that can be used as it is, or go on: what its last step gives out is what the next one takes. */
export interface JobSteps<P, In, I> extends JobDefinition<P, In> {
  step<O = never, C extends number | undefined = undefined>(step: LaterStep<P, I, O, C>): JobSteps<P, In, O>
  /** Ends the definition: all that the last step gives out becomes one report. */
  reducer<A, R = A>(reducer: Reducer<P, I, A, R>): JobDefinition<P, In>
}

/** Begins the definition of a job. */
export function defineJob<S extends z.ZodType>(head: JobHead<S>): JobBeginning<z.output<S>, z.input<S>> {
  refuse(head?.id, headFaults(head))
  const definition: JobDefinition<z.output<S>, z.input<S>> = {
    id: head.id,
    version: head.version,
    description: head.description ?? '',
    parameters: head.parameters as unknown as z.ZodType<z.output<S>, z.input<S>>,
    steps: [],
    reduction: null,
    tolerance: head.tolerance ?? { failures: 0 },
    retention: head.retention ?? {},
    onCompleted: head.onCompleted ?? null,
    onFailed: head.onFailed ?? null,
  }
  return { firstStep: (step) => withStep(definition, step as unknown as StepDefinition) }
}

function withStep<P, In, O>(before: JobDefinition<P, In>, step: Partial<StepDefinition>): JobSteps<P, In, O> {
  refuse(before.id, stepFaults(before, step))
  const added = { ...step, chunkSize: step.chunkSize ?? null, output: step.output ?? null } as StepDefinition
  const definition = { ...before, steps: [...before.steps, added] }
  refuse(before.id, weightFaults(definition))
  return {
    ...definition,
    step: (next) => withStep(definition, next as unknown as StepDefinition),
    reducer: (reducer) => {
      refuse(before.id, reducerFaults(definition, reducer as unknown as ReducerDefinition))
      const whole = { ...definition, reduction: reducer as unknown as ReducerDefinition }
      refuse(before.id, weightFaults(whole))
      return whole
    },
  }
}

function refuse(id: unknown, faults: readonly string[]): void {
  if (faults.length === 0) return
  throw new SluiceError('invalid', `The job ${String(id)} is not sound: ${faults.join('; ')}.`, { id, faults })
}
