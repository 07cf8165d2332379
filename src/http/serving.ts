import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from './access.ts'
import { answerText } from './internals.ts'
import { type Replay, replayKey } from './replay.ts'
import { Answered, type Asked, checkParts, type Route } from './route.ts'
import { digestOf } from './secret.ts'

/** Whoever calls a public route without a token. */
const stranger: Caller = {
  kind: 'token',
  actor: 'stranger',
  role: 'submitter',
  collections: [],
  csrf: null,
  expiresAt: null,
  tokenDigest: null,
}

/** Lets the server answer a route: checks every part of the request, and replays what was answered before. */
export function serveRoute(server: FastifyInstance, route: Route, replay: Replay): void {
  const { method, path: url, role, everywhere = false } = route
  const isStream = route.kind === 'raw' && route.offers === 'text/event-stream'
  server.route({
    ...{ method, url, config: { role, everywhere, isStream }, exposeHeadRoute: !isStream },
    handler: (request, reply) => answerTo(route, request, reply, replay),
  })
}

async function answerTo(route: Route, request: FastifyRequest, reply: FastifyReply, replay: Replay): Promise<unknown> {
  reply.header('cache-control', 'no-store')
  const caller = request.caller ?? stranger
  const key =
    route.method === 'POST' && !route.unkept
      ? replayKey(request.headers['idempotency-key'], request.caller, route.method, pathOf(request))
      : null
  const asked: Asked = {
    caller,
    requestId: key === null ? request.id : `key-${key.slice(0, 40)}`,
    idempotencyKey: key,
    ...checkParts(route, request),
  }
  reply.header('x-request-id', asked.requestId)
  if (route.kind === 'raw') return route.serve(asked, request, reply)
  const run = async () => {
    const result = await route.handle(asked)
    const isOwn = result instanceof Answered
    const status = isOwn ? result.status : (route.statuses[0] ?? 200)
    return { status, body: status === 204 ? '' : answerText(caller, isOwn ? result.body : result) }
  }
  const fingerprint = async () => digestOf((request.bodyBytes ?? '').toString())
  const outcome = key === null ? await run() : await replay.once(key, fingerprint, run)
  if ('isReplayed' in outcome && outcome.isReplayed) reply.header('idempotent-replayed', 'true')
  reply.code(outcome.status)
  if (route.location && (outcome.status === 201 || outcome.status === 202)) {
    reply.header('location', route.location(JSON.parse(outcome.body)))
  }
  if (route.isStable && isKnown(outcome.body, request, reply)) return reply.code(304).send()
  return outcome.status === 204 ? reply.send() : reply.type('application/json; charset=utf-8').send(outcome.body)
}

/** Whether the caller has this very answer already. */
function isKnown(text: string, request: FastifyRequest, reply: FastifyReply): boolean {
  // Weak: the same answer is sent compressed and plain.
  const tag = `W/"${digestOf(text).slice(0, 22)}"`
  reply.headers({ etag: tag, 'cache-control': 'private, no-cache' })
  const known = request.headers['if-none-match'] ?? ''
  return known === '*' || known.split(',').some((one) => one.trim().replace(/^(?!W\/)/, 'W/') === tag)
}

function pathOf(request: FastifyRequest): string {
  return request.url.split('?', 1)[0] as string
}
