import { SluiceError } from 'sluice'
import type { Plan } from './job-data.ts'
import type { JobDefinition } from './job-definition.ts'
import type { ReducerDefinition, StepDefinition, StepSettings } from './step.ts'

/** The definitions that this process knows, by id and version. */
export class Definitions {
  readonly #byName = new Map<string, Known>()
  readonly #newest = new Map<string, JobDefinition>()

  constructor(definitions: readonly JobDefinition[]) {
    for (const definition of definitions) {
      const name = definition.id === undefined ? 'that was handed over' : nameOf(definition)
      // A definition that was begun and not ended has no list of them yet.
      if (!Array.isArray(definition.steps) || definition.steps.length === 0) {
        throw new SluiceError('invalid', `The job ${name} has no step; begin it with firstStep.`, { name })
      }
      if (this.#byName.has(name)) {
        throw new SluiceError('invalid', `The job ${name} is given twice; give each version once.`, { name })
      }
      this.#byName.set(name, new Known(definition))
      const newest = this.#newest.get(definition.id)
      if (!newest || newest.version < definition.version) this.#newest.set(definition.id, definition)
    }
  }

  get all(): readonly JobDefinition[] {
    return [...this.#byName.values()].map(({ definition }) => definition)
  }

  /** By `id@version`. */
  find(name: string): Known | null {
    return this.#byName.get(name) ?? null
  }

  get(id: string, version?: number): JobDefinition {
    const newest = this.#newest.get(id)
    if (!newest) {
      const known = [...this.#newest.keys()].sort().join(', ') || 'none'
      throw new SluiceError('not_found', `There is no job ${id}. Known: ${known}.`, { id })
    }
    if (version === undefined) return newest
    const found = this.#byName.get(nameOf({ id, version }))
    if (found) return found.definition
    const versions = this.all.filter((definition) => definition.id === id).map((definition) => definition.version)
    throw new SluiceError(
      'not_found',
      `There is no version ${version} of job ${id}. Known: ${versions.sort((one, other) => one - other).join(', ')}.`,
      {
        id,
        version,
      },
    )
  }

  /** Limits of steps on how many of their chunks run at once, by label. */
  get ceilings(): Readonly<Record<string, number>> {
    const limited = this.all.flatMap((definition) =>
      definition.steps.flatMap((step) => {
        const label = limitOf(definition, step)
        return label === null || step.concurrency === undefined ? [] : [[label, step.concurrency] as const]
      }),
    )
    return Object.fromEntries(limited)
  }
}

/** A definition with its steps by id: looked up for every chunk. */
export class Known {
  readonly definition: JobDefinition
  readonly name: string
  readonly #steps: ReadonlyMap<string, KnownStep>

  constructor(definition: JobDefinition) {
    this.definition = definition
    this.name = nameOf(definition)
    const targets = definition.steps.map((step, index) => targetOf(definition, step, index))
    const steps = definition.steps.map((step, index) => ({
      step,
      targets: targets.slice(index + 1),
      feedsReducer: false,
    }))
    if (definition.reduction) steps[steps.length - 1]!.feedsReducer = true
    this.#steps = new Map(steps.map((known) => [known.step.id, known]))
  }

  get reducer(): ReducerDefinition | null {
    return this.definition.reduction
  }

  step(id: string): KnownStep | null {
    return this.#steps.get(id) ?? null
  }
}

export interface KnownStep {
  readonly step: StepDefinition
  /** The steps after it, the next one first. */
  readonly targets: readonly Target[]
  readonly feedsReducer: boolean
}

/** A step as whoever gives out data for it sees it. */
export interface Target {
  readonly step: StepDefinition
  readonly state: 'ready' | 'gate_waiting' | 'poll_waiting'
  readonly limit: string | null
  /** What the step before it declares as its output. */
  readonly input: StepDefinition['output']
}

function targetOf(definition: JobDefinition, step: StepDefinition, index: number): Target {
  return {
    step,
    state: birthStateOf(step),
    limit: limitOf(definition, step),
    input: definition.steps[index - 1]?.output ?? null,
  }
}

/** A gate comes first: behind it a chunk of a polling step is looked at as soon as the gate is open. */
export function birthStateOf({
  gated,
  polling,
}: {
  readonly gated?: boolean
  readonly polling?: unknown
}): Target['state'] {
  return gated ? 'gate_waiting' : polling ? 'poll_waiting' : 'ready'
}

export function nameOf({ id, version }: { readonly id: string; readonly version: number }): string {
  return `${id}@${version}`
}

function limitOf(definition: { id: string; version: number }, { id, concurrency }: StepDefinition): string | null {
  return concurrency === undefined ? null : `${nameOf(definition)}/${id}`
}

export function firstAfterMs(polling: StepSettings['polling']): number {
  return typeof polling === 'object' ? (polling.firstAfterMs ?? 0) : 0
}

/** What a job of this definition keeps of it. */
export function planOf(definition: JobDefinition): Plan {
  return {
    steps: definition.steps.map((step) => ({
      id: step.id,
      gated: step.gated ?? false,
      pollAfterMs: step.polling ? firstAfterMs(step.polling) : null,
      limit: limitOf(definition, step),
      weight: step.weight ?? null,
    })),
    reducer: definition.reduction?.id ?? null,
    reducerWeight: definition.reduction?.weight ?? null,
    tolerance: definition.tolerance,
    tells: { completed: definition.onCompleted !== null, failed: definition.onFailed !== null },
  }
}
