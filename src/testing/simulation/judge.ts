import { byKind, type FactOf, type Invariant, invariants, type Kind } from './invariants.ts'
import type { Known } from './model.ts'

export type Complain = (invariant: string, message: string) => void

/** Holds every fact against the invariants that speak of its kind. */
export class Judge {
  readonly complain: Complain
  readonly #invariants: Readonly<Record<Kind, readonly Invariant[]>>

  /** `more` are those of a workload, beside the engine's. */
  constructor(complain: Complain, more: readonly Invariant[] = []) {
    this.complain = complain
    this.#invariants = byKind([...invariants, ...more])
  }

  /** `name` says whom the fact is about, if somebody must be told. */
  check<K extends Kind>(kind: K, fact: FactOf<K>, name: () => string): void {
    for (const invariant of this.#invariants[kind]) {
      const complaint = (invariant[kind] as (fact: FactOf<K>) => string | null)(fact)
      if (complaint !== null) this.complain(invariant.name, `${name()}: ${complaint}`)
    }
  }

  complainOf(invariant: string, known: Known, message: string): void {
    this.complain(invariant, `${nameOf(known)}: ${message}`)
  }
}

export function nameOf({ machine, id }: { readonly machine: { readonly name: string }; readonly id: number }): string {
  return `${machine.name} ${id}`
}
