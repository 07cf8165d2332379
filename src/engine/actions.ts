import { decide } from '../decide.ts'
import type { Entity, Request } from '../entity.ts'
import { type ErrorCode, isSluiceError, messageOf, SluiceError } from '../errors.ts'
import type { Facts } from '../implementation.ts'
import type { Lane } from '../lane.ts'
import { edgeNamed, type Machine } from '../machine.ts'
import type { Decision } from '../path.ts'
import type { Actor, Move } from '../store.ts'
import type { Edge } from '../transition.ts'
import { childrenOf, jsonText } from './births.ts'
import { followUp, moveOf } from './moves.ts'
import type { RunServices } from './run-services.ts'
import { tell } from './telling.ts'

/** How one entity took an action. */
export type ActionResult =
  | { readonly kind: 'done'; readonly id: number; readonly state: string }
  /** A processor runs first; the entity is not there yet. */
  | { readonly kind: 'requested'; readonly id: number; readonly edge: string }
  /** Not allowed from its state, or not now: the message says what is. */
  | { readonly kind: 'refused'; readonly id: number; readonly message: string; readonly code?: ErrorCode }
  /** Something else moved it first, again and again. */
  | { readonly kind: 'stale'; readonly id: number; readonly message: string }

/** Acts on entities as they were read; whoever was moved meanwhile is read and decided anew, a few times. */
export async function actOn(
  services: RunServices,
  entities: readonly Entity[],
  action: string,
  actor: Actor,
  input: unknown,
  to?: string,
  roundsMax = 5,
): Promise<readonly ActionResult[]> {
  const results = new Map<number, ActionResult>()
  let open = entities
  for (let round = 0; open.length > 0 && round < roundsMax; round++) {
    if (round > 0)
      open = (await services.store.get(open.map((entity) => entity.id))).filter((entity) => entity !== null)
    const lanes = await lanesOf(services, open)
    await services.confirmLease?.()
    const stale: Entity[] = []
    await Promise.all(
      open.map(async (entity) => {
        const result = await actOnOne(services, entity, lanes.get(entity.id) ?? [], action, actor, input, to)
        if (result.kind === 'stale') stale.push(entity)
        results.set(entity.id, result)
      }),
    )
    open = stale
  }
  return entities.map((entity) => results.get(entity.id) as ActionResult)
}

async function actOnOne(
  services: RunServices,
  entity: Entity,
  lanes: readonly Lane[],
  action: string,
  actor: Actor,
  input: unknown,
  to: string | undefined,
): Promise<ActionResult> {
  const { id } = entity
  let move: Move
  let decision: Decision
  try {
    ;({ move, decision } = actionMove(services, entity, lanes, action, actor, input, to))
  } catch (error) {
    // A rule that breaks is this entity's refusal: an act on many goes on with the others.
    const message = isSluiceError(error)
      ? messageOf(error)
      : `${entity.machine} ${id}: the rules of ${action} broke: ${messageOf(error)}`
    return { kind: 'refused', id, message, ...(isSluiceError(error) ? { code: error.code } : {}) }
  }
  const verdict = await services.completer.commit(move)
  switch (verdict.kind) {
    case 'saved':
      tell(services, services.registry.get(entity.machine, entity.version).machine, entity, decision)
      return decision.request && decision.hops.length === 0
        ? { kind: 'requested', id, edge: decision.request.name }
        : { kind: 'done', id, state: move.state }
    case 'stale':
      return { kind: 'stale', id, message: `${entity.machine} ${id} was moved by someone else at the same moment.` }
    case 'full':
      return { kind: 'refused', id, message: `${verdict.pool} is full; ${verdict.holders.join(', ')} have it.` }
    case 'held':
      return {
        kind: 'refused',
        id,
        message: `${entity.machine} ${id} is held: ${verdict.holds.map((hold) => hold.reason).join('; ')}`,
      }
    case 'refused':
      return { kind: 'refused', id, message: verdict.message }
    default:
      return verdict satisfies never
  }
}

function actionMove(
  services: RunServices,
  entity: Entity,
  lanes: readonly Lane[],
  action: string,
  actor: Actor,
  input: unknown,
  to: string | undefined,
): { move: Move; decision: Decision } {
  const { registry, limits, store, clock } = services
  const implementation = registry.get(entity.machine, entity.version)
  const facts: Facts = {
    now: store.time(),
    random: clock.random(),
    lanes,
    holds: [],
    input,
    actor: actor.actor,
    reason: actor.reason,
    error: null,
  }
  const occurrence =
    to === undefined ? ({ cause: 'action', action } as const) : ({ cause: 'action', action, to } as const)
  const decision = decide(
    implementation,
    entity,
    JSON.parse(entity.data),
    entity.attempts,
    occurrence,
    facts,
    limits.hopsMax,
  )
  const [hop] = decision.hops
  checkRole(
    hop || !decision.request
      ? edgeNamed(implementation.machine, entity.state, hop?.transition ?? action)
      : decision.request,
    entity,
    actor,
  )
  if (decision.request && entity.request) refuseSecond(implementation.machine, entity, entity.request, decision.request)
  const request: Request | null =
    decision.request &&
    (hop
      ? followUp(decision.request)
      : {
          edge: decision.request.name,
          actor: actor.actor,
          role: actor.role,
          reason: actor.reason,
          requestId: actor.requestId,
          input: input === null || input === undefined ? null : jsonText(input, 'The input', limits),
          read: null,
        })
  // Reopened, it counts anew, and finds the children of the generation before.
  const spawned = decision.generation === entity.generation ? entity.spawned : 0
  const children = childrenOf(registry, entity, decision.change.spawn, spawned, facts.now, limits)
  const move = moveOf(
    implementation.machine,
    entity,
    // An action that is asked for begins with fresh attempts: those before belong to other work.
    { ...decision, attempts: 'reset' },
    {
      by: 'outside',
      actor,
      holds: null,
      children,
      spawned: spawned + children.length,
      ...(request ? { request } : {}),
    },
    limits,
  )
  return { move, decision }
}

/** One request at a time: what a person was told is under way is not replaced by what another asks. The engine's own may be. */
function refuseSecond(machine: Machine, { id, state }: Entity, pending: Request, asked: Edge): void {
  const before = edgeNamed(machine, state, pending.edge)
  const isPersons = before.on === 'action' && pending.reason !== null
  if (!isPersons && before.name !== asked.name) return
  const who = pending.actor === null ? '' : ` by ${pending.actor}`
  throw new SluiceError(
    'conflict',
    `${machine.name} ${id} has been asked to ${before.action} already${who}; it is under way.`,
    { id, action: asked.action, underWay: before.action },
  )
}

async function lanesOf(services: RunServices, entities: readonly Entity[]): Promise<Map<number, Lane[]>> {
  const lanes = new Map<number, Lane[]>()
  if (entities.length === 0) return lanes
  for (const lane of await services.store.lanes(entities.map((entity) => entity.id))) {
    if (lane.parent === null) continue
    const own = lanes.get(lane.parent)
    if (own) own.push(lane)
    else lanes.set(lane.parent, [lane])
  }
  return lanes
}

/** A processor that acts on its children, and that nobody asked to, acts as `engine`. */
const rankByRole: Readonly<Record<string, number>> = { submitter: 0, operator: 1, admin: 2, engine: 2 }

/** Whoever asks in a role must have the edge's role, or a higher one. The engine itself acts in none. */
function checkRole({ name, role: needed }: Edge, { id, machine }: Entity, { role }: Actor): void {
  if (role === null || (rankByRole[role] ?? -1) >= (rankByRole[needed] ?? 0)) return
  throw new SluiceError('forbidden', `${name} of ${machine} ${id} is for the role ${needed}; ${role} may not.`, {
    id,
    role,
    needed,
  })
}
