import type { Entity } from '../../src/entity.ts'
import type { Case } from './case.ts'

/** Lanes say what a count of the rows says. */
export function* checkLanes(the: Case): Iterable<string> {
  for (const { parent, lane, said, counted } of the.drifts) {
    yield `Lane ${lane} of ${parent ?? 'the roots'} says ${JSON.stringify(said)} and has ${JSON.stringify(counted)}.`
  }
  const counted = Map.groupBy(the.entities, (entity) => `${entity.parent ?? 'root'}/${entity.lane}`)
  const seen = new Set<string>()
  for (const lane of the.lanes) {
    const name = `${lane.parent ?? 'root'}/${lane.name}`
    if (seen.has(name)) yield `Lane ${name} exists twice.`
    seen.add(name)
    const rows = counted.get(name) ?? []
    const states = Map.groupBy(rows, (row) => row.state)
    const counts = Object.fromEntries([...states].map(([state, group]) => [state, group.length]))
    const open = rows.filter((row) => !row.settled).length
    if (textOf(counts) !== textOf(lane.counts))
      yield `Lane ${name} counts ${textOf(lane.counts)}, the rows are ${textOf(counts)}.`
    if (lane.total !== rows.length) yield `Lane ${name} says ${lane.total} in all, and ${rows.length} are there.`
    if (lane.open !== open) yield `Lane ${name} says ${lane.open} are open, and ${open} are.`
    if (lane.parent !== null && !the.byId.has(lane.parent)) yield `Lane ${name} has no parent any more.`
  }
  for (const name of counted.keys()) if (!seen.has(name)) yield `Lane ${name} is missing.`
}

function textOf(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([state, count]) => `${count} ${state}`)
    .sort()
    .join(', ')
}

/** Nothing is left lying: no lease, no open work, nothing taken from a pool, no damage to the file. */
export function* checkRest(the: Case): Iterable<string> {
  for (const entity of the.entities) {
    const name = `${entity.machine} ${entity.id}`
    if (entity.owner !== null) yield `${name} is still leased by worker ${entity.owner}.`
    if (!entity.settled && !isAtRest(the, entity))
      yield `${name} is still ${entity.state}, waiting for ${entity.wait.for}.`
    if (entity.settled && (entity.wait.for === 'run' || entity.wait.for === 'children'))
      yield `${name} is ${entity.state} and waits for ${entity.wait.for}.`
    if (entity.settled && entity.request)
      yield `${name} is ${entity.state} with the request ${entity.request.edge} open.`
  }
  for (const worker of the.workers) if (worker.leases > 0) yield `Worker ${worker.id} still holds ${worker.leases}.`
  for (const pool of the.pools)
    if (pool.taken !== 0) yield `Pool ${pool.name} has ${pool.taken} taken that nobody uses.`
  if (the.integrity.join() !== 'ok')
    yield `The database says of itself: ${the.integrity.slice(0, 3).join('; ') || 'nothing'}.`
}

/** Under an ended parent whatever has not begun never will. */
function isAtRest(the: Case, entity: Entity): boolean {
  const parent = entity.parent === null ? undefined : the.byId.get(entity.parent)
  if (!parent) return false
  const machine = the.machine(parent.machine, parent.version)
  const isStopped = the.expected.stops.some(
    ({ machine: name, edge }) =>
      name === parent.machine && machine?.edges.some((one) => one.name === edge && one.to === parent.state),
  )
  return isStopped
}
