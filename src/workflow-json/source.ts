import type { Machine } from '../machine.ts'
import type { Workflow, WorkflowImport } from './document.ts'

/** Where an imported machine came from. The document is canonical: the machine is one reading of it. */
export interface Source {
  readonly document: WorkflowImport
  readonly workflow: Workflow
  /** All machines of that import, in the document's order. */
  readonly machines: readonly Machine[]
}

const sources = new WeakMap<Machine, Source>()

export function keepSource(machine: Machine, source: Source): void {
  sources.set(machine, source)
}

/** Undefined: this machine was declared here, or changed since. */
export function sourceOf(machine: Machine): Source | undefined {
  return sources.get(machine)
}
