import { SluiceError } from '../errors.ts'
import { defineMachine, type Machine, type StateDeclaration } from '../machine.ts'
import { defaultPolicy, type Policy } from '../policy.ts'
import { defined, outcomeIn, textOf } from './annotation.ts'
import { transitionsOf, type Workflow, type WorkflowProcessor, type WorkflowTransition } from './document.ts'
import { type EdgeDraft, transitionsFrom } from './edge-draft.ts'
import {
  closure,
  delayOf,
  type ForeignState,
  foreignState,
  isJudgedAgain,
  isTerminal,
  processorNames,
  runsApart,
  settledStates,
} from './foreign-state.ts'
import type { ImportedCriteria } from './imported-criteria.ts'
import type { LintCode, LintWarning } from './lint-warning.ts'
import { purposesOf } from './own-machine.ts'
import { type JsonPlace, placeText } from './plain-json.ts'
import { SnakeNames } from './snake-name.ts'

/** The assign of the added `update` edges. */
export const replaceData = 'replaceData'

/** What an added state or edge says of itself. */
const addedText = 'Added on import:'

export interface ForeignOptions {
  readonly name: string
  readonly version: number
  /** As the document calls them. Undefined: by the rule of settledStates. */
  readonly settled: readonly string[] | undefined
}

/**
 * A workflow that somebody else wrote, as a machine. It is read by the platforms' rules: criteria before processors, siblings
 * in order, one transition at a time. What Sluice asks for besides is added, and every addition is told.
 */
export class ForeignMachine {
  readonly #workflow: Workflow
  readonly #place: JsonPlace
  readonly #options: ForeignOptions
  readonly criteria: ImportedCriteria
  readonly #read: readonly ForeignState[]
  readonly #stateNames: SnakeNames
  readonly #edgeNames: SnakeNames
  readonly #states = new Map<string, StateDeclaration>()
  readonly #settled = new Set<string>()
  readonly #final = new Set<string>()
  readonly #drafts: EdgeDraft[] = []
  /** Of added states: the state of the document that they are part of. */
  readonly #parts = new Map<string, string>()
  /** Of criteria. */
  readonly #purposes = new Map<string, string>()
  readonly warnings: LintWarning[] = []
  #failure: string | null = null

  constructor(
    workflow: Workflow,
    place: JsonPlace,
    options: ForeignOptions,
    criteria: (machine: ForeignMachine) => ImportedCriteria,
  ) {
    this.#workflow = workflow
    this.#place = place
    this.#options = options
    this.#read = Object.entries(workflow.states).map(([name, state]) => foreignState(name, state))
    this.#stateNames = new SnakeNames(Object.keys(workflow.states), 'state')
    this.#edgeNames = new SnakeNames(
      this.#read.flatMap(({ state }) => transitionsOf(state).map(({ name }) => name)),
      'transition',
    )
    for (const { name } of this.#read) this.#parts.set(this.#stateNames.of(name), name)
    this.criteria = criteria(this)
  }

  /** The state as the document calls it. */
  stateName(state: string): string {
    return this.#parts.get(state) ?? state
  }

  machine(): Machine {
    this.#settle()
    for (const state of this.#read) this.#state(state)
    for (const state of this.#read) this.#edges(state)
    this.#failEdges()
    this.#waysOut()
    this.#leaveOut()
    const { name, version } = this.#options
    const known = (state: string): boolean => this.#states.has(state)
    const machine = defineMachine({
      name,
      version,
      initial: [this.#stateNames.of(this.#workflow.initialState)],
      settled: [...this.#settled].filter(known),
      final: [...this.#final].filter(known),
      states: Object.fromEntries(this.#states),
      transitions: transitionsFrom(this.#drafts, (name) => this.#edgeNames.fresh(name)),
      ...this.#aboutProcessors(),
    })
    return machine as Machine
  }

  // ---- States ----

  #settle(): void {
    const { settled: given } = this.#options
    for (const name of given ?? []) {
      const state = this.#read.find((state) => state.name === name)
      if (state && state.automatic.length === 0 && state.timers.length === 0) continue
      const rule = state ? 'it is left by itself; only what an action leaves can be settled' : 'it has no such state'
      throw new SluiceError('invalid', `Workflow ${this.#workflow.name} cannot settle ${name}: ${rule}.`, {
        state: name,
      })
    }
    for (const name of given ?? settledStates(this.#workflow, this.#read)) this.#settled.add(this.#stateNames.of(name))
    for (const state of this.#read.filter(isTerminal)) {
      const name = this.#stateNames.of(state.name)
      this.#settled.add(name)
      this.#final.add(name)
    }
  }

  #state({ name, state, forestalled }: ForeignState): void {
    const title = textOf(state.annotations?.displayName) ?? name
    const purpose = textOf(state.annotations?.description) ?? ''
    const declared = defined({ title, purpose, outcome: outcomeIn(state.annotations) })
    this.#states.set(this.#stateNames.of(name), declared as StateDeclaration)
    for (const transition of forestalled) {
      const said = 'it is never taken, since another one always comes first; it is left out of the machine'
      this.#warn('transition-left-out', 'warning', said, name, transition)
    }
  }

  // ---- Edges ----

  #edges(state: ForeignState): void {
    const from = this.#stateNames.of(state.name)
    const apart = runsApart(state)
    for (const transition of state.automatic) {
      const processors = processorNames(transition)
      if (processors.length > 0 && apart) this.#runApart(state, transition)
      else this.#draft(state, transition, { on: 'done', inline: processors.length === 0 })
    }
    for (const transition of state.timers) {
      this.#draft(state, transition, { on: 'time', afterMs: delayOf(transition) })
      if (typeof transition.schedule?.timeoutMs !== 'number') continue
      const said = `timeoutMs ${transition.schedule.timeoutMs} is not kept: a timer that is late goes off all the same`
      this.#warn('schedule-timeout-ignored', 'warning', said, state.name, transition)
    }
    for (const transition of state.manual) {
      this.#draft(state, transition, { on: 'action' })
      if (!transition.schedule) continue
      const said = `the time of ${transition.schedule.function?.name} is not asked for; it is an action instead`
      this.#warn('schedule-function-unsupported', 'warning', said, state.name, transition)
    }
    if (isJudgedAgain(state) && !this.#settled.has(from)) this.#update(state, from)
  }

  #draft(
    state: ForeignState,
    transition: WorkflowTransition,
    kind: Pick<EdgeDraft, 'on' | 'inline' | 'afterMs'>,
  ): void {
    const processors = processorNames(transition)
    this.#drafts.push({
      name: this.#edgeNames.of(transition.name),
      from: this.#stateNames.of(state.name),
      to: this.#stateNames.of(transition.next),
      ...kind,
      ...(processors.length > 0 ? { processor: processors } : {}),
      when: this.#when(state, transition),
      purpose: textOf(transition.annotations?.description) ?? '',
    })
  }

  #when(state: ForeignState, transition: WorkflowTransition): readonly string[] {
    const label = `${this.#stateNames.of(state.name)}.${this.#edgeNames.of(transition.name)}`
    const names = this.criteria.namesOf(transition.criterion, label)
    const purpose = textOf(transition.criterionAnnotations?.description)
    if (names.length === 1 && purpose !== undefined) this.#purposes.set(names[0]!, purpose)
    for (const name of names) {
      const why = this.criteria.unsupported.get(name)
      if (why === undefined) continue
      this.#warn(
        'criterion-to-bind',
        'warning',
        `bind the criterion ${name} yourself, for ${why}`,
        state.name,
        transition,
      )
    }
    return names
  }

  /** A worker claims for one processor: where siblings have several, the choice is one hop and the run another. */
  #runApart(state: ForeignState, transition: WorkflowTransition): void {
    const name = this.#edgeNames.of(transition.name)
    const running = this.#stateNames.fresh(`${name}_running`)
    const said = `${addedText} ${transition.name} has been chosen in ${state.name}, and its processors run.`
    this.#states.set(running, { title: `${state.name} (${transition.name})`, purpose: said })
    this.#parts.set(running, state.name)
    this.#drafts.push(
      {
        name: this.#edgeNames.fresh(`choose_${name}`),
        from: this.#stateNames.of(state.name),
        to: running,
        on: 'done',
        inline: true,
        when: this.#when(state, transition),
        purpose: said,
      },
      {
        name,
        from: running,
        to: this.#stateNames.of(transition.next),
        on: 'done',
        inline: false,
        processor: processorNames(transition),
        when: [],
        purpose: textOf(transition.annotations?.description) ?? '',
      },
    )
    this.#warn('state-added', 'info', `its processors run in the added state ${running}`, state.name, transition)
  }

  #update(state: ForeignState, from: string): void {
    const purpose = `${addedText} writes the data, and judges the criteria again.`
    this.#drafts.push({ name: this.#updateName(), from, to: from, on: 'action', assign: replaceData, purpose })
    const said = 'the action update is added, since a platform judges the criteria again whenever the entity is written'
    this.#warn('transition-added', 'info', said, state.name)
  }

  #updateName = once(() => this.#edgeNames.fresh('update'))
  #failName = once(() => this.#edgeNames.fresh('fail'))
  #giveUpName = once(() => this.#edgeNames.fresh('give_up'))

  // ---- What Sluice asks for besides ----

  /**
   * Where work fails for good. On the platforms the entity stays where it was. So it does here if a person asked for the work;
   * what runs by itself would run again at once, and goes to a failure state instead.
   */
  #failEdges(): void {
    const working = Map.groupBy(
      this.#drafts.filter(({ processor }) => processor !== undefined),
      ({ from }) => from,
    )
    for (const [from, edges] of working) {
      const staying = this.#settled.has(from) || edges.every(({ on }) => on === 'action')
      if (staying) {
        const purpose = `${addedText} what was asked for failed, and nothing has changed.`
        this.#drafts.push({ name: this.#edgeNames.fresh(`fail_in_${from}`), from, to: from, on: 'fail', purpose })
        continue
      }
      const purpose = `${addedText} the work failed for good.`
      this.#drafts.push({ name: this.#failName(), from, to: this.#failureState(), on: 'fail', purpose })
      this.#retry(from)
      const said = `work that fails here for good leads to ${this.#failureState()}`
      this.#warn('transition-added', 'info', said, this.stateName(from))
    }
  }

  /** The document's own, if it has one that is settled. */
  #failureState(): string {
    if (this.#failure !== null) return this.#failure
    const own = failureNames.find((name) => this.#settled.has(name))
    if (own !== undefined) {
      this.#failure = own
      return own
    }
    const added = this.#stateNames.fresh('failed')
    this.#failure = added
    const purpose = `${addedText} the work failed for good, or was given up.`
    this.#states.set(added, { purpose, outcome: 'failure' })
    this.#settled.add(added)
    this.#warn('state-added', 'info', `the state ${added} is added for work that fails for good`)
    return added
  }

  /** An added failure state would be a dead end: on the platforms the entity can be tried again where it was. */
  #retry(to: string): void {
    const from = this.#failureState()
    if (this.#parts.has(from)) return
    const purpose = `${addedText} back to where it failed.`
    this.#drafts.push({ name: this.#edgeNames.fresh(`retry_${to}`), from, to, on: 'action', purpose })
  }

  /** States from which no settled one can be reached: somebody must be able to end what goes round for ever. */
  #waysOut(): void {
    for (;;) {
      const entering = Map.groupBy(this.#drafts, ({ to }) => to)
      const ending = closure([...this.#settled], (state) => (entering.get(state) ?? []).map(({ from }) => from))
      const stuck = [...this.#reached()].filter((state) => !ending.has(state))
      if (stuck.length === 0) return
      const purpose = `${addedText} nothing else leads to an end from here.`
      for (const from of stuck) {
        this.#drafts.push({ name: this.#giveUpName(), from, to: this.#failureState(), on: 'action', purpose })
        const said = 'the action give_up is added, since nothing else leads to an end from here'
        this.#warn('transition-added', 'info', said, this.stateName(from))
      }
    }
  }

  #reached(): ReadonlySet<string> {
    const initial = this.#stateNames.of(this.#workflow.initialState)
    const leaving = Map.groupBy(this.#drafts, ({ from }) => from)
    return closure([initial], (state) => (leaving.get(state) ?? []).map(({ to }) => to))
  }

  #leaveOut(): void {
    const reached = this.#reached()
    for (const state of [...this.#states.keys()].filter((state) => !reached.has(state))) {
      this.#states.delete(state)
      const said = 'no way leads here, so it is left out of the machine'
      this.#warn('state-left-out', 'warning', said, this.stateName(state))
    }
    const kept = this.#drafts.filter(({ from }) => reached.has(from))
    this.#drafts.splice(0, this.#drafts.length, ...kept)
  }

  // ---- Processors ----

  #aboutProcessors(): {
    readonly policies: Record<string, Partial<Policy>>
    readonly purposes: Record<string, string>
  } {
    const running = new Set(this.#drafts.flatMap(({ processor }) => processor ?? []))
    const policies = new Map<string, Partial<Policy>>()
    const all: WorkflowProcessor[] = []
    for (const {
      name: state,
      state: { transitions },
    } of this.#read) {
      for (const transition of transitions ?? []) {
        for (const processor of (transition.processors ?? []).filter(({ name }) => running.has(name))) {
          all.push(processor)
          const policy = policyOf(processor)
          const known = policies.get(processor.name)
          if (!known) policies.set(processor.name, policy)
          else if (JSON.stringify(known) !== JSON.stringify(policy)) {
            const said = `the config of ${processor.name} differs from where it stands first, which counts`
            this.#warn('policy-conflict', 'warning', said, state, transition)
          }
          if (!processor.config?.context) continue
          const said = `the context of ${processor.name} is not handed to it; it stands in the document`
          this.#warn('context-not-passed', 'warning', said, state, transition)
        }
      }
    }
    const judged = new Set(this.#drafts.flatMap(({ when }) => when ?? []))
    const purposes = [...this.#purposes].filter(([name]) => judged.has(name))
    return {
      policies: Object.fromEntries(policies),
      purposes: { ...Object.fromEntries(purposes), ...purposesOf(all) },
    }
  }

  #warn(
    code: LintCode,
    severity: LintWarning['severity'],
    said: string,
    state?: string,
    transition?: WorkflowTransition,
  ): void {
    const { name: workflow, states } = this.#workflow
    const where = defined({ state, transition: transition?.name })
    const place = state !== undefined && states[state] ? ['states', state] : []
    const index = transition ? transitionsOf(states[state ?? ''] ?? {}).indexOf(transition) : -1
    const path = placeText([...this.#place, ...place, ...(index >= 0 ? ['transitions', index] : [])])
    const at = transition
      ? `, transition ${transition.name} of state ${state}`
      : state === undefined
        ? ''
        : `, state ${state}`
    this.warnings.push({ code, severity, path, workflow, ...where, message: `Workflow ${workflow}${at}: ${said}.` })
  }
}

const failureNames = ['failed', 'failure', 'error', 'errored']

/** A name is made when it is first needed, and stays. */
function once(make: () => string): () => string {
  let made: string | null = null
  return () => {
    made ??= make()
    return made
  }
}

/** FIXED is three more attempts, half a second apart; what else there is has growing pauses. */
function policyOf({ config }: WorkflowProcessor): Partial<Policy> {
  const { responseTimeoutMs, retryPolicy } = config ?? {}
  return {
    ...(typeof responseTimeoutMs === 'number' && responseTimeoutMs > 0 ? { timeoutMs: responseTimeoutMs } : {}),
    ...(retryPolicy === 'NONE' ? { attemptsMax: 1 } : {}),
    ...(retryPolicy === 'FIXED'
      ? { attemptsMax: defaultPolicy.attemptsMax, backoff: { firstMs: 500, factor: 1, maxMs: 500, jitter: 0 } }
      : {}),
  }
}
