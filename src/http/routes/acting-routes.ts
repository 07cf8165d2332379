import { z } from 'zod'
import { SluiceError } from '../../errors.ts'
import type { Caller } from '../access.ts'
import { actAnswer, manyAnswer } from '../answer-schemas.ts'
import { given, idNumber, idParams, nameText, priorityNumber, reasonText, wholeNumber } from '../asked-schemas.ts'
import { walkName } from '../collections.ts'
import type { Context } from '../context.ts'
import { answer, noParams, noQuery, type Route, route } from '../route.ts'
import { Confirmations } from './confirmations.ts'
import { filterBody } from './entity-filter.ts'
import { doneBefore, walkBefore } from './repeated-act.ts'

/** Who asks, as the history keeps it. */
export function actorOf(caller: Caller, requestId: string, reason: string | undefined) {
  return { actor: caller.actor, role: caller.role, requestId, ...(reason === undefined ? {} : { reason }) }
}

/** What people do with entities. Which role an action needs stands at its edge: the engine judges it. */
export function actingRoutes({ control, collections, limits, clock, log }: Context): readonly Route[] {
  const confirmations = new Confirmations(clock, limits)
  return [
    route({
      ...{ method: 'POST', path: '/api/entities/:id/actions/:action', tag: 'acting', role: 'submitter' },
      summary: 'Asks for an action. One with a warning must be confirmed.',
      params: idParams.extend({ action: nameText }),
      ...{ query: noQuery, answer: actAnswer, statuses: [200] },
      body: z.strictObject({
        reason: reasonText.optional(),
        input: z.unknown().optional(),
        to: nameText.optional(),
        seq: idNumber.optional(),
        confirmed: z.boolean().optional(),
      }),
      handle: async ({ caller, params, body, requestId, idempotencyKey }) => {
        const { id, action } = params
        await collections.refuseForeign(caller, id)
        const before = idempotencyKey === null ? null : await doneBefore(control, id, requestId)
        if (before) return before
        const { reason, ...rest } = body
        return control.act(id, action, { ...given(rest), ...actorOf(caller, requestId, reason) })
      },
    }),
    route({
      ...{ method: 'PUT', path: '/api/entities/:id/priority', tag: 'acting', role: 'operator' },
      summary: 'Where it stands in its line: lower numbers first.',
      ...{ params: idParams, query: noQuery, statuses: [200] },
      body: z.strictObject({ priority: priorityNumber }),
      answer: z.object({ id: z.int(), priority: z.int() }),
      handle: async ({ caller, params, body, requestId }) => {
        await collections.refuseForeign(caller, params.id)
        await control.prioritise(params.id, body.priority)
        // A priority is no move and stands in no history.
        log.info({ requestId, actor: caller.actor, ...params, ...body }, 'a priority was set')
        return { id: params.id, priority: body.priority }
      },
    }),
    route({
      ...{ method: 'POST', path: '/api/actions', tag: 'acting', role: 'operator' },
      summary: 'An act on many: first a dry run that counts, then, with its confirmation, the act itself.',
      ...{ params: noParams, query: noQuery, answer: manyAnswer, statuses: [200, 202] },
      location: ({ walk }) => `/api/actions/${walk}`,
      body: z.union([
        z.strictObject({ confirmation: z.string().min(1).max(200) }),
        z.strictObject({
          filter: filterBody,
          action: nameText,
          reason: reasonText.optional(),
          input: z.unknown().optional(),
          to: nameText.optional(),
        }),
      ]),
      handle: async ({ caller, body, requestId, idempotencyKey }) => {
        if (!('confirmation' in body)) {
          const filter = await collections.confined(caller, body.filter)
          const { action, reason, input, to } = body
          const counted = await control.actOnMany(filter, action, {
            ...given({ to, input }),
            ...actorOf(caller, requestId, reason),
          })
          const kept = confirmations.keep(caller, { filter, action, reason, input, to })
          return { ...counted, ...kept }
        }
        const before = idempotencyKey === null ? null : await walkBefore(control, requestId)
        if (before !== null) return answer(202, before)
        const { filter, action, reason, input, to } = confirmations.take(caller, body.confirmation)
        const started = await control.actOnMany(filter, action, {
          ...given({ to, input }),
          ...actorOf(caller, requestId, reason),
          confirm: true,
          ...(idempotencyKey === null ? {} : { key: `idem:${idempotencyKey}` }),
        })
        return answer(202, { ...started, confirmation: null, expiresAt: null })
      },
    }),
    route({
      ...{ method: 'GET', path: '/api/actions/:walk', tag: 'acting', role: 'submitter' },
      summary: 'How an act on many went: its count by verdict, and the first of those that refused.',
      params: z.strictObject({ walk: wholeNumber(0, Number.MAX_SAFE_INTEGER) }),
      ...{ query: noQuery, body: null, statuses: [200] },
      answer: z.object({ id: z.int(), state: z.string(), progress: z.unknown(), result: z.unknown() }),
      handle: async ({ caller, params }) => {
        const detail = await collections.get(caller, params.walk)
        if (detail.machine !== walkName) {
          throw new SluiceError('not_found', `Entity ${params.walk} is no act on many.`, { id: params.walk })
        }
        const { result = null } = detail.data as { readonly result?: unknown }
        return { id: detail.id, state: detail.state, progress: detail.progress, result }
      },
    }),
  ]
}
