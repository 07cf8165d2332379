import { defineMachine, type Machine } from '../machine.ts'
import { defaultPolicy, type Policy } from '../policy.ts'
import type { Cause } from '../transition.ts'
import {
  defined,
  type EdgeAnnotation,
  type MachineAnnotation,
  readEdgeAnnotation,
  readProcessorAnnotation,
  readStateAnnotation,
  reasonToDisable,
  textOf,
} from './annotation.ts'
import { transitionsOf, type Workflow, type WorkflowProcessor, type WorkflowTransition } from './document.ts'
import { type EdgeDraft, transitionsFrom } from './edge-draft.ts'
import { delayOf, responseTimeoutOf, retryPolicyOf } from './export-workflow.ts'
import type { ImportedCriteria } from './imported-criteria.ts'
import type { LintWarning } from './lint-warning.ts'
import { type JsonPlace, placeText } from './plain-json.ts'
import { SnakeNames } from './snake-name.ts'

/**
 * A workflow that Sluice wrote, as the machine that it was. What was edited in the document since then counts; what was added
 * to it is taken as a transition of its plain kind.
 */
export function ownMachine(
  workflow: Workflow,
  noted: MachineAnnotation,
  place: JsonPlace,
  criteria: ImportedCriteria,
): { readonly machine: Machine; readonly warnings: readonly LintWarning[] } {
  const warnings: LintWarning[] = []
  const edges = Object.entries(workflow.states).flatMap(([from, state]) =>
    transitionsOf(state).flatMap((transition, index) => {
      const at = [...place, 'states', from, 'transitions', index]
      const annotation = readEdgeAnnotation(transition.annotations, at)
      const draft = draftOf(from, transition, annotation, criteria, at)
      if (draft) return [{ draft, position: annotation?.position ?? Number.POSITIVE_INFINITY }]
      const message = `Workflow ${workflow.name}, transition ${transition.name} of state ${from}: it is disabled, so it is left out of the machine.`
      const where = { workflow: workflow.name, state: from, transition: transition.name }
      warnings.push({ code: 'transition-left-out', severity: 'warning', path: placeText(at), ...where, message })
      return []
    }),
  )
  const drafts = edges.toSorted((one, other) => order(one.position, other.position)).map(({ draft }) => draft)
  const names = new SnakeNames(
    drafts.map(({ name }) => name),
    'transition',
  )
  const all = Object.values(workflow.states)
    .flatMap(transitionsOf)
    .flatMap((transition) => transition.processors ?? [])
  const processors = all.filter((processor) => !isAssign(processor, place))
  const machine = defineMachine({
    name: workflow.name,
    version: noted.version,
    initial: noted.initial,
    settled: noted.settled,
    final: noted.final,
    states: Object.fromEntries(
      Object.entries(workflow.states).map(([name, state]) => {
        const annotation = readStateAnnotation(state.annotations, [...place, 'states', name])
        const title = textOf(state.annotations?.displayName)
        return [name, defined({ purpose: textOf(state.annotations?.description) ?? '', title, ...annotation })]
      }),
    ),
    transitions: transitionsFrom(drafts, (name) => names.fresh(name)),
    title: noted.title ?? [],
    labels: noted.labels ?? [],
    policies: policiesOf(noted.policies ?? {}, processors),
    purposes: { ...noted.purposes, ...purposesOf(all) },
    ...defined({ parent: noted.parent, watches: noted.watches, respawn: noted.respawn }),
  })
  return { machine: machine as Machine, warnings }
}

function order(one: number, other: number): number {
  return one === other ? 0 : one < other ? -1 : 1
}

/** Null: somebody disabled it. */
function draftOf(
  from: string,
  transition: WorkflowTransition,
  noted: EdgeAnnotation | null,
  criteria: ImportedCriteria,
  place: JsonPlace,
): EdgeDraft | null {
  const on = noted && fits(noted.on, transition) ? noted.on : causeOf(transition)
  const names = criteria.namesOf(transition.criterion, `${from}.${transition.name}`)
  const { when, ensure } = split(names, noted?.ensure ?? [])
  const afterMs = afterOf(on, transition, noted)
  const mayBeDisabled = noted !== null && reasonToDisable(on, when.length > 0, afterMs !== undefined) !== null
  if (transition.disabled === true && !mayBeDisabled) return null
  const { processors, assign = noted?.assign } = workOf(transition, place)
  return {
    name: transition.name,
    from,
    to: transition.next,
    on,
    when,
    ensure,
    ...(processors.length > 0 ? { processor: processors } : {}),
    ...defined({
      assign,
      inline: noted?.inline,
      action: noted?.action,
      afterMs,
      children: noted?.children,
      role: noted?.role,
      warning: noted?.warning,
      purpose: textOf(transition.annotations?.description),
    }),
  }
}

/** What runs before the transition is taken, and what is part of its commit. */
function workOf({ processors = [] }: WorkflowTransition, place: JsonPlace) {
  const names = (processors ?? []).filter((processor) => !isAssign(processor, place)).map(({ name }) => name)
  const assign = (processors ?? []).find((processor) => isAssign(processor, place))?.name
  return { processors: names, ...(assign === undefined ? {} : { assign }) }
}

function isAssign({ annotations }: WorkflowProcessor, place: JsonPlace): boolean {
  return readProcessorAnnotation(annotations, place)?.assign === true
}

/** The cause that a transition has by its plain fields. */
export function causeOf(transition: WorkflowTransition): 'action' | 'time' | 'done' {
  if (transition.manual === true) return 'action'
  return transition.schedule ? 'time' : 'done'
}

function fits(on: Cause, transition: WorkflowTransition): boolean {
  const plain = causeOf(transition)
  return plain === 'done' ? on !== 'action' : plain === on
}

/** What is judged after the processor stands last, if nobody has changed the list. */
function split(names: readonly string[], ensure: readonly string[]): Pick<Required<EdgeDraft>, 'when' | 'ensure'> {
  const at = names.length - ensure.length
  if (JSON.stringify(names.slice(Math.max(0, at))) === JSON.stringify(ensure))
    return { when: names.slice(0, at), ensure }
  return {
    when: names.filter((name) => !ensure.includes(name)),
    ensure: names.filter((name) => ensure.includes(name)),
  }
}

function afterOf(on: Cause, transition: WorkflowTransition, noted: EdgeAnnotation | null): number | undefined {
  const delayMs = transition.schedule?.delayMs ?? undefined
  const isSame = noted?.afterMs !== undefined && delayOf({ on, afterMs: noted.afterMs }) === delayMs
  return isSame ? noted?.afterMs : delayMs
}

function policiesOf(
  noted: Readonly<Record<string, Policy>>,
  processors: readonly WorkflowProcessor[],
): Readonly<Record<string, Policy>> {
  const policies = new Map(Object.entries(noted))
  const seen = new Set<string>()
  for (const { name, config } of processors) {
    if (seen.has(name)) continue
    seen.add(name)
    const policy = policies.get(name) ?? defaultPolicy
    const { responseTimeoutMs, retryPolicy } = config ?? {}
    const isTimeoutEdited =
      typeof responseTimeoutMs === 'number' &&
      responseTimeoutMs > 0 &&
      responseTimeoutMs !== responseTimeoutOf(policy.timeoutMs)
    const isRetryEdited = typeof retryPolicy === 'string' && retryPolicy !== retryPolicyOf(policy.attemptsMax)
    policies.set(name, {
      ...policy,
      ...(isTimeoutEdited ? { timeoutMs: responseTimeoutMs } : {}),
      ...(isRetryEdited ? { attemptsMax: retryPolicy === 'NONE' ? 1 : defaultPolicy.attemptsMax } : {}),
    })
  }
  return Object.fromEntries(policies)
}

/** What processors are for, where a document says it. */
export function purposesOf(processors: readonly WorkflowProcessor[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    processors.flatMap(({ name, annotations }) => {
      const purpose = textOf(annotations?.description)
      return purpose === undefined ? [] : [[name, purpose]]
    }),
  )
}
