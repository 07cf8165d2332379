import type { Control } from '../../../control.ts'
import type { EntityId } from '../../../entity.ts'
import type { Implementation } from '../../../implementation.ts'
import type { Machine } from '../../../machine.ts'
import type { WorkloadRules } from '../facts.ts'
import type { Invariant } from '../invariants.ts'
import type { Complain } from '../judge.ts'
import type { Known, Model } from '../model.ts'
import type { Random } from '../random.ts'
import type { Stage } from './stage.ts'

/** Something that somebody might submit. */
export interface Wish {
  readonly machine: string
  readonly data: unknown
  readonly state?: string
  readonly priority?: number
}

/** The machines that a simulation runs, those who use them, and what may be expected beside the engine's own promises. One for each run. */
export interface Workload {
  readonly name: string
  readonly machines: readonly Machine[]
  readonly rules: WorkloadRules
  /** Judged like the engine's own, after every change. */
  readonly invariants: readonly Invariant[]
  /** Of a submission, before each step: enough that there is always work, few enough that most of it ends. */
  readonly submitChance: number
  /** How much more people do here than the rates say. */
  readonly bustle: number
  /** For one life of one process. */
  implementations(stage: Stage): readonly Implementation[]
  drawWish(random: Random): Wish
  /** Hands a wish to whoever is up, with the key if it has one. */
  send(control: Control, wish: Wish, key: string | null): Promise<{ readonly id: EntityId }>
  /** Whom people would rather do something with, now and then; undefined: whoever comes. */
  favourite(model: Model, random: Random): Known | undefined
  /** What they would do with all that are like this one; undefined: nothing. */
  actionForAll(known: Known): string | undefined
  /** Everything has come to rest. */
  check(model: Model, complain: Complain): void
}

export interface WorkloadParts {
  readonly random: Random
  readonly complain: Complain
}

export type OpenWorkload = (parts: WorkloadParts) => Workload

/** As any program submits. */
export function submitWish(control: Control, wish: Wish, key: string | null): Promise<{ readonly id: EntityId }> {
  const { machine, data, ...options } = wish
  return control.submit(machine, data, { ...options, ...(key === null ? {} : { key }) })
}
