import type { Entity } from '../entity.ts'
import { claimPlan, type Machine } from '../machine.ts'
import type { Decision } from '../path.ts'
import { outcomeOf } from '../state-outcome.ts'
import type { Services } from './services.ts'

type Telling = Pick<Services, 'log' | 'report'>

/** Counts a move that was saved, and logs what people want to know of it: what its assigns had to say, retries, failures and settled roots. */
export function tell({ log, report }: Telling, machine: Machine, entity: Entity, decision: Decision): void {
  for (const { message, level = 'info', fields = {} } of decision.change.log) {
    log[level]({ entity: entity.id, machine: entity.machine, ...fields }, message)
  }
  const isSettled = decision.settled && decision.hops.length > 0
  report.moved(machine, isSettled ? decision.state : null)
  if (decision.cause === 'retry') {
    const at = decision.wait.for === 'run' ? new Date(decision.wait.at).toISOString() : null
    const fields = { ...runFields(machine, entity, decision), error: decision.error, at }
    report.write('info', `retry ${entity.machine}`, fields, 'a run ended in an error and is tried again')
  }
  if (isSettled) tellSettled(report, machine, entity, decision)
}

/** Whose run it was: the processor of the state that the last hop left. What moved without a run names none. */
function runFields(machine: Machine, entity: Entity, { hops }: Decision): Readonly<Record<string, unknown>> {
  const { id, machine: name, attempts, request } = entity
  const state = hops.at(-1)?.from ?? entity.state
  const asked = request ? machine.edges.find(({ from, name }) => from === entity.state && name === request.edge) : null
  const processor = (asked ?? claimPlan(machine, state))?.processor
  return { entity: id, machine: name, ...(processor === undefined ? {} : { processor }), attempt: attempts }
}

/** Of children only those that failed: a batch of a million would otherwise write a million lines. */
function tellSettled(report: Telling['report'], machine: Machine, entity: Entity, decision: Decision): void {
  const isRoot = entity.parent === null
  const outcome = outcomeOf(machine, decision.state)
  if (!isRoot && outcome !== 'failure') return
  const isBad = outcome === 'failure' || outcome === 'attention'
  const { state, reason, error } = decision
  const fields = {
    ...{ ...runFields(machine, entity, decision), state, outcome },
    ...(typeof reason === 'string' ? { reason } : {}),
    ...(typeof error === 'string' && error !== reason ? { error } : {}),
  }
  // A failed child is its parent's to report; a root is somebody's batch.
  const level = isRoot && isBad ? 'warn' : 'info'
  report.write(level, `settled ${entity.machine} ${state}`, fields, isRoot ? `settled as ${state}` : 'failed')
}
