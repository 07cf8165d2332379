import type { Detail } from '../control.ts'
import { type ActionChoice, actionsOf } from '../decide.ts'
import { type Entity, type EntityId, rootLane } from '../entity.ts'
import { entityName } from '../entity-name.ts'
import type { Facts } from '../implementation.ts'
import type { Lane } from '../lane.ts'
import { edgesFrom, type Machine } from '../machine.ts'
import type { Tombstone } from '../store.ts'
import type { Services } from './services.ts'

type Listed = Omit<Detail, 'actions'>

/** One entity with the actions that a person may ask for now. */
export async function detailOf(services: Services, entity: Entity): Promise<Detail> {
  const [listed] = await listedOf(services, [entity])
  const machine = services.registry.find(entity.machine, entity.version)?.machine
  // Only criteria of actions look at the children.
  const isOpen = machine !== undefined && edgesFrom(machine, entity.state, 'action').length > 0
  const lanes = isOpen ? await services.store.lanes([entity.id]) : []
  const actions = choicesOf(services, entity, lanes).map(({ action, edge, refusal }) => ({
    action,
    to: edge.to,
    warning: edge.warning ?? null,
    refusal,
  }))
  return { ...(listed as Listed), actions }
}

/** Entities as people see them: data parsed, and the state as drawn. */
export async function listedOf(services: Services, entities: readonly Entity[]): Promise<readonly Listed[]> {
  const gates = await gatesOf(services, entities)
  return entities.map((entity) => {
    const { data, progress, checkpoint: _checkpoint, ...rest } = entity
    const machine = services.registry.find(entity.machine, entity.version)?.machine ?? null
    const shown = shownState(machine, entity, gates)
    const seen = shownData(services, entity, data)
    return {
      ...rest,
      data: seen,
      // From what may be shown: a secret never becomes a name.
      name: entityName(machine?.title, seen),
      progress: progress === null ? null : JSON.parse(progress),
      shown,
      title: machine?.states[shown]?.title ?? shown,
      purged: false,
    }
  })
}

/** What people see of an entity's data. */
function shownData(
  { registry }: Services,
  { machine, version }: { machine: string; version: number },
  data: string,
): unknown {
  const parsed: unknown = JSON.parse(data)
  const shown = registry.find(machine, version)?.tuning.shown
  return shown ? shown(parsed) : parsed
}

/** What retention left of a root: how it ended, and what it reported. */
export function detailOfTombstone(services: Services, tombstone: Tombstone): Detail {
  const { id, machine, version, state, key, data, createdAt, purgedAt } = tombstone
  const known = services.registry.find(machine, version)?.machine
  const title = known?.states[state]?.title ?? state
  const seen = shownData(services, tombstone, data)
  return {
    ...{ id, machine, version, state, key, createdAt, title },
    data: seen,
    name: entityName(known?.title, seen),
    born: state,
    shown: state,
    settled: true,
    purged: true,
    changedAt: purgedAt,
    ...{ seq: 0, epoch: 0, generation: 0, attempts: 0, suspect: 0, spawned: 0, priority: 0 },
    ...{ parent: null, source: null, ordinal: null, owner: null, request: null, progress: null, createdBy: null },
    ...{ reason: null, sums: null, error: null },
    lane: rootLane(machine, version),
    labels: [],
    wait: { for: 'nothing' },
    stopped: false,
    actions: [],
  }
}

/** The actions of its state, each with why it is not open. None if this process does not know the machine. */
export function choicesOf(
  services: Services,
  entity: Entity,
  lanes: readonly Lane[],
  input: unknown = null,
): readonly ActionChoice[] {
  const { registry, store, clock } = services
  const implementation = registry.find(entity.machine, entity.version)
  if (!implementation) return []
  const facts: Facts = {
    ...{ now: store.time(), random: clock.random(), lanes, holds: [], input },
    ...{ actor: null, reason: null, error: null },
  }
  return actionsOf(implementation, entity, JSON.parse(entity.data), facts)
}

/** Which lanes have their gate open, by parent and name; only those of gated entities are read. */
async function gatesOf({ store }: Services, entities: readonly Entity[]): Promise<ReadonlySet<string>> {
  const parents = new Set<EntityId>()
  for (const entity of entities) if (isGated(entity) && entity.parent !== null) parents.add(entity.parent)
  if (parents.size === 0) return new Set()
  const lanes = await store.lanes([...parents])
  return new Set(lanes.filter((lane) => lane.gate === 'open').map((lane) => laneKey(lane.parent, lane.name)))
}

/** An open gate is one row: those behind it are written anew only when they are claimed, and shown as if they were. */
function shownState(machine: Machine | null, entity: Entity, openGates: ReadonlySet<string>): string {
  if (!machine || !isGated(entity) || !openGates.has(laneKey(entity.parent, entity.lane))) return entity.state
  return edgesFrom(machine, entity.state, 'gate')[0]?.to ?? entity.state
}

function isGated({ wait }: Entity): boolean {
  return wait.for === 'run' && wait.gated === true
}

function laneKey(parent: EntityId | null, lane: string): string {
  return `${parent}/${lane}`
}
