import { annotationBytes, outcomeIn } from './annotation.ts'
import { functionsOf } from './condition.ts'
import {
  type Annotations,
  documentLimits,
  enabledTransitions,
  isAutomatic,
  partsOf,
  transitionsOf,
  type Workflow,
  type WorkflowCriterion,
  type WorkflowImport,
  type WorkflowState,
  type WorkflowTransition,
} from './document.ts'
import { lintCriterion, type Note } from './lint-criteria.ts'
import type { LintCode, LintWarning } from './lint-warning.ts'
import { type JsonPlace, placeText } from './plain-json.ts'
import { inspectDocument } from './read-document.ts'

/** All that can be said of a document without running it. A document that cannot be read at all is refused. */
export function lintWorkflow(json: unknown): readonly LintWarning[] {
  const { document, faults } = inspectDocument(json)
  if (faults.length > 0) return faults.map((fault) => ({ ...fault, severity: 'error' }))
  return lintDocument(document)
}

export function lintDocument(document: WorkflowImport): readonly LintWarning[] {
  return document.workflows.flatMap((workflow, index) => new WorkflowLint(document, workflow, index).run())
}

const schemaVersions = ['1.1', '1.2', '1.3']
const fanOutMax = 8
const processorsMax = 5

class WorkflowLint {
  readonly #document: WorkflowImport
  readonly #workflow: Workflow
  readonly #place: JsonPlace
  readonly #found: LintWarning[] = []

  constructor(document: WorkflowImport, workflow: Workflow, index: number) {
    this.#document = document
    this.#workflow = workflow
    this.#place = ['workflows', index]
  }

  run(): readonly LintWarning[] {
    this.#whole()
    for (const [name, state] of Object.entries(this.#workflow.states)) {
      this.#state(name, state)
      for (const [index, transition] of transitionsOf(state).entries()) this.#transition(name, transition, index)
    }
    return this.#found
  }

  #note(
    code: LintCode,
    severity: LintWarning['severity'],
    place: JsonPlace,
    message: string,
    where: Pick<LintWarning, 'state' | 'transition'> = {},
  ): void {
    const { name } = this.#workflow
    const at = where.transition ? `transition ${where.transition} of state ${where.state}` : `state ${where.state}`
    const said = where.state === undefined ? `Workflow ${name}: ${message}.` : `Workflow ${name}, ${at}: ${message}.`
    const path = placeText([...this.#place, ...place])
    this.#found.push({ code, severity, path, workflow: name, ...where, message: said })
  }

  // ---- The workflow ----

  #whole(): void {
    const { version, active, criterion, states, initialState, annotations } = this.#workflow
    if (!schemaVersions.includes(version)) {
      const said = `the schema version ${version} is none of ${schemaVersions.join(', ')}`
      this.#note('schema-version-unknown', 'warning', ['version'], said)
    }
    if (active === false) this.#note('workflow-inactive', 'info', ['active'], 'it is not active')
    if (criterion) {
      const note: Note = (code, severity, place, message) => this.#note(code, severity, place, message)
      lintCriterion(criterion, ['criterion'], note)
    }
    this.#size(annotations, ['annotations'])
    const reached = reachable(this.#workflow, initialState)
    for (const state of Object.keys(states).filter((name) => !reached.has(name))) {
      this.#note('unreachable-state', 'warning', ['states', state], 'no way leads here from the initial state', {
        state,
      })
    }
    this.#cycles()
    this.#outcomes()
  }

  /** Where Sluice wrote the document it is a slip; platforms do not know outcomes. */
  #outcomes(): void {
    const { annotations, states, initialState } = this.#workflow
    const own = annotations?.sluice as { readonly settled?: unknown } | undefined
    const isSettled = (name: string, state: WorkflowState): boolean =>
      Array.isArray(own?.settled)
        ? own.settled.includes(name)
        : transitionsOf(state).length === 0 && name !== initialState
    const silent = Object.entries(states)
      .filter(([name, state]) => isSettled(name, state) && outcomeIn(state.annotations) === undefined)
      .map(([name]) => name)
    if (silent.length === 0) return
    const said = `no outcome is declared for ${silent.join(', ')}, so each counts as neutral, neither done nor failed`
    const remedy = `say "sluice": { "outcome": "success" } (or failure, attention, neutral) in the state's annotations`
    this.#note('undeclared-outcome', own === undefined ? 'info' : 'warning', ['states'], `${said}; ${remedy}`)
  }

  /** Platforms refuse them at import, unless they are told that they are meant. */
  #cycles(): void {
    const free = new Map(
      Object.entries(this.#workflow.states).map(([name, state]) => {
        const first = enabledTransitions(state)
          .filter(isAutomatic)
          .find(({ criterion }) => !criterion)
        return [name, first?.next] as const
      }),
    )
    const judged = new Set<string>()
    for (const begin of free.keys()) {
      const trail: string[] = []
      let state: string | undefined = begin
      while (state !== undefined && !judged.has(state)) {
        judged.add(state)
        trail.push(state)
        state = free.get(state)
      }
      const circle = state === undefined ? [] : trail.slice(trail.indexOf(state))
      if (state === undefined || !trail.includes(state)) continue
      const severity = this.#document.allowCycles === true ? 'warning' : 'error'
      const said = `automatic transitions without criterion go round for ever: ${[...circle, state].join(' → ')}`
      this.#note('unguarded-automatic-cycle', severity, ['states', state], said, { state })
    }
  }

  #size(
    annotations: Annotations | null | undefined,
    place: JsonPlace,
    where?: { state: string; transition?: string },
  ): void {
    const bytes = annotations ? annotationBytes(annotations) : 0
    if (bytes <= documentLimits.annotationBytesMax) return
    const said = `the annotations take ${bytes} bytes; platforms refuse more than ${documentLimits.annotationBytesMax}`
    this.#note('annotations-too-large', 'error', place, said, where)
  }

  // ---- States ----

  #state(name: string, state: WorkflowState): void {
    const where = { state: name }
    const place = ['states', name]
    const all = transitionsOf(state)
    const enabled = enabledTransitions(state)
    this.#size(state.annotations, [...place, 'annotations'], where)
    if (all.length === 0 && name !== this.#workflow.initialState) {
      this.#note('terminal-state-derived', 'info', place, 'it has no transitions, so it is terminal', where)
    }
    if (all.length > 0 && all.every(({ manual }) => manual === true)) {
      const said = `only a person leads on from here: ${namesOf(all)}`
      this.#note('all-transitions-manual', 'warning', place, said, where)
    }
    if (all.length > fanOutMax) {
      this.#note(
        'excessive-fan-out',
        'warning',
        place,
        `it has ${all.length} transitions (more than ${fanOutMax})`,
        where,
      )
    }
    const automatic = enabled.filter(isAutomatic)
    this.#order(name, state, automatic)
    this.#exhaustive(name, enabled, automatic)
  }

  #order(name: string, state: WorkflowState, automatic: readonly WorkflowTransition[]): void {
    const at = automatic.findIndex(({ criterion }) => !criterion)
    const always = automatic[at]
    const later = automatic.slice(at + 1)
    if (!always || later.length === 0) return
    const place = (transition: WorkflowTransition) => [
      'states',
      name,
      'transitions',
      transitionsOf(state).indexOf(transition),
    ]
    const said = `it has no criterion and is always taken, so ${namesOf(later)} can never be; put it last`
    this.#note('null-criterion-not-last', 'warning', place(always), said, { state: name, transition: always.name })
    for (const transition of later) {
      const where = { state: name, transition: transition.name }
      const said = `it is never taken, since ${always.name} before it has no criterion`
      this.#note('unreachable-automated-transition', 'warning', place(transition), said, where)
    }
  }

  /** When no criterion holds the entity stays, and a platform looks again only when the entity is written. */
  #exhaustive(name: string, enabled: readonly WorkflowTransition[], automatic: readonly WorkflowTransition[]): void {
    const where = { state: name }
    const place = ['states', name]
    if (automatic.length === 0 || isTotal(automatic)) return
    const timers = enabled.filter(({ schedule }) => schedule)
    if (timers.some(({ criterion }) => !criterion)) return
    const manual = enabled.filter((transition) => transition.manual === true)
    const isStuck = manual.length === 0 && timers.length === 0
    const rest = isStuck
      ? 'nothing else leads on'
      : `what remains is ${namesOf([...timers, ...manual])}, which a person or a timer must take`
    const remedy = 'add a last transition without criterion, or a timer'
    const said = `the criteria of ${namesOf(automatic)} can all be false, and then ${rest}; ${remedy}`
    this.#note('criteria-not-exhaustive', isStuck ? 'error' : 'warning', place, said, where)
    if (timers.length > 0) return
    const wake = `nothing looks again at the criteria of ${namesOf(automatic)} until the entity is written`
    this.#note('no-wake-up', 'warning', place, `${wake}; whatever they wait for must write it, or a timer must`, where)
  }

  // ---- Transitions ----

  #transition(state: string, transition: WorkflowTransition, index: number): void {
    const where = { state, transition: transition.name }
    const place = ['states', state, 'transitions', index]
    const note: Note = (code, severity, at, message) => this.#note(code, severity, at, message, where)
    const processors = transition.processors ?? []
    this.#size(transition.annotations, [...place, 'annotations'], where)
    this.#size(transition.criterionAnnotations, [...place, 'criterionAnnotations'], where)
    if (transition.criterion) lintCriterion(transition.criterion, [...place, 'criterion'], note)
    if (transition.disabled === true && this.#workflow.active !== false) {
      // Sluice says why, and means it.
      const isMeant = transition.annotations?.sluice !== undefined
      const said = 'it is disabled, and the workflow is active'
      note('disabled-transition-on-active-workflow', isMeant ? 'info' : 'warning', place, said)
    }
    if (processors.length > processorsMax) {
      note(
        'processor-overload',
        'warning',
        place,
        `it has ${processors.length} processors (more than ${processorsMax})`,
      )
    }
    const { criterion } = transition
    if (criterion && processors.length > 0 && transition.manual !== true && readsData(criterion)) {
      const names = processors.map((processor) => processor.name).join(', ')
      const asks = functionsOf(criterion).join(', ') || 'its criterion'
      const said = `${asks} is judged before ${names} runs: if it needs what the processor sets, it never holds; move it to a transition after`
      note('criterion-before-processor', 'warning', place, said)
    }
    this.#processors(transition, place, note, where)
  }

  #processors(
    transition: WorkflowTransition,
    place: JsonPlace,
    note: Note,
    where: { state: string; transition: string },
  ): void {
    for (const [index, processor] of (transition.processors ?? []).entries()) {
      const at = [...place, 'processors', index]
      const { name, executionMode, config } = processor
      this.#size(processor.annotations, [...at, 'annotations'], where)
      if (executionMode === 'SYNC' && transition.manual !== true) {
        const said = `${name} runs SYNC on an automatic transition: whoever writes the entity waits for it`
        note('sync-on-likely-bottleneck-transition', 'info', at, said)
      }
      if (executionMode === 'ASYNC_NEW_TX') {
        const said = `${name} runs ASYNC_NEW_TX: some engines discard what it returns, and go on when it fails`
        note('async-new-tx-result-discarded', 'warning', at, said)
      }
      if (config?.retryPolicy && !['NONE', 'FIXED'].includes(config.retryPolicy)) {
        const said = `the retry policy ${config.retryPolicy} of ${name} is neither NONE nor FIXED, and refused by some engines`
        note('unknown-retry-policy', 'warning', [...at, 'config', 'retryPolicy'], said)
      }
    }
  }
}

function namesOf(transitions: readonly WorkflowTransition[]): string {
  return transitions.map(({ name }) => name).join(', ')
}

/** One of them always holds: the last without criterion, or one that says NOT of what another says. */
function isTotal(automatic: readonly WorkflowTransition[]): boolean {
  const criteria = automatic.map(({ criterion }) => criterion)
  if (criteria.some((criterion) => !criterion)) return true
  const said = new Set(criteria.map((criterion) => JSON.stringify(criterion)))
  return criteria.some(
    (criterion) =>
      criterion?.type === 'group' &&
      criterion.operator === 'NOT' &&
      criterion.conditions.length === 1 &&
      said.has(JSON.stringify(criterion.conditions[0])),
  )
}

/** What only looks at the entity's own bookkeeping cannot wait for a processor. */
function readsData(criterion: WorkflowCriterion): boolean {
  if (criterion.type === 'lifecycle') return false
  return criterion.type !== 'group' || partsOf(criterion).some(readsData)
}

/** Also by disabled transitions: they may be enabled again. */
function reachable({ states }: Workflow, initialState: string): ReadonlySet<string> {
  const reached = new Set([initialState])
  for (const name of reached) for (const { next } of transitionsOf(states[name] ?? {})) reached.add(next)
  return reached
}
