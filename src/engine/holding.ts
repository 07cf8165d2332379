import { isTime } from '../clock.ts'
import type { HoldOptions } from '../control.ts'
import { SluiceError } from '../errors.ts'
import type { Hold, HoldScope } from '../hold.ts'
import type { Actor, HoldChange } from '../store.ts'
import { checkText } from './births.ts'
import { checkNames } from './filter.ts'
import type { Registry } from './registry.ts'
import type { Services } from './services.ts'

/** Sets a hold, and gives back the one that was set. */
export async function setHold(services: Services, scope: HoldScope, options: HoldOptions): Promise<Hold> {
  const change = checkHold(services, scope, options)
  const standing = await services.store.holds(change)
  const own = standing.filter(({ reason, owner }) => reason === change.reason && owner === change.owner)
  // Ids grow: of several alike, ours is the last.
  const hold = own.sort((one, other) => other.id - one.id)[0]
  if (hold) return hold
  throw new SluiceError('conflict', 'The hold was set, and lifted by someone else at the same moment.', { scope })
}

function checkHold(
  { registry, store, limits }: Services,
  scope: HoldScope,
  options: HoldOptions,
): Extract<HoldChange, { set: HoldScope }> {
  const { reason = '', owner = '', until } = options ?? {}
  const fault = (message: string, detail: Readonly<Record<string, unknown>>) =>
    new SluiceError('invalid', message, detail)
  const { machine, state, parent, entity, label } = scope
  if ([machine, state, parent, entity, label].every((part) => part === undefined)) {
    throw fault('A hold must name a machine, a state, a parent, an entity or a label.', { scope })
  }
  for (const [part, id] of Object.entries({ parent, entity })) {
    if (id !== undefined && !(Number.isSafeInteger(id) && id >= 1)) {
      throw fault(`The ${part} of a hold must be the id of an entity, from 1; it was ${id}.`, {
        field: `scope.${part}`,
      })
    }
  }
  const texts = { machine, state, 'label.name': label?.name, 'label.value': label?.value }
  for (const [part, text] of Object.entries(texts)) {
    if (text !== undefined) checkText(text, `The ${part} of a hold`, `scope.${part}`)
  }
  checkText(reason, 'The reason of a hold', 'reason')
  checkText(owner, 'The owner of a hold', 'owner')
  if (machine !== undefined) registry.newest(machine)
  checkNames(registry, {
    ...(machine === undefined ? {} : { machine }),
    ...(state === undefined ? {} : { states: [state] }),
    ...(label === undefined ? {} : { label }),
  })
  checkReach(registry, scope)
  if (reason.trim() === '' || reason.length > limits.reasonMax) {
    throw fault(`A hold needs a reason of 1 to ${limits.reasonMax} characters: somebody will ask why nothing moves.`, {
      reason,
    })
  }
  if (owner.trim() === '' || owner.length > limits.nameMax) {
    throw fault(`A hold needs an owner of 1 to ${limits.nameMax} characters: somebody will ask whose it is.`, { owner })
  }
  if (until !== undefined && !(isTime(until) && until > store.time())) {
    throw fault(
      `A hold ends in the future, at a time in whole milliseconds since 1970; it was ${until}. Leave the time out for a hold that is ended by hand.`,
      {
        until,
      },
    )
  }
  const { actor = owner, role = null, requestId = null } = options
  for (const [field, text] of Object.entries({ actor, role, requestId })) {
    if (text !== null) checkText(text, `The ${field} of a hold`, field)
  }
  return { set: scope, reason, owner, until: until ?? null, by: { actor, role, reason, requestId } }
}

/** Lifts a hold that stands. */
export async function liftHold({ store }: Services, id: number, by: Actor): Promise<void> {
  const standing = await store.holds()
  if (!standing.some((hold) => hold.id === id)) {
    const there = standing.map((hold) => hold.id).join(', ') || 'none'
    throw new SluiceError(
      'not_found',
      `There is no hold ${id}; it was released, or has ended. Standing now: ${there}.`,
      { hold: id },
    )
  }
  await store.holds({ lift: id, by })
}

/** A hold over a state in which no worker ever begins anything would be accepted, and stop nothing. */
function checkReach({ runs }: Registry, { machine, state }: HoldScope): void {
  if (state === undefined) return
  const own = runs.filter(({ claim }) => machine === undefined || claim.machine === machine)
  const states = new Set(own.flatMap(({ claim }) => claim.passes ?? []))
  if (states.has(state)) return
  const named = machine === undefined ? state : `${state} of machine ${machine}`
  throw new SluiceError(
    'invalid',
    `A hold over state ${named} would stop nothing: no worker begins anything in it. Hold one of ${[...states].join(', ')}.`,
    { state, states: [...states] },
  )
}
