import { z } from 'zod'
import { messageOf } from '../../errors.ts'
import type { Context } from '../context.ts'
import type { Metrics } from '../metrics.ts'
import { HttpRefusal } from '../problem.ts'
import { noParams, noQuery, type Route, rawRoute, route } from '../route.ts'

const status = z.object({ status: z.string() })

/** For whoever watches over the process. */
export function healthRoutes({ control, log }: Context, metrics: Metrics): readonly Route[] {
  const look = {
    method: 'GET',
    tag: 'operating',
    params: noParams,
    query: noQuery,
    body: null,
    statuses: [200],
  } as const
  return [
    route({
      ...{ ...look, path: '/health', role: 'public', answer: status },
      summary: 'The process answers.',
      handle: async () => ({ status: 'ok' }),
    }),
    route({
      ...{ ...look, path: '/ready', role: 'public', answer: status },
      summary: 'The store answers too.',
      handle: async () => {
        try {
          await control.workers()
          return { status: 'ready' }
        } catch (error) {
          log.warn({ error: messageOf(error) }, 'not ready')
          throw new HttpRefusal('not-ready', 'The store does not answer.', { headers: { 'retry-after': '5' } })
        }
      },
    }),
    rawRoute({
      ...{ ...look, path: '/metrics', role: 'submitter', everywhere: true, answer: null, offers: 'text/plain' },
      summary: 'Figures for Prometheus.',
      async serve(_asked, _request, reply) {
        return reply.type('text/plain; version=0.0.4; charset=utf-8').send(await metrics.text())
      },
    }),
  ]
}
