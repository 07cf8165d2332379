import { claimPlan, edgesFrom, isFinal, isSettled, type Machine } from './machine.ts'
import { edgeText, fault, listText, type MachineFault } from './machine-fault.ts'
import { type Cause, type Edge, processorsOf } from './transition.ts'

/** What is judged on a map whose states are all known: see checkMachine. */
export const wayChecks: readonly ((machine: Machine) => Iterable<MachineFault>)[] = [
  settledStates,
  reachable,
  waysOut,
  oneWait,
  doneProcessors,
  failEdges,
  totalSiblings,
  shadowedSiblings,
  freeCycles,
  claimsAndGates,
  outcomes,
  ensures,
  timers,
  childrenOrders,
  respawn,
]

// ---- Ways through the map ----

function* settledStates(machine: Machine): Iterable<MachineFault> {
  for (const edge of machine.edges) {
    const { from: state } = edge
    const isStaying = edge.to === state && (edge.on === 'action' || edge.on === 'fail')
    if (isFinal(machine, state)) {
      // What leads back to the same state (a message that is sent again) is no way out.
      if (isStaying) continue
      const rule = 'expected no way out of a final state; remove the edge, or take the state out of final'
      yield fault(machine, 'final_left', `${edgeText(edge)} leaves final state ${state}, ${rule}`, { edge })
    } else if (isSettled(machine, state) && edge.on !== 'action' && !isStaying) {
      const rule = 'expected settled states to be left by action only; make it an action or unsettle the state'
      yield fault(machine, 'settled_left', `${edgeText(edge)} leaves settled state ${state} on ${edge.on}, ${rule}`, {
        edge,
      })
    }
  }
}

function* reachable(machine: Machine): Iterable<MachineFault> {
  const reached = closure(machine.initial, (state) =>
    machine.edges.flatMap((edge) => (edge.from === state ? edge.to : [])),
  )
  for (const state of Object.keys(machine.states).filter((state) => !reached.has(state))) {
    const rule = `expected a way from ${listText(machine.initial)}; add a transition, make it initial or remove it`
    yield fault(machine, 'unreachable', `state ${state} cannot be reached, ${rule}`, { state })
  }
}

/** A settled state that nothing reopens is an end that may be opened by a later version: it needs no way out. */
function* waysOut(machine: Machine): Iterable<MachineFault> {
  const ending = closure(machine.settled, (state) =>
    machine.edges.flatMap((edge) => (edge.to === state ? edge.from : [])),
  )
  for (const state of Object.keys(machine.states).filter((state) => !ending.has(state))) {
    const rule = `expected a way from it to one of ${listText(machine.settled)}; add a transition or settle it`
    yield fault(machine, 'no_way_out', `an entity can never come out of state ${state}, ${rule}`, { state })
  }
}

/**
 * An entity waits for one thing, with one due time. Children and a timer go together: the parent is judged at either. So
 * do they with `done` edges that have a `when` and no processor: what remains when none holds is waited for.
 */
function* oneWait(machine: Machine): Iterable<MachineFault> {
  for (const state of Object.keys(machine.states)) {
    const done = edgesFrom(machine, state, 'done')
    const run = done.find((edge) => edge.processor !== undefined || edge.when.length === 0)
    const [claim, gate, children, time] = (['claim', 'gate', 'children', 'time'] as const).map(
      (cause) => edgesFrom(machine, state, cause)[0],
    )
    const waits = [run ?? (claim || gate ? done[0] : undefined), claim, gate, children ?? time]
    const [first, second] = waits.filter((edge) => edge !== undefined)
    if (!first || !second) continue
    const remedy =
      first.on === 'done' && second.on === 'time'
        ? 'limit the run by its policy, let the processor answer poll, or move the timer to a waiting state of its own'
        : `move ${second.name} to a state of its own`
    const both = `for ${edgeText(first)} on ${first.on} and for ${edgeText(second)} on ${second.on}`
    const rule = `expected one wait with one due time; ${remedy}`
    yield fault(machine, 'two_waits', `state ${state} waits both ${both}, ${rule}`, { edge: second })
  }
}

function* doneProcessors(machine: Machine): Iterable<MachineFault> {
  for (const state of Object.keys(machine.states)) {
    const [first, ...others] = edgesFrom(machine, state, 'done').filter((edge) => edge.processor !== undefined)
    const other = others.find((edge) => String(processorsOf(edge)) !== String(first && processorsOf(first)))
    if (!first || !other) continue
    const said = `${edgeText(first)} runs ${processorsOf(first).join(', ')} and ${edgeText(other)} ${processorsOf(other).join(', ')}`
    const rule = `expected all done edges of state ${state} that have a processor to share it, since a claim is made for one processor before any when is judged`
    const remedy = 'name the same processor on all of them, or split the state'
    yield fault(machine, 'mixed_processors', `${said}, ${rule}; ${remedy}`, { edge: other })
  }
}

/** In a settled state it leads back to the same state: the request failed, and the entity is what it was. */
function* failEdges(machine: Machine): Iterable<MachineFault> {
  for (const state of Object.keys(machine.states)) {
    const edge = running
      .flatMap((cause) => edgesFrom(machine, state, cause))
      .find((edge) => edge.processor !== undefined || (edge.on === 'done' && edge.ensure.length > 0))
    if (!edge || edgesFrom(machine, state, 'fail').length > 0) continue
    const target = isSettled(machine, state) ? `back to ${state}, since only an action leaves it` : 'to where it ends'
    const rule = `expected a way for work that fails for good; add a transition on fail from ${state} ${target}`
    const what = edge.processor === undefined ? `judges ${listText(edge.ensure)}` : `runs ${edge.processor}`
    yield fault(machine, 'no_fail', `${edgeText(edge)} ${what} in state ${state}, ${rule}`, { edge })
  }
}

/** Retry and poll need no last edge: without one that holds they keep the state. A refused action is an answer. */
function* totalSiblings(machine: Machine): Iterable<MachineFault> {
  const guarded = (edge: Edge): boolean => edge.when.length > 0
  for (const state of Object.keys(machine.states)) {
    const automatic = (['done', 'children', 'time'] as const).flatMap((cause) => edgesFrom(machine, state, cause))
    const failing = edgesFrom(machine, state, 'fail')
    const stuck = automatic.every(guarded) && edgesFrom(machine, state, 'action').length === 0 && automatic.at(-1)
    const lost = failing.every(guarded) && failing.at(-1)
    if (stuck) {
      const rule = 'expected a last edge without when, or a time or action edge; add one'
      const said = `an entity is stuck in state ${state} if no when holds up to ${edgeText(stuck)}`
      yield fault(machine, 'not_total', `${said}, ${rule}`, { edge: stuck })
    }
    if (lost) {
      const rule = 'expected a last fail edge without when, since failing cannot be refused; add one'
      yield fault(
        machine,
        'not_total',
        `work that fails in state ${state} is lost if ${edgeText(lost)} is refused, ${rule}`,
        { edge: lost },
      )
    }
  }
}

function* shadowedSiblings(machine: Machine): Iterable<MachineFault> {
  for (const [position, edge] of machine.edges.entries()) {
    const before = machine.edges.find(
      (other, otherPosition) =>
        other !== edge &&
        isSibling(other, edge) &&
        other.when.length === 0 &&
        isBefore(other, edge, otherPosition < position),
    )
    if (!before) continue
    const rule = 'expected the edge without when to come last; reorder them, or give it a when'
    yield fault(machine, 'shadowed', `${edgeText(edge)} is shadowed by ${edgeText(before)}, ${rule}`, { edge })
  }
}

function isSibling(one: Edge, other: Edge): boolean {
  return one.from === other.from && one.on === other.on && (one.on !== 'action' || one.action === other.action)
}

/** Of two timers the shorter one goes off first, in whatever order they are declared. */
function isBefore(one: Edge, other: Edge, declaredBefore: boolean): boolean {
  const [oneMs, otherMs] = [one.afterMs ?? 0, other.afterMs ?? 0]
  return one.on === 'time' && oneMs !== otherMs ? oneMs < otherMs : declaredBefore
}

/** Edges that the engine takes by itself and that change nothing would go round for ever, with a history row each time. */
function* freeCycles(machine: Machine): Iterable<MachineFault> {
  const automatic: readonly Cause[] = ['done', 'children', 'time', 'claim', 'gate']
  const isFree = (edge: Edge): boolean =>
    automatic.includes(edge.on) && edge.when.length === 0 && edge.processor === undefined && edge.assign === undefined
  const free = Map.groupBy(machine.edges.filter(isFree), (edge) => edge.from)
  const judged = new Set<string>()
  const path: Edge[] = []
  function* follow(state: string): Iterable<MachineFault> {
    const begin = path.findIndex((edge) => edge.from === state)
    if (begin >= 0) {
      const circle = path.slice(begin)
      const rule = 'expected a when, a processor or an assign on one of them; add it, or make one an action'
      const said = `entities in state ${state} would go round for ever by ${circle.map(edgeText).join(' and ')}`
      yield fault(machine, 'free_cycle', `${said}, ${rule}`, { state, edge: circle[0]! })
    }
    if (judged.has(state)) return
    judged.add(state)
    for (const edge of free.get(state) ?? []) {
      path.push(edge)
      yield* follow(edge.to)
      path.pop()
    }
  }
  for (const state of free.keys()) yield* follow(state)
}

// ---- Edges by their cause ----

function* claimsAndGates(machine: Machine): Iterable<MachineFault> {
  for (const edge of machine.edges.filter(({ on }) => on === 'claim' || on === 'gate')) {
    const where = { edge }
    const { processor, assign, children } = edge
    const parts = Object.entries({ processor, when: edge.when[0], ensure: edge.ensure[0], assign, children })
    const extra = parts.flatMap(([part, value]) => (value === undefined ? [] : part))
    if (extra.length > 0) {
      const rule = `expected a ${edge.on} to be one write by the store; move it to the edge that runs`
      yield fault(machine, 'not_bare', `${edgeText(edge)} has ${listText(extra)}, ${rule}`, where)
    }
    if (edge.on === 'gate' && machine.parent === null) {
      const rule = 'expected a parent whose move opens it; set parent to the machine that counts these entities'
      yield fault(machine, 'no_opener', `the gate ${edgeText(edge)} has no opener, ${rule}`, where)
    }
    if (edgesFrom(machine, edge.to, 'done').length === 0 && edgesFrom(machine, edge.to, 'claim').length === 0) {
      const rule = 'expected claims and gates to lead to a state with a done edge; add one, or change the cause'
      yield fault(
        machine,
        'claim_without_run',
        `${edgeText(edge)} leads to ${edge.to}, where nothing runs, ${rule}`,
        where,
      )
    }
  }
}

/** Processors run on these edges only. */
const running = ['done', 'children', 'time', 'action'] as const satisfies readonly Cause[]

function* outcomes(machine: Machine): Iterable<MachineFault> {
  for (const edge of machine.edges.filter(({ on }) => on === 'retry' || on === 'poll' || on === 'fail')) {
    const { from: state, on } = edge
    if (edge.processor !== undefined) {
      const rule = `expected processors on ${listText(running)} edges only; use an assign`
      yield fault(
        machine,
        'processor_on_outcome',
        `${edgeText(edge)} on ${on} has processor ${edge.processor}, ${rule}`,
        { edge },
      )
    }
    const runs = running.some((cause) =>
      edgesFrom(machine, state, cause).some((other) => other.processor !== undefined),
    )
    // A done edge without processor runs its assign under a lease: its attempts can be spent too.
    if (!runs && !(on === 'fail' && edgesFrom(machine, state, 'done').length > 0)) {
      const rule = `expected ${on} only where a processor runs; give state ${state} one, or remove the edge`
      yield fault(machine, 'outcome_without_processor', `${edgeText(edge)} is on ${on}, ${rule}`, { edge })
    }
    if (on !== 'fail' && claimPlan(machine, edge.to) === null) {
      const rule = `expected ${on} to lead to a state that runs again; point it there, or remove it to stay in ${state}`
      yield fault(
        machine,
        'outcome_without_run',
        `${edgeText(edge)} leads to ${edge.to}, where nothing runs, ${rule}`,
        { edge },
      )
    }
  }
}

function* ensures(machine: Machine): Iterable<MachineFault> {
  for (const edge of machine.edges) {
    if (edge.ensure.length === 0 || edge.processor !== undefined || ['done', 'claim', 'gate'].includes(edge.on))
      continue
    const rule =
      'expected ensure beside a processor or on a done edge, whose result it judges; use when, or name the processor'
    yield fault(machine, 'ensure_without_processor', `${edgeText(edge)} has ensure ${listText(edge.ensure)}, ${rule}`, {
      edge,
    })
  }
}

function* timers(machine: Machine): Iterable<MachineFault> {
  for (const edge of machine.edges) {
    const where = { edge }
    if (edge.afterMs !== undefined) {
      if (edge.on === 'time' && Number.isFinite(edge.afterMs) && edge.afterMs >= 0) continue
      const rule = 'expected afterMs on time edges only, finite and from 0 on; mend or remove it'
      yield fault(machine, 'bad_after', `${edgeText(edge)} on ${edge.on} has afterMs ${edge.afterMs}, ${rule}`, where)
    } else if (edge.on === 'time') {
      const entries = machine.edges.filter((other) => other.to === edge.from)
      const isTimed =
        entries.every(({ on }) => on === 'poll' || on === 'retry') && claimPlan(machine, edge.from) !== null
      if (isTimed) continue
      const rule = `expected afterMs, since not only poll, retry or birth set a due time in state ${edge.from}; set it`
      yield fault(machine, 'after_missing', `the timer ${edgeText(edge)} has no time, ${rule}`, where)
    }
  }
}

function* childrenOrders(machine: Machine): Iterable<MachineFault> {
  const orders = ['rest', 'stop', 'go']
  for (const edge of machine.edges) {
    if (edge.children === undefined || orders.includes(edge.children)) continue
    const rule = `expected one of ${listText(orders)}; mend or remove it`
    yield fault(machine, 'bad_children', `${edgeText(edge)} orders its children to ${edge.children}, ${rule}`, { edge })
  }
}

function* respawn(machine: Machine): Iterable<MachineFault> {
  if (machine.respawn === null) return
  const edges = machine.edges.filter((edge) => edge.name === machine.respawn)
  const isSound = (edge: Edge): boolean =>
    edge.on === 'action' &&
    isSettled(machine, edge.from) &&
    !isSettled(machine, edge.to) &&
    edge.processor === undefined
  const edge = edges.find((edge) => !isSound(edge))
  if (edges.length > 0 && !edge) return
  const said = edge ? `respawn names ${edgeText(edge)}` : `respawn names ${machine.respawn}, which is no transition`
  const rule = 'expected an action edge without processor from a settled state to an open one; name such an edge'
  yield fault(machine, 'bad_respawn', `${said}, ${rule}`, edge ? { edge } : {})
}

function closure(begin: readonly string[], next: (state: string) => readonly string[]): ReadonlySet<string> {
  const reached = new Set(begin)
  for (const state of reached) for (const other of next(state)) reached.add(other)
  return reached
}
