import { z } from 'zod'
import type { Worker } from '../../lease.ts'
import type { Drift } from '../../store.ts'
import { driftAnswer, workerAnswer } from '../answer-schemas.ts'
import { idNumber, parentText, reasonText, repeated } from '../asked-schemas.ts'
import type { Context } from '../context.ts'
import { HttpRefusal } from '../problem.ts'
import { noParams, noQuery, type Route, route } from '../route.ts'
import { actorOf } from './acting-routes.ts'

const parentsMax = 1_000
/** So many ids of any size fit into an address, which is shorter than the headers may be. */
const parentsInQueryMax = 500

/** Workers, and the check of what is counted. */
export function operatingRoutes({ control, collections }: Context): readonly Route[] {
  const driftsAnswer = z.object({ drifts: z.array(driftAnswer) }) as z.ZodType<{ drifts: readonly Drift[] }>
  return [
    route({
      ...{ method: 'GET', path: '/api/workers', tag: 'operating', role: 'submitter' },
      summary: 'The workers whose lease has not expired.',
      ...{ params: noParams, query: noQuery, body: null, statuses: [200] },
      answer: z.object({ workers: z.array(workerAnswer) }) as z.ZodType<{ workers: readonly Worker[] }>,
      handle: async () => ({ workers: await control.workers() }),
    }),
    route({
      ...{ method: 'GET', path: '/api/check', tag: 'operating', role: 'operator' },
      summary: 'Recounts lanes from the rows and names every drift. Changes nothing.',
      ...{ params: noParams, body: null, answer: driftsAnswer, statuses: [200] },
      query: z.strictObject({ parent: repeated(parentText, parentsInQueryMax).optional() }),
      handle: async ({ caller, query }) => {
        const parents = query.parent ?? [null]
        for (const parent of parents) {
          if (parent !== null) await collections.refuseForeign(caller, parent)
          else if (caller.collections !== null) {
            const message = 'The roots are of all collections; this token is limited to some. Name a parent.'
            throw new HttpRefusal('forbidden', message)
          }
        }
        return { drifts: await control.check(parents) }
      },
    }),
    route({
      ...{ method: 'POST', path: '/api/repair', tag: 'operating', role: 'admin', everywhere: true },
      summary: 'The same, and mends it with an audited event. Null: the roots.',
      ...{ params: noParams, query: noQuery, answer: driftsAnswer, statuses: [200] },
      body: z.strictObject({
        parents: z.array(idNumber.nullable()).min(1).max(parentsMax),
        reason: reasonText.optional(),
      }),
      handle: async ({ caller, body, requestId }) => ({
        drifts: await control.repair(body.parents, actorOf(caller, requestId, body.reason)),
      }),
    }),
  ]
}
