import type { ListFilter } from '../control.ts'
import type { EntityId } from '../entity.ts'
import { SluiceError } from '../errors.ts'
import type { Lane } from '../lane.ts'
import type { Limits } from '../limits.ts'
import type { Machine } from '../machine.ts'
import { outcomeOf, type StateOutcome, stateOutcomes } from '../state-outcome.ts'
import type { Filter } from '../store.ts'
import type { Registry } from './registry.ts'
import type { Services } from './services.ts'

/** The filter with its limit. A misspelt state would silently match nothing: it is refused with the names that there are. */
export function checkFilter(registry: Registry, filter: ListFilter, limits: Limits): Filter {
  const limit = checkLimit(filter.limit, limits)
  checkNames(registry, filter)
  for (const field of ['after', 'upTo'] as const) {
    const id = filter[field]
    if (id !== undefined) checkId(id, field)
  }
  const { outcomes, ...rest } = filter
  return { ...rest, limit, ...(outcomes === undefined ? {} : statesOfOutcomes(registry, filter, outcomes)) }
}

/** The states that the known machines declare so. The union of their names is what a store looks up first. */
function statesOfOutcomes(
  registry: Registry,
  { machine: name, version, states: given }: ListFilter,
  outcomes: readonly StateOutcome[],
): Pick<Filter, 'states' | 'anyOf'> {
  const wrong = outcomes.find((outcome) => !stateOutcomes.includes(outcome))
  if (wrong !== undefined) {
    const known = stateOutcomes.join(', ')
    throw new SluiceError('invalid', `There is no outcome ${wrong}. There are: ${known}.`, { outcome: wrong })
  }
  const anyOf = registry.machines
    .filter((machine) => (name ?? machine.name) === machine.name && (version ?? machine.version) === machine.version)
    .map((machine) => ({
      machine: machine.name,
      version: machine.version,
      states: Object.keys(machine.states).filter((state) => outcomes.includes(outcomeOf(machine, state))),
    }))
    .filter(({ states }) => states.length > 0)
  const states = new Set(anyOf.flatMap(({ states }) => states))
  return { anyOf, states: given === undefined ? [...states] : given.filter((state) => states.has(state)) }
}

export function checkLimit(limit: number | undefined, { pageMax }: Limits): number {
  if (limit === undefined) return pageMax
  if (Number.isInteger(limit) && limit >= 1 && limit <= pageMax) return limit
  throw new SluiceError(
    'invalid',
    `A page has 1 to ${pageMax} rows; ${limit} were asked for. Go on from next for more.`,
    { limit, pageMax },
  )
}

export function checkId(id: EntityId, what = 'id'): EntityId {
  if (Number.isSafeInteger(id) && id >= 0) return id
  throw new SluiceError('invalid', `${what} must be the whole number of an entity; it was ${id}.`, { [what]: id })
}

/** Names of states and labels, judged by every version of the machine that is known here; of others nothing is known. */
export function checkNames(
  registry: Registry,
  named: { readonly machine?: string; readonly states?: readonly string[]; readonly label?: { readonly name: string } },
): void {
  const { machine, states, label } = named
  const machines = registry.machines.filter(({ name }) => machine === undefined || name === machine)
  if (machines.length === 0) return
  const where = machine === undefined ? 'No machine' : `Machine ${machine}`
  const known = namesOf(machines, (machine) => Object.keys(machine.states))
  const wrong = states?.find((state) => !known.includes(state))
  if (wrong !== undefined) {
    throw new SluiceError(
      'invalid',
      `${where} has ${machine === undefined ? 'a' : 'no'} state ${wrong}. There are: ${known.join(', ')}.`,
      {
        machine,
        state: wrong,
        known,
      },
    )
  }
  const labels = namesOf(machines, (machine) => machine.labels)
  if (label && !labels.includes(label.name)) {
    const there = labels.length === 0 ? 'There is none.' : `There are: ${labels.join(', ')}.`
    throw new SluiceError(
      'invalid',
      `${where} has ${machine === undefined ? 'a' : 'no'} label ${label.name}. ${there}`,
      {
        machine,
        label: label.name,
        known: labels,
      },
    )
  }
}

/** An action that no machine knows is a slip of the pen, not a walk that everybody refuses. */
export function checkAction(registry: Registry, machine: string | undefined, action: string): void {
  const machines = registry.machines.filter(({ name }) => machine === undefined || name === machine)
  const edges = machines.flatMap((machine) => machine.edges).filter((edge) => edge.on === 'action')
  if (machines.length === 0 || edges.some((edge) => edge.action === action || edge.name === action)) return
  const known = [...new Set(edges.map((edge) => edge.action))]
  const where = machine === undefined ? 'No machine has an' : `Machine ${machine} has no`
  throw new SluiceError('invalid', `${where} action ${action}. There are: ${known.join(', ') || 'none'}.`, {
    machine,
    action,
    known,
  })
}

function namesOf(machines: readonly Machine[], names: (machine: Machine) => readonly string[]): readonly string[] {
  return [...new Set(machines.flatMap(names))]
}

export interface Count {
  readonly matching: number
  /** False: there are at least so many; counting on would take too long. */
  readonly exact: boolean
}

/** Pages that a count reads before it gives up. */
const pagesMax = 20

/** Lanes know the figures of a parent's children by state, however many they are; anything finer is counted by pages. */
export async function countMatching(services: Services, filter: Filter): Promise<Count> {
  if (filter.parent !== undefined && isByLane(filter)) {
    const lanes = await services.store.lanes([filter.parent])
    return { matching: lanes.reduce((sum, lane) => sum + countIn(lane, filter), 0), exact: true }
  }
  let matching = 0
  let { after } = filter
  for (let pages = 0; pages < pagesMax; pages++) {
    const page = await services.store.list({ ...filter, newestFirst: false, limit: services.limits.pageMax, after })
    matching += page.entities.length
    if (page.next === null) return { matching, exact: true }
    after = page.next
  }
  return { matching, exact: false }
}

function isByLane({ label, reason, after, upTo, states, settled }: Filter): boolean {
  const isFiner = label !== undefined || reason !== undefined || after !== undefined || upTo !== undefined
  // A lane counts by state and counts what is open, but not what is both.
  return !isFiner && (states === undefined || settled === undefined)
}

function countIn(lane: Lane, { machine, version, lane: name, states: given, settled, anyOf }: Filter): number {
  if (machine !== undefined && lane.machine !== machine) return 0
  if (version !== undefined && lane.version !== version) return 0
  if (name !== undefined && lane.name !== name) return 0
  const own = anyOf?.find(({ machine, version }) => machine === lane.machine && version === lane.version)?.states ?? []
  const states = anyOf ? given?.filter((state) => own.includes(state)) : given
  if (states) return [...new Set(states)].reduce((sum, state) => sum + (lane.counts[state] ?? 0), 0)
  if (settled !== undefined) return settled ? lane.total - lane.open : lane.open
  return lane.total
}
