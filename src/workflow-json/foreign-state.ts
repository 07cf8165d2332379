import {
  enabledTransitions,
  isAutomatic,
  transitionsOf,
  type Workflow,
  type WorkflowState,
  type WorkflowTransition,
} from './document.ts'

/** One state of a foreign workflow, its transitions sorted by what enables them: only those that can ever be taken. */
export interface ForeignState {
  readonly name: string
  readonly state: WorkflowState
  readonly automatic: readonly WorkflowTransition[]
  readonly timers: readonly WorkflowTransition[]
  readonly manual: readonly WorkflowTransition[]
  /** Timers that something else always forestalls. */
  readonly forestalled: readonly WorkflowTransition[]
}

export function foreignState(name: string, state: WorkflowState): ForeignState {
  const enabled = enabledTransitions(state)
  const automatic = untilAlways(enabled.filter(isAutomatic))
  const isLeftAtOnce = automatic.some(({ criterion }) => !criterion)
  const scheduled = enabled.filter(hasDelay)
  // Timers are tried by their time, the earlier declared first among equals.
  const timers = isLeftAtOnce ? [] : untilAlways(scheduled.toSorted((one, other) => delayOf(one) - delayOf(other)))
  return {
    name,
    state,
    automatic,
    timers,
    // Nobody here can ask a schedule function for the time: somebody has to take such a transition.
    manual: enabled.filter((transition) => !isAutomatic(transition) && !hasDelay(transition)),
    forestalled: scheduled.filter((timer) => !timers.includes(timer)),
  }
}

/** What stands after a transition without criterion is never reached. */
function untilAlways(transitions: readonly WorkflowTransition[]): readonly WorkflowTransition[] {
  const at = transitions.findIndex(({ criterion }) => !criterion)
  return at < 0 ? transitions : transitions.slice(0, at + 1)
}

function hasDelay({ schedule }: WorkflowTransition): boolean {
  return typeof schedule?.delayMs === 'number'
}

export function delayOf({ schedule }: WorkflowTransition): number {
  return schedule?.delayMs ?? 0
}

/** Automatic transitions that run different processors, or run beside a timer, each need a state to run in. */
export function runsApart({ automatic, timers }: ForeignState): boolean {
  const lists = automatic.map(processorNames).filter((names) => names.length > 0)
  return new Set(lists.map((names) => JSON.stringify(names))).size > 1 || (lists.length > 0 && timers.length > 0)
}

export function processorNames(transition: WorkflowTransition): readonly string[] {
  return (transition.processors ?? []).map(({ name }) => name)
}

/** An entity may rest here, and its criteria are judged again when it is written. */
export function isJudgedAgain({ automatic, timers }: ForeignState): boolean {
  const judged = automatic.length > 0 ? automatic : timers
  return judged.length > 0 && judged.every(({ criterion }) => criterion)
}

/**
 * Where the platform says nothing about it: a state is settled if nothing leads out of it, or only actions that lead back to
 * where it was reached from (a retry, a reopening). A state that waits for a person to go on is open.
 */
export function settledStates(workflow: Workflow, states: readonly ForeignState[]): readonly string[] {
  const exits = new Map(
    states.map(({ name, automatic, timers, manual }) => [
      name,
      [...automatic, ...timers, ...manual].map(({ next }) => next),
    ]),
  )
  const leadsTo = (from: string, to: string): boolean => closure([from], (name) => exits.get(name) ?? []).has(to)
  return states
    .filter(({ name, automatic, timers, manual }) => {
      if (automatic.length > 0 || timers.length > 0) return false
      if (manual.length === 0) return true
      return name !== workflow.initialState && manual.every(({ next }) => leadsTo(next, name))
    })
    .map(({ name }) => name)
}

/** No transition at all, not even a disabled one. */
export function isTerminal({ state }: ForeignState): boolean {
  return transitionsOf(state).length === 0
}

export function closure(begin: readonly string[], next: (name: string) => readonly string[]): ReadonlySet<string> {
  const reached = new Set(begin)
  for (const name of reached) for (const other of next(name)) reached.add(other)
  return reached
}
