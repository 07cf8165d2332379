import type { ChildGroup } from '../control.ts'
import type { Entity, EntityId } from '../entity.ts'
import type { Lane } from '../lane.ts'
import { isSettled } from '../machine.ts'
import type { Pool } from '../pool.ts'
import { groupChildren } from './child-groups.ts'
import { choicesOf } from './detail.ts'
import { explain, openBefore, poolsFor, type Situation } from './explain.ts'
import type { Registry, Run } from './registry.ts'
import type { Services } from './services.ts'

/** How many of those who block an entity are named. */
const blockingMax = 10
/** Open children of a parent that are looked at: enough to see what they wait for, and one read of the store's. */
const lookedAtMax = 200
/** Lanes and states that are looked into, each by a read of its own. */
const placesMax = 24
const poolsMax = 100

/** Reads everything that could explain why an entity is where it is. */
export async function situationOf(services: Services, entity: Entity): Promise<Situation> {
  const { store, registry } = services
  const run = runOf(registry, entity)
  const [parents, lanes, holds, rooms, workers] = await Promise.all([
    entity.parent === null ? [] : store.get([entity.parent]),
    store.lanes(entity.parent === null ? [entity.id] : [entity.id, entity.parent]),
    store.holds(),
    roomsOf(services, [{ entity, run }]),
    store.workers(),
  ])
  const own = lanes.filter((lane) => lane.parent === entity.id)
  const parentLanes = entity.parent === null ? [] : lanes.filter((lane) => lane.parent === entity.parent)
  const seen = { now: store.time(), holds, workers }
  const children = await childrenOf(services, entity, own, seen)
  return {
    ...seen,
    ...rooms,
    entity,
    ...knownOf(registry, entity),
    run,
    lanes: own,
    parent: parents[0] ?? null,
    parentLanes,
    blocking:
      entity.wait.for === 'children'
        ? children.flatMap(({ examples }) => examples).slice(0, blockingMax)
        : await blockingOf(services, entity, parentLanes),
    children,
    actions: choicesOf(services, entity, own),
    trouble: services.troubles.current(),
  }
}

/** Its machine, and what a worker must be able to do if the machine alone does not say it. */
function knownOf(registry: Registry, { machine, version, data }: Entity): Pick<Situation, 'machine' | 'needs'> {
  const implementation = registry.find(machine, version)
  const serves = implementation?.tuning.serves
  return {
    machine: implementation?.machine ?? null,
    needs: serves ? { what: serves.what, name: serves.nameOf(JSON.parse(data)) } : null,
  }
}

function runOf(registry: Registry, entity: Entity): Run | null {
  const edge = entity.request?.edge ?? null
  const isIts = ({ implementation: { machine }, state, edge: asked }: Run) =>
    machine.name === entity.machine && machine.version === entity.version && state === entity.state && asked === edge
  return registry.runs.find(isIts) ?? null
}

/** The pools that these entities need room in, and some of those who have a share of them. */
async function roomsOf(
  { store }: Services,
  waiting: readonly { readonly entity: Entity; readonly run: Run | null }[],
): Promise<Pick<Situation, 'pools' | 'holders'>> {
  const names = new Set(waiting.flatMap(({ entity, run }) => poolsFor(entity, run).map(({ name }) => name)))
  const pools = names.size === 0 ? [] : await store.pools([...names].slice(0, poolsMax))
  const ids = pools.flatMap((pool: Pool) => pool.holders.map((share) => share.entity))
  const holders = ids.length === 0 ? [] : await store.get([...new Set(ids)].slice(0, poolsMax))
  return { pools, holders: holders.filter((holder) => holder !== null) }
}

/**
 * Looks at some open children, so many of each lane and state, and groups them by what they wait for. What the parent's lanes, the
 * holds and the workers say is read once for all of them.
 */
async function childrenOf(
  services: Services,
  parent: Entity,
  lanes: readonly Lane[],
  seen: Pick<Situation, 'now' | 'holds' | 'workers'>,
): Promise<readonly ChildGroup[]> {
  if (parent.wait.for !== 'children') return []
  const { store, registry } = services
  const places = lanes.flatMap((lane) => openStates(registry, lane).map((state) => ({ lane: lane.name, state })))
  const looked = places.slice(0, placesMax)
  if (looked.length === 0) return []
  const limit = Math.max(1, Math.floor(lookedAtMax / looked.length))
  const pages = await Promise.all(
    looked.map(({ lane, state }) =>
      store.list({ parent: parent.id, lane, ...(state === null ? {} : { states: [state] }), settled: false, limit }),
    ),
  )
  const found = pages.flatMap(({ entities }) => entities).map((entity) => ({ entity, run: runOf(registry, entity) }))
  const rooms = await roomsOf(services, found)
  const children = found.map(({ entity, run }) => ({
    child: entity,
    explanation: explain({
      ...seen,
      ...rooms,
      ...{ entity, run, parent, parentLanes: lanes, lanes: [], blocking: [], children: [], actions: [], trouble: null },
      ...knownOf(registry, entity),
    }),
  }))
  return groupChildren(children, places.length === looked.length && pages.every(({ next }) => next === null))
}

/** States with open children. Null: of a machine that is not known here, any that is not settled. */
function openStates(registry: Registry, { machine: name, version, counts, open }: Lane): readonly (string | null)[] {
  if (open === 0) return []
  const machine = registry.find(name, version)?.machine
  return machine ? Object.keys(counts).filter((state) => !isSettled(machine, state)) : [null]
}

async function blockingOf(
  { store }: Services,
  entity: Entity,
  parentLanes: readonly Lane[],
): Promise<readonly EntityId[]> {
  const { wait, parent } = entity
  if (wait.for !== 'run' || !wait.gated || parent === null) return []
  const blocking: EntityId[] = []
  for (const { name } of openBefore(parentLanes, entity.lane)) {
    if (blocking.length >= blockingMax) break
    const page = await store.list({ parent, lane: name, settled: false, limit: blockingMax - blocking.length })
    blocking.push(...page.entities.map(({ id }) => id))
  }
  return blocking
}
