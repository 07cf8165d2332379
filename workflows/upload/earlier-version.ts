import { defineMachine, type Implementation, implement, type Machine } from 'sluice'
import { batchDeclaration } from './batch-machine.ts'
import { itemDeclaration } from './item-machine.ts'

/**
 * The machines of version 1, from before notifications were sent after the end: batches that were begun then are finished by them. Both
 * machines of the family share a version.
 */
export const earlierBatch = defineMachine({
  ...batchDeclaration,
  version: 1,
  transitions: Object.fromEntries(
    Object.entries(batchDeclaration.transitions)
      .filter(([name]) => !isOfNotifications(name))
      .map(([name, transition]) => [name, withoutAsking(transition)]),
  ) as Readonly<Record<string, never>>,
  purposes: earlier(batchDeclaration.purposes),
  policies: earlier(batchDeclaration.policies),
}) as unknown as Machine

export const earlierItem = defineMachine({ ...itemDeclaration, version: 1 }) as unknown as Machine

/** Bound to the functions of the present version. */
export function earlierVersion(batch: Implementation, item: Implementation): readonly Implementation[] {
  const bound = {
    processors: earlier(batch.processors),
    criteria: earlier(batch.criteria),
    assigns: earlier(batch.assigns),
  }
  return [implement(earlierBatch, bound), implement(earlierItem, item)]
}

function earlier<T>(named: Readonly<Record<string, T>>): Readonly<Record<string, T>> {
  return Object.fromEntries(Object.entries(named).filter(([name]) => !isOfNotifications(name)))
}

function isOfNotifications(name: string): boolean {
  return /^notif|Notifi/.test(name)
}

function withoutAsking<T extends object>(transition: T): T {
  if (!('assign' in transition) || transition.assign !== 'askForNotification') return transition
  const { assign: _assign, ...rest } = transition
  return rest as T
}
