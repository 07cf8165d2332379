import type { Entity, EntityId } from '../entity.ts'
import type { Implementation } from '../implementation.ts'
import type { Lane } from '../lane.ts'
import { choicesOf } from './detail.ts'
import { openBefore, poolsFor, type Situation } from './explain.ts'
import type { Registry, Run } from './registry.ts'
import type { Services } from './services.ts'

/** How many of those who block an entity are named. */
const blockingMax = 10

/** Reads everything that could explain why an entity is where it is. */
export async function situationOf(services: Services, entity: Entity): Promise<Situation> {
  const { store, registry } = services
  const run = runOf(registry, entity)
  const implementation = registry.find(entity.machine, entity.version)
  const pools = poolsFor(entity, run).map(({ name }) => name)
  const [parents, lanes, holds, shares, workers] = await Promise.all([
    entity.parent === null ? [] : store.get([entity.parent]),
    store.lanes(entity.parent === null ? [entity.id] : [entity.id, entity.parent]),
    store.holds(),
    pools.length === 0 ? [] : store.pools(pools),
    store.workers(),
  ])
  const own = lanes.filter((lane) => lane.parent === entity.id)
  const parentLanes = entity.parent === null ? [] : lanes.filter((lane) => lane.parent === entity.parent)
  return {
    entity,
    now: store.time(),
    machine: implementation?.machine ?? null,
    needs: needsOf(implementation, entity),
    run,
    lanes: own,
    parent: parents[0] ?? null,
    parentLanes,
    holds,
    pools: shares,
    workers,
    blocking: await blockingOf(services, entity, parentLanes),
    actions: choicesOf(services, entity, own),
    trouble: services.troubles.current(),
  }
}

/** What a worker must be able to do, if the machine alone does not say it. */
function needsOf(implementation: Implementation | null, { data }: Entity): Situation['needs'] {
  const serves = implementation?.tuning.serves
  return serves ? { what: serves.what, name: serves.nameOf(JSON.parse(data)) } : null
}

function runOf(registry: Registry, entity: Entity): Run | null {
  const edge = entity.request?.edge ?? null
  const isIts = ({ implementation: { machine }, state, edge: asked }: Run) =>
    machine.name === entity.machine && machine.version === entity.version && state === entity.state && asked === edge
  return registry.runs.find(isIts) ?? null
}

async function blockingOf(
  { store }: Services,
  entity: Entity,
  parentLanes: readonly Lane[],
): Promise<readonly EntityId[]> {
  const { wait, parent } = entity
  if (wait.for === 'children') {
    const page = await store.list({ parent: entity.id, settled: false, limit: blockingMax })
    return page.entities.map(({ id }) => id)
  }
  if (wait.for !== 'run' || !wait.gated || parent === null) return []
  const blocking: EntityId[] = []
  for (const { name } of openBefore(parentLanes, entity.lane)) {
    if (blocking.length >= blockingMax) break
    const page = await store.list({ parent, lane: name, settled: false, limit: blockingMax - blocking.length })
    blocking.push(...page.entities.map(({ id }) => id))
  }
  return blocking
}
