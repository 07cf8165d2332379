import { z } from 'zod'
import { idText, nameText, repeated } from '../asked-schemas.ts'
import type { Context } from '../context.ts'
import { Callers } from '../feed/callers.ts'
import { Listener } from '../feed/listener.ts'
import { sieveOf } from '../feed/sieve.ts'
import { HttpRefusal, invalid } from '../problem.ts'
import { noParams, type Route, rawRoute } from '../route.ts'

const idsMax = 100

/** The feed of all changes, as server-sent events. */
export function feedRoutes(context: Context): readonly Route[] {
  const { control, hub, origins, limits, clock, listeners } = context
  const perActor = new Map<string, number>()
  const callers = new Callers(context)
  return [
    rawRoute({
      ...{ method: 'GET', path: '/api/events', tag: 'events', role: 'submitter' },
      summary:
        'Every change from now on, or from a position (`after`, Last-Event-ID), as server-sent events: ready, change, resync.',
      ...{ params: noParams, body: null, answer: null, statuses: [200], offers: 'text/event-stream' },
      query: z.strictObject({
        after: idText.optional(),
        ids: repeated(idText, idsMax).optional(),
        machine: nameText.optional(),
      }),
      async serve({ caller, query }, request, reply) {
        const { actor } = caller
        const own = perActor.get(actor) ?? 0
        if (listeners.size >= limits.listenersMax || own >= limits.listenersPerToken) {
          throw new HttpRefusal('rate-limited', `${own} connections of ${actor} listen already; close some.`, {
            headers: { 'retry-after': '10' },
          })
        }
        const after = query.after ?? lastEventId(request.headers['last-event-id'])
        perActor.set(actor, own + 1)
        reply.hijack()
        const response = reply.raw
        response.writeHead(200, {
          ...Object.fromEntries(Object.entries(reply.getHeaders()).filter(([, value]) => value !== undefined)),
          'content-type': 'text/event-stream; charset=utf-8',
          'cache-control': 'no-store',
          'x-accel-buffering': 'no',
          // Nothing else comes over this connection: when the stream ends it ends too, and a stopping server need not wait for it.
          connection: 'close',
        })
        const listener: Listener = new Listener({
          ...{ hub, control, response, limits, clock, role: caller.role },
          sieve: sieveOf(caller, { ids: query.ids, machine: query.machine }, origins),
          ended: () => {
            listeners.delete(listener)
            callers.delete(listener)
            const left = (perActor.get(actor) ?? 1) - 1
            if (left > 0) perActor.set(actor, left)
            else perActor.delete(actor)
          },
        })
        listeners.add(listener)
        callers.add(listener, caller)
        await listener.begin(after).catch(() => listener.resync('the feed cannot be read now'))
        return reply
      },
    }),
  ]
}

/** A browser sends it when it connects again. */
function lastEventId(header: unknown): number | null {
  if (header === undefined) return null
  const checked = idText.safeParse(header)
  if (checked.success) return checked.data
  throw invalid([{ in: 'header', path: 'last-event-id', message: 'must be the id of a message of this feed' }])
}
