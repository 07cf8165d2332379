import { z } from 'zod'
import { SluiceError } from '../../errors.ts'
import type { Hold } from '../../hold.ts'
import { holdAnswer, holdScope } from '../answer-schemas.ts'
import { idParams, reasonText, timeNumber, wholeNumber } from '../asked-schemas.ts'
import type { Context } from '../context.ts'
import { noParams, noQuery, type Route, route } from '../route.ts'
import { actorOf } from './acting-routes.ts'

/** Standing orders. */
export function holdRoutes({ control, collections, limits }: Context): readonly Route[] {
  const holdsAnswer = z.object({ holds: z.array(holdAnswer) }) as z.ZodType<{ holds: readonly Hold[] }>
  return [
    route({
      ...{ method: 'GET', path: '/api/holds', tag: 'holds', role: 'submitter' },
      summary: 'The holds that stand.',
      ...{ params: noParams, query: noQuery, body: null, answer: holdsAnswer, statuses: [200] },
      handle: async ({ caller }) => ({ holds: await collections.seenHolds(caller, await control.holds()) }),
    }),
    route({
      ...{ method: 'GET', path: '/api/holds/past', tag: 'holds', role: 'submitter' },
      summary: 'Those that have ended, and by whom; the latest first.',
      ...{ params: noParams, body: null, answer: holdsAnswer, statuses: [200] },
      query: z.strictObject({ limit: wholeNumber(1, limits.pageMax).optional() }),
      handle: async ({ caller, query }) => {
        const past = await control.pastHolds(query.limit ?? limits.pageDefault)
        return { holds: await collections.seenHolds(caller, past) }
      },
    }),
    route({
      ...{ method: 'GET', path: '/api/holds/:id', tag: 'holds', role: 'submitter' },
      summary: 'One hold: one that stands, or one of the latest that have ended.',
      ...{ params: idParams, query: noQuery, body: null, answer: holdAnswer, statuses: [200] },
      handle: async ({ caller, params }) => {
        const all = [...(await control.holds()), ...(await control.pastHolds(limits.pageMax))]
        const [hold] = await collections.seenHolds(
          caller,
          all.filter(({ id }) => id === params.id),
        )
        if (hold) return hold
        throw new SluiceError('not_found', `There is no hold ${params.id}.`, { hold: params.id })
      },
    }),
    route({
      ...{ method: 'POST', path: '/api/holds', tag: 'holds', role: 'operator' },
      summary: 'Holds what its scope names, until it is released or its time is over.',
      ...{ params: noParams, query: noQuery, answer: holdAnswer, statuses: [201] },
      location: ({ id }) => `/api/holds/${id}`,
      body: z.strictObject({ scope: holdScope, reason: reasonText, until: timeNumber.optional() }),
      handle: async ({ caller, body, requestId, idempotencyKey }) => {
        const { scope, reason, until } = body
        await collections.refuseForeignScope(caller, scope)
        if (idempotencyKey !== null) {
          const standing = (await control.holds()).find((hold) => isAlike(hold, body, caller.actor))
          if (standing) return standing
        }
        return control.hold(scope, {
          ...actorOf(caller, requestId, undefined),
          ...{ reason, owner: caller.actor, ...(until === undefined ? {} : { until }) },
        })
      },
    }),
    route({
      ...{ method: 'DELETE', path: '/api/holds/:id', tag: 'holds', role: 'operator' },
      summary: 'Releases a hold.',
      ...{ params: idParams, query: noQuery, answer: null, statuses: [204] },
      body: z.strictObject({ reason: reasonText.optional() }),
      handle: async ({ caller, params, body, requestId }) => {
        const seen = await collections.seenHolds(caller, await control.holds())
        if (!seen.some(({ id }) => id === params.id)) {
          const there = seen.map(({ id }) => id).join(', ') || 'none'
          throw new SluiceError(
            'not_found',
            `There is no hold ${params.id}; it was released, or has ended. Standing now: ${there}.`,
            { hold: params.id },
          )
        }
        await control.release(params.id, actorOf(caller, requestId, body.reason))
        return null
      },
    }),
  ]
}

/** Set by the same request, whose answer was lost. */
function isAlike(hold: Hold, asked: Pick<Hold, 'scope' | 'reason'> & { until?: number | undefined }, owner: string) {
  const { machine, state, parent, entity, label } = hold.scope
  const other = asked.scope
  return (
    hold.owner === owner &&
    hold.reason === asked.reason &&
    hold.until === (asked.until ?? null) &&
    machine === other.machine &&
    state === other.state &&
    parent === other.parent &&
    entity === other.entity &&
    label?.name === other.label?.name &&
    label?.value === other.label?.value
  )
}
