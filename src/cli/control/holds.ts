import { SluiceError } from '../../errors.ts'
import type { Hold, HoldScope } from '../../hold.ts'
import type { Host } from '../host.ts'
import { shortMomentOf } from '../moment.ts'
import { plain, table } from '../text.ts'
import { type AnswerOptions, answering } from './answer.ts'
import { commandHere } from './reach.ts'

export interface HoldsOptions extends AnswerOptions {
  readonly past?: boolean
  readonly limit?: number
}

/** The holds that stand, or those that have ended. */
export function holds({ past, limit = 20, ...options }: HoldsOptions, host: Host): Promise<number> {
  return answering(
    options,
    host,
    async ({ control }) => ({ holds: past ? await control.pastHolds(limit) : await control.holds() }),
    ({ holds: found }) =>
      found.length === 0
        ? [past ? 'No hold has ended.' : 'Nothing is held.']
        : table(
            found.map((hold) => holdLine(hold, host)),
            '',
          ),
  )
}

export interface HoldOptions extends AnswerOptions {
  readonly machine?: string
  readonly state?: string
  readonly parent?: number
  readonly entity?: number
  readonly label?: { readonly name: string; readonly value: string }
  readonly collection?: string
  readonly reason: string
  /** In seconds, as times are typed. */
  readonly until?: number
}

/** Holds what is named. */
export function hold(options: HoldOptions, host: Host): Promise<number> {
  const { reason, until } = options
  const scope = scopeOf(options)
  return answering(
    options,
    host,
    ({ control, actor }) =>
      control.hold(scope, {
        ...actor,
        reason,
        owner: host.user,
        ...(until === undefined ? {} : { until: until * 1_000 }),
      }),
    (made) => [
      `Hold ${made.id} stands: ${scopeText(made.scope)}. Release it by: ${commandHere(options, 'release', String(made.id))}`,
    ],
  )
}

function scopeOf({ machine, state, parent, entity, label, collection }: HoldOptions): HoldScope {
  if (collection !== undefined && label !== undefined) {
    throw new SluiceError('invalid', 'Take --collection or --label; a hold names one label.')
  }
  const named = collection === undefined ? label : { name: 'collection', value: collection }
  const scope = {
    ...(machine === undefined ? {} : { machine }),
    ...(state === undefined ? {} : { state }),
    ...(parent === undefined ? {} : { parent }),
    ...(entity === undefined ? {} : { entity }),
    ...(named === undefined ? {} : { label: named }),
  }
  if (Object.keys(scope).length > 0) return scope
  throw new SluiceError('invalid', 'Say what is held: --collection, --label, --machine, --state, --parent or --entity.')
}

export interface ReleaseOptions extends AnswerOptions {
  readonly reason?: string
}

export function release(id: number, options: ReleaseOptions, host: Host): Promise<number> {
  return answering(
    options,
    host,
    async ({ control, actor }) => {
      await control.release(id, { ...actor, ...(options.reason === undefined ? {} : { reason: options.reason }) })
      return { released: id }
    },
    () => [`Hold ${id} is released.`],
  )
}

export function holdLine({ id, scope, reason, owner, since, until, ended }: Hold, host: Host): readonly string[] {
  const end = ended
    ? `ended ${shortMomentOf(ended.at, host)}${ended.by ? ` by ${plain(ended.by.actor ?? 'unknown', 60)}` : ' by itself'}`
    : until === null
      ? ''
      : `until ${shortMomentOf(until, host)}`
  return [
    String(id),
    scopeText(scope),
    `by ${plain(owner, 60)} since ${shortMomentOf(since, host)}`,
    end,
    plain(reason),
  ]
}

function scopeText({ machine, state, parent, entity, label }: HoldScope): string {
  const parts = [
    ...(label === undefined ? [] : [`${plain(label.name, 60)} ${plain(label.value, 100)}`]),
    ...(machine === undefined ? [] : [`machine ${plain(machine, 60)}`]),
    ...(state === undefined ? [] : [`state ${plain(state, 60)}`]),
    ...(parent === undefined ? [] : [`children of ${parent}`]),
    ...(entity === undefined ? [] : [`entity ${entity}`]),
  ]
  return parts.join(', ')
}
