import { z } from 'zod'
import type { Detail } from '../../control.ts'
import type { Lane } from '../../lane.ts'
import {
  detailAnswer,
  eventAnswer,
  explanationAnswer,
  laneAnswer,
  pageAnswer,
  progressAnswer,
} from '../answer-schemas.ts'
import { idParams, pageQuery } from '../asked-schemas.ts'
import type { Context } from '../context.ts'
import { noParams, noQuery, type Route, route } from '../route.ts'
import { filterFields, filterOf, isPaired, pairFault, parentField } from './entity-filter.ts'
import { reportAnswer } from './report.ts'

/** Looking at entities. */
export function entityRoutes(context: Context): readonly Route[] {
  const { control, collections, limits } = context
  const lanesAnswer = z.object({ lanes: z.array(laneAnswer) }) as z.ZodType<{ lanes: readonly Lane[] }>
  const look = { method: 'GET', tag: 'entities', role: 'submitter', body: null, statuses: [200] } as const
  return [
    route({
      ...{ ...look, path: '/api/totals', params: noParams, query: noQuery },
      summary: 'All roots by machine and state.',
      answer: z.object({
        lanes: z.array(laneAnswer),
        exact: z.boolean().describe('False: there are more; a limited token counts up to a bound.'),
      }) as z.ZodType<{ lanes: readonly Lane[]; exact: boolean }>,
      handle: ({ caller }) => collections.totals(caller),
    }),
    route({
      ...{ ...look, path: '/api/entities', params: noParams, answer: pageAnswer },
      summary: 'Entities by filter, in pages.',
      query: z.strictObject({ ...filterFields(limits), ...parentField }).refine(isPaired, pairFault),
      handle: ({ caller, query }) => collections.list(caller, filterOf(query, limits)),
    }),
    route({
      ...{ ...look, path: '/api/find', params: noParams },
      summary: 'What a person means who types an id or a key: none, one or two entities.',
      query: z.strictObject({ text: z.string().min(1).max(200) }),
      answer: z.object({ found: z.array(detailAnswer) }) as z.ZodType<{ found: readonly Detail[] }>,
      handle: async ({ caller, query }) => ({
        found: await collections.seen(caller, await control.find(query.text), ({ id }) => id),
      }),
    }),
    route({
      ...{ ...look, path: '/api/entities/:id', params: idParams, query: noQuery, answer: detailAnswer },
      summary: 'One entity, with the actions that may be asked for now.',
      handle: ({ caller, params }) => collections.get(caller, params.id),
    }),
    route({
      ...{ ...look, path: '/api/entities/:id/history', params: idParams },
      summary: 'Every hop of it, oldest first. `limit` counts moves; a move may be several hops.',
      query: z.strictObject(pageQuery(limits)),
      answer: z.object({
        events: z.array(eventAnswer),
        next: z.int().nullable().describe('To be given as `after`; null: this was the last page.'),
      }),
      handle: async ({ caller, params, query }) => {
        await collections.refuseForeign(caller, params.id)
        const limit = query.limit ?? limits.pageDefault
        const events = [
          ...(await control.history(params.id, {
            limit,
            ...(query.after === undefined ? {} : { afterSeq: query.after }),
          })),
        ]
        const moves = new Set(events.map(({ seq }) => seq)).size
        return { events, next: moves < limit ? null : (events.at(-1)?.seq ?? null) }
      },
    }),
    route({
      ...{ ...look, path: '/api/entities/:id/lanes', params: idParams, query: noQuery, answer: lanesAnswer },
      summary: 'Its children, counted by lane.',
      handle: async ({ caller, params }) => {
        await collections.refuseForeign(caller, params.id)
        return { lanes: await control.lanes(params.id) }
      },
    }),
    route({
      ...{ ...look, path: '/api/entities/:id/progress', params: idParams, query: noQuery, answer: progressAnswer },
      summary: 'How far its children are.',
      handle: async ({ caller, params }) => {
        await collections.refuseForeign(caller, params.id)
        return control.progress(params.id)
      },
    }),
    route({
      ...{ ...look, path: '/api/entities/:id/explain', params: idParams, query: noQuery, answer: explanationAnswer },
      summary: 'Why it is where it is.',
      handle: async ({ caller, params }) => {
        await collections.refuseForeign(caller, params.id)
        return control.explain(params.id)
      },
    }),
    route({
      ...{ ...look, path: '/api/entities/:id/children', params: idParams, answer: pageAnswer },
      summary: 'Its children by filter, in pages.',
      query: z.strictObject(filterFields(limits)).refine(isPaired, pairFault),
      handle: async ({ caller, params, query }) => {
        // An id that is not there has no children; it is told as unknown, like everywhere.
        await collections.get(caller, params.id)
        return collections.list(caller, { ...filterOf(query, limits), parent: params.id })
      },
    }),
    route({
      ...{ ...look, path: '/api/entities/:id/report', params: idParams, query: noQuery, answer: reportAnswer },
      summary: 'How it ended, or how far it is, and what it reports.',
      handle: async ({ caller, params }) => {
        await collections.refuseForeign(caller, params.id)
        return control.report(params.id)
      },
    }),
  ]
}
