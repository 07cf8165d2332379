import { SluiceError } from '../errors.ts'
import type { Machine, State } from '../machine.ts'
import { policyOf } from '../machine.ts'
import { type Edge, processorsOf } from '../transition.ts'
import {
  annotationFormat,
  defined,
  limited,
  type MachineAnnotation,
  type ProcessorAnnotation,
  reasonToDisable,
} from './annotation.ts'
import type {
  Annotations,
  ExecutionMode,
  FunctionCriterion,
  importModes,
  Workflow,
  WorkflowCriterion,
  WorkflowImport,
  WorkflowProcessor,
  WorkflowState,
  WorkflowTransition,
} from './document.ts'
import { copyJson, type JsonPlace } from './plain-json.ts'
import { inspectDocument, refuseFaults } from './read-document.ts'
import { sourceOf } from './source.ts'

export interface ExportOptions {
  /** What the platform does with workflows that it has already. Default MERGE. */
  readonly importMode?: (typeof importModes)[number]
  /** How the platform runs processors. Default SYNC, which every engine knows and applies the result of. */
  readonly executionMode?: ExecutionMode
  /** Which compute nodes serve processors whose policy names no role, and all criteria. */
  readonly calculationNodesTags?: string
}

/** The version of the platforms' schema that is written. */
const schemaVersion = '1.3'

/**
 * Machines as a document for entity-workflow platforms. A machine that was imported comes out as the document it was; others
 * as workflows whose `annotations.sluice` say what the schema cannot, so that importing them gives the same machines.
 */
export function exportWorkflow(machines: readonly Machine[], options: ExportOptions = {}): WorkflowImport {
  const [source] = machines.map(sourceOf)
  const isWholeImport =
    source !== undefined &&
    source.machines.length === machines.length &&
    machines.every((machine, index) => machine === source.machines[index])
  if (isWholeImport && options.importMode === undefined) return copyJson(source.document) as WorkflowImport
  const { importMode = 'MERGE' } = options
  const workflows = machines.map(
    (machine, index) =>
      sourceOf(machine)?.workflow ?? new MachineExport(machine, options, ['workflows', index]).workflow(),
  )
  const { document, faults } = inspectDocument({ importMode, workflows })
  refuseFaults(faults)
  return document
}

class MachineExport {
  readonly #machine: Machine
  readonly #options: ExportOptions
  readonly #place: JsonPlace

  constructor(machine: Machine, options: ExportOptions, place: JsonPlace) {
    this.#machine = machine
    this.#options = options
    this.#place = place
  }

  workflow(): Workflow {
    const { name, initial, states } = this.#machine
    const [initialState] = initial
    if (initialState === undefined) {
      throw new SluiceError('invalid', `Machine ${name} has no initial state; a workflow needs one.`, { machine: name })
    }
    return {
      version: schemaVersion,
      name,
      initialState,
      active: true,
      annotations: limited({ sluice: this.#annotation() }, this.#place),
      states: Object.fromEntries(
        Object.entries(states).map(([stateName, state]) => [stateName, this.#state(stateName, state)]),
      ),
    }
  }

  #annotation(): MachineAnnotation {
    const { version, initial, settled, final, title, labels, policies, parent, watches, respawn, edges } = this.#machine
    const processors = new Set(edges.flatMap(processorsOf))
    const purposes = Object.entries(this.#machine.purposes).filter(([name]) => !processors.has(name))
    return defined({
      format: annotationFormat,
      version,
      initial: [...initial],
      settled: [...settled],
      final: [...final],
      title: title.length > 0 ? [...title] : undefined,
      labels: labels.length > 0 ? [...labels] : undefined,
      policies: Object.keys(policies).length > 0 ? { ...policies } : undefined,
      purposes: purposes.length > 0 ? Object.fromEntries(purposes) : undefined,
      parent: parent ?? undefined,
      watches: watches.length > 0 ? [...watches] : undefined,
      respawn: respawn ?? undefined,
    }) as MachineAnnotation
  }

  #state(name: string, state: State): WorkflowState {
    const place = [...this.#place, 'states', name]
    const sluice = defined({
      retentionMs: state.retentionMs ?? undefined,
      holdable: state.holdable ? undefined : false,
      outcome: state.outcomeDeclared ? state.outcome : undefined,
    })
    const leaving = this.#machine.edges.flatMap((edge, position) => (edge.from === name ? [{ edge, position }] : []))
    return {
      transitions: leaving.map(({ edge, position }, index) =>
        this.#transition(edge, position, [...place, 'transitions', index]),
      ),
      annotations: limited(
        defined({
          displayName: state.title,
          description: state.purpose || undefined,
          sluice: Object.keys(sluice).length > 0 ? sluice : undefined,
        }),
        place,
      ),
    }
  }

  #transition(edge: Edge, position: number, place: JsonPlace): WorkflowTransition {
    const processors = [
      ...processorsOf(edge).map((name) => this.#processor(name, place)),
      ...(edge.assign === undefined ? [] : [this.#processor(edge.assign, place, { assign: true })]),
    ]
    const delayMs = delayOf(edge)
    const why = heldBack(edge)
    const criterion = this.#criterion([...edge.when, ...edge.ensure])
    const sluice = defined({
      position,
      on: edge.on,
      ensure: edge.ensure.length > 0 ? edge.ensure : undefined,
      assign: edge.assign,
      inline: edge.inline || undefined,
      action: edge.action === edge.name ? undefined : edge.action,
      afterMs: edge.afterMs === delayMs ? undefined : edge.afterMs,
      children: edge.children,
      role: edge.role === 'operator' ? undefined : edge.role,
      warning: edge.warning,
      why: why ?? undefined,
    })
    return defined({
      name: edge.name,
      next: edge.to,
      manual: edge.on === 'action',
      disabled: why !== null,
      criterion,
      criterionAnnotations: criterion && this.#criterionAnnotations(edge, place),
      processors: processors.length > 0 ? processors : undefined,
      schedule: delayMs === undefined ? undefined : { delayMs },
      annotations: limited(defined({ description: edge.purpose || undefined, sluice }), place),
    }) as WorkflowTransition
  }

  #criterion(names: readonly string[]): WorkflowCriterion | undefined {
    const conditions = names.map(
      (name): FunctionCriterion => ({
        type: 'function',
        function: { name, config: { attachEntity: true, calculationNodesTags: this.#tags(null) } },
      }),
    )
    const [first, ...others] = conditions
    return first && others.length > 0 ? { type: 'group', operator: 'AND', conditions } : first
  }

  /** A copy for readers; what is read back stands in the machine's own annotation. */
  #criterionAnnotations(edge: Edge, place: JsonPlace): Annotations | undefined {
    const lines = [...edge.when, ...edge.ensure].flatMap((name) => this.#machine.purposes[name] ?? [])
    return lines.length > 0 ? limited({ description: lines.join('\n') }, place) : undefined
  }

  /** Platforms know no assigns: one is a small processor to them, and a note says what it is here. */
  #processor(name: string, place: JsonPlace, sluice?: ProcessorAnnotation): WorkflowProcessor {
    const policy = policyOf(this.#machine, name)
    const purpose = Object.hasOwn(this.#machine.purposes, name) ? this.#machine.purposes[name] : undefined
    return defined({
      type: 'externalized',
      name,
      executionMode: this.#options.executionMode ?? 'SYNC',
      config: {
        attachEntity: true,
        calculationNodesTags: this.#tags(policy.role),
        responseTimeoutMs: responseTimeoutOf(policy.timeoutMs),
        retryPolicy: retryPolicyOf(policy.attemptsMax),
      },
      annotations:
        purpose === undefined && sluice === undefined
          ? undefined
          : limited(defined({ description: purpose, sluice }), place),
    }) as WorkflowProcessor
  }

  #tags(role: string | null): string {
    return role ?? this.#options.calculationNodesTags ?? 'sluice'
  }
}

/** Why the edge is exported disabled; null: it is not. */
export function heldBack(edge: Edge): string | null {
  return reasonToDisable(edge.on, edge.when.length > 0, edge.afterMs !== undefined)
}

/** Platforms know no timer of 0 ms and no part of one. */
export function delayOf(edge: Pick<Edge, 'on' | 'afterMs'>): number | undefined {
  if (edge.on !== 'time' || edge.afterMs === undefined) return undefined
  return Math.max(1, Math.round(edge.afterMs))
}

export function responseTimeoutOf(timeoutMs: number): number {
  return Math.max(1, Math.round(timeoutMs))
}

export function retryPolicyOf(attemptsMax: number): 'NONE' | 'FIXED' {
  return attemptsMax > 1 ? 'FIXED' : 'NONE'
}
