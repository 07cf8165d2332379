import { z } from 'zod'
import type { Context } from '../context.ts'
import { answer, noParams, noQuery, type Route, route } from '../route.ts'

/** Something to try, for a store without entities. */
export function sampleRoutes({ families: { samples } }: Context): readonly Route[] {
  if (!samples) return []
  return [
    route({
      ...{ method: 'GET', path: '/api/samples', tag: 'operating', role: 'submitter' },
      summary: 'Whether samples are offered.',
      ...{ params: noParams, query: noQuery, body: null, statuses: [200] },
      answer: z.object({ offered: z.boolean() }),
      handle: async () => ({ offered: await samples.offered() }),
    }),
    route({
      ...{ method: 'POST', path: '/api/samples', tag: 'operating', role: 'operator', everywhere: true },
      summary: 'Makes them.',
      ...{ params: noParams, query: noQuery, body: z.strictObject({}), statuses: [201] },
      location: () => '/api/entities?parent=none&newest=true',
      answer: z.object({ entities: z.array(z.int()) }),
      handle: async ({ caller }) => answer(201, { entities: [...(await samples.create(caller.actor))] }),
    }),
  ]
}
