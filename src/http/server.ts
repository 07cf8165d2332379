import { STATUS_CODES } from 'node:http'
import type { AddressInfo } from 'node:net'
import fastifyCookie from '@fastify/cookie'
import fastifyMultipart from '@fastify/multipart'
import fastifyRateLimit from '@fastify/rate-limit'
import fastifySwagger from '@fastify/swagger'
import fastifySwaggerUi from '@fastify/swagger-ui'
import { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import type { Logger } from 'pino'
import { z } from 'zod'
import type { Clock } from '../clock.ts'
import type { Control } from '../control.ts'
import { isSluiceError, messageOf, SluiceError } from '../errors.ts'
import type { RunFigures } from '../run-figures.ts'
import type { Access } from './access.ts'
import { Collections } from './collections.ts'
import { compressAnswers } from './compression.ts'
import type { Context } from './context.ts'
import { Door, isLoopbackAddress } from './door.ts'
import { FairTurns } from './fair-turns.ts'
import type { Families } from './families.ts'
import { Callers } from './feed/callers.ts'
import { FeedHub } from './feed/hub.ts'
import type { Listener } from './feed/listener.ts'
import { type HttpLimits, httpLimitsOf } from './http-limits.ts'
import { type IdempotencyStore, sweepNowAndThen } from './idempotency.ts'
import { parseJson } from './json-text.ts'
import { KnownMethods } from './known-methods.ts'
import { Metrics } from './metrics.ts'
import { openApiOf } from './open-api.ts'
import { Origins } from './origins.ts'
import { HttpRefusal, type Problem, problemOf, sendProblem } from './problem.ts'
import { watchOverBodies } from './receiving.ts'
import { RefusalLog } from './refusal-log.ts'
import { Replay } from './replay.ts'
import { noParams, noQuery, type Route, route } from './route.ts'
import { routesOf } from './routes/index.ts'
import { newSecret } from './secret.ts'
import { addSecurityHeaders } from './security-headers.ts'
import { serveRoute } from './serving.ts'
import { Sessions } from './sessions.ts'
import { UnusedSockets } from './unused-sockets.ts'

export interface ServerOptions {
  readonly control: Control
  readonly families: Families
  readonly access: Access
  readonly idempotency: IdempotencyStore
  readonly listen: { readonly host: string; readonly port: number }
  /** Names by which it may be called, besides `localhost` and the addresses that it listens on. */
  readonly names?: readonly string[]
  /** Registered last; its routes need a token unless their config says `role: 'public'`. */
  readonly dashboard?: (server: FastifyInstance) => Promise<void>
  readonly limits?: Partial<HttpLimits>
  readonly log: Logger
  readonly clock: Clock
  /** What the engine of this process has done, for /metrics. */
  readonly figures?: () => RunFigures
  /** Of the program, for the document of the API. */
  readonly version?: string
}

export interface Server {
  readonly url: string
  /** Every route of the API, for whoever wants to know. */
  readonly routes: readonly Route[]
  /** Lets requests that are under way end, for a while; closes what was opened here. */
  close(): Promise<void>
}

/** Serves the API, and the dashboard if one is handed in. */
export async function openServer(options: ServerOptions): Promise<Server> {
  const { access, listen, clock, log } = options
  const limits = httpLimitsOf(options.limits)
  const isLoopback = listen.host === 'localhost' || isLoopbackAddress(listen.host)
  if (!isLoopback && (await access.isEmpty())) {
    throw new SluiceError(
      'invalid',
      `There is no token, so nobody could be told apart on ${listen.host}: make one with \`sluice token create\`, or listen on 127.0.0.1.`,
      { host: listen.host },
    )
  }
  const context = contextOf(options, limits, isLoopback)
  const metrics = new Metrics(context)
  const { server, methods } = newServer(limits, log, clock)
  const unused = new UnusedSockets(server.server)
  const routes = [...routesOf(context, metrics)]
  const document = openApiOf([...routes, documentRoute({})], options.version ?? '0')
  routes.push(documentRoute(document))
  await guard(server, methods, options, context, metrics)
  await serve(server, context, routes)
  await serveDocs(server, document)
  if (options.dashboard) await server.register(options.dashboard)
  const stopSweeping = sweepNowAndThen(options.idempotency, clock, limits.replayMs, (error) =>
    log.warn({ error: messageOf(error) }, 'old answers could not be removed'),
  )
  try {
    await server.listen({ host: listen.host, port: listen.port })
  } catch (error) {
    stopSweeping()
    metrics.close()
    await server.close()
    throw error
  }
  const close = async () => {
    stopSweeping()
    await closeServer(server, unused, context)
    metrics.close()
  }
  return { url: urlOf(server), routes, close }
}

function contextOf(options: ServerOptions, limits: HttpLimits, isLoopback: boolean): Context {
  const { control, families, access, clock, log, idempotency } = options
  const origins = new Origins(control, clock)
  return {
    ...{ control, families, access, limits, clock, log, isLoopback, origins },
    figures: options.figures ?? null,
    sessions: new Sessions(clock, limits),
    collections: new Collections(control, origins, limits.pageMax),
    hub: new FeedHub({
      ...{ control, clock, entriesMax: limits.behindMax + 1 },
      failed: (error) => log.warn({ error: messageOf(error) }, 'the feed could not be read; it is tried again'),
    }),
    listeners: new Set<Listener>(),
    replay: new Replay(idempotency, clock, limits),
  }
}

function newServer(limits: HttpLimits, log: Logger, clock: Clock): { server: FastifyInstance; methods: KnownMethods } {
  let requests = 0
  const refusals = new RefusalLog(log, clock)
  const boot = newSecret().slice(0, 8)
  const newId = () => `${boot}-${(++requests).toString(36)}`
  const server = fastify({
    logger: false,
    bodyLimit: limits.bodyBytesMax,
    exposeHeadRoutes: true,
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: 1_000 },
    // Bodies are watched over by receiving.ts and multipart.ts: a big upload may take long, a small body may not.
    requestTimeout: 0,
    http: { maxHeaderSize: limits.headerBytesMax, headersTimeout: limits.receiveMs },
    genReqId: newId,
    frameworkErrors: (error, request, reply) => {
      sendProblem(reply as FastifyReply, problemOf(error, request.id))
    },
    clientErrorHandler: (error, socket) => {
      if (error.code === 'ECONNRESET' || !socket.writable) return
      const status = error.code === 'HPE_HEADER_OVERFLOW' ? 431 : error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400
      const type = status === 431 ? 'too-large' : status === 408 ? 'timeout' : 'invalid'
      const message = `The request is no valid HTTP (${error.code ?? 'malformed'}).`
      const id = newId()
      const body = JSON.stringify(problemOf(new HttpRefusal(type, message, { status }), id))
      const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/problem+json\r\nX-Request-Id: ${id}\r\nConnection: close\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`
      socket.end(head + body)
    },
  })
  const methods = new KnownMethods(server)
  server.removeAllContentTypeParsers()
  server.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, body: Buffer) => {
      checkCharset(request.headers['content-type'] ?? '')
      request.bodyBytes = body
      return body.length === 0 ? undefined : parseJson(body, limits.depthMax)
    },
  )
  server.setErrorHandler((thrown: FastifyError, request, reply) => {
    // What no route takes is not judged by its body.
    const isUnknown = request.is404 && /^FST_ERR_(CTP|ROUTE)_/.test(thrown.code ?? '')
    const error = isUnknown ? unknownRoute(request.method, methods.of(request.url)) : thrown
    const problem = problemOf(error, request.id)
    const { method } = request
    if (problem.status === 503) {
      log.warn({ requestId: request.id, method, route: request.routeOptions.url }, problem.detail)
    } else if (problem.status >= 500) {
      log.error({ err: error, requestId: request.id, method, route: request.routeOptions.url }, 'a request failed')
    } else if (problem.status === 401) {
      const { url: route } = request.routeOptions
      // Without one it is a browser that has not logged in yet.
      if (request.headers.authorization !== undefined)
        refusals.refused(request.ip, { requestId: request.id, method, route })
    } else if (problem.status === 403) {
      const { caller, ip: address } = request
      log.warn(
        { requestId: request.id, method, route: request.routeOptions.url, address, actor: caller?.actor },
        problem.detail,
      )
    }
    return sendRefusal(request, reply, error, problem)
  })
  return { server, methods }
}

/** JSON is UTF-8, whatever else a header may say: read as something else it would mean something else. */
function checkCharset(contentType: string): void {
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(contentType)?.[1]
  if (charset === undefined || /^utf-?8$/i.test(charset)) return
  throw new HttpRefusal('wrong-content-type', `The body must be UTF-8, not ${charset.slice(0, 40)}.`)
}

function unknownRoute(method: string, allowed: readonly string[]): HttpRefusal {
  // A route that takes the method has looked, and found nothing.
  if (allowed.length === 0 || allowed.includes(method)) {
    return new HttpRefusal('not-found', 'There is no such path. /openapi.json names all that there are.')
  }
  const allow = allowed.join(', ')
  return new HttpRefusal('wrong-method', `This path does not know ${method}; it knows ${allow}.`, {
    headers: { allow },
  })
}

function sendRefusal(request: FastifyRequest, reply: FastifyReply, error: unknown, problem: Problem): FastifyReply {
  if (error instanceof HttpRefusal) reply.headers(error.headers)
  else if (isSluiceError(error, 'internal')) reply.header('retry-after', '1')
  // What is refused is not read to its end: the rest could be endless.
  if (!request.raw.complete) reply.header('connection', 'close')
  reply.header('cache-control', 'no-store')
  return sendProblem(reply, problem)
}

/** Everything that a request passes before its route. */
async function guard(
  server: FastifyInstance,
  methods: KnownMethods,
  options: ServerOptions,
  context: Context,
  metrics: Metrics,
): Promise<void> {
  const { limits, access, sessions, isLoopback } = context
  addSecurityHeaders(server)
  await server.register(fastifyCookie)
  const names = ['localhost', options.listen.host, ...(options.names ?? [])]
  new Door({ access, sessions, names, isLoopback, callers: new Callers(context) }).guard(server)
  await server.register(fastifyRateLimit, {
    timeWindow: limits.windowMs,
    max: (request: FastifyRequest) => (request.caller ? limits.requestsMax : limits.strangersMax),
    keyGenerator: (request: FastifyRequest) =>
      request.caller ? `caller:${request.caller.actor}` : `address:${request.ip}`,
    cache: 10_000,
    addHeaders: { 'x-ratelimit-limit': false, 'x-ratelimit-remaining': false, 'x-ratelimit-reset': false },
    addHeadersOnExceeding: { 'x-ratelimit-limit': false, 'x-ratelimit-remaining': false, 'x-ratelimit-reset': false },
    errorResponseBuilder: (_request, { after }) =>
      new HttpRefusal('rate-limited', `Too many requests; go on after ${after}.`),
  })
  const turns = new FairTurns({ clock: context.clock, waitingMax: limits.waitingMax })
  server.addHook('preParsing', (request, reply, payload, done) => {
    // Strangers reach only what costs little; a stream is never answered to its end.
    if (!request.caller || request.routeOptions.config.isStream) return done(null, payload)
    const kind = request.method === 'GET' || request.method === 'HEAD' ? 'read' : 'write'
    try {
      turns.enter(request.caller.actor, kind, (answered) => {
        if (request.raw.socket.destroyed) {
          // It went away while it waited: nothing of its body will come, and nobody hears an answer.
          answered()
          return done(new HttpRefusal('invalid', 'The request broke off.'))
        }
        reply.raw.once('close', answered)
        done(null, payload)
      })
    } catch (error) {
      done(error as Error)
    }
  })
  watchOverBodies(server, limits, context.clock)
  server.setNotFoundHandler({ preHandler: server.rateLimit() }, (request, reply) => {
    const allowed = methods.of(request.url)
    if (request.method === 'OPTIONS' && allowed.length > 0) {
      return reply.code(204).header('allow', allowed.join(', ')).send()
    }
    const refusal = unknownRoute(request.method, allowed)
    return sendRefusal(request, reply, refusal, problemOf(refusal, request.id))
  })
  compressAnswers(server)
  server.addHook('onResponse', async (request, reply) => {
    metrics.answered(request.method, request.routeOptions.url ?? 'unknown', reply.statusCode, reply.elapsedTime)
  })
}

async function serve(server: FastifyInstance, { limits, replay }: Context, routes: readonly Route[]): Promise<void> {
  const isForm = (route: Route) => route.kind === 'raw' && route.accepts !== undefined
  for (const route of routes.filter((route) => !isForm(route))) serveRoute(server, route, replay)
  // Only these take forms: everywhere else their content type is refused.
  await server.register(async (scope) => {
    await scope.register(fastifyMultipart, { limits: { fileSize: limits.fileBytesMax } })
    for (const route of routes.filter(isForm)) serveRoute(scope, route, replay)
  })
}

function documentRoute(document: object): Route {
  return route({
    ...{ method: 'GET', path: '/openapi.json', tag: 'operating', role: 'public' },
    summary: 'This document.',
    ...{ params: noParams, query: noQuery, body: null, statuses: [200] },
    isStable: true,
    answer: z.looseObject({ openapi: z.string() }) as unknown as z.ZodType<object>,
    handle: async () => document,
  })
}

async function serveDocs(server: FastifyInstance, document: object): Promise<void> {
  await server.register(async (scope) => {
    scope.addHook('onRoute', (declared) => {
      declared.config = { ...declared.config, role: 'public' }
    })
    await scope.register(fastifySwagger, {
      mode: 'static',
      specification: { document: document as never },
    })
    await scope.register(fastifySwaggerUi, { routePrefix: '/docs' })
  })
}

function urlOf(server: FastifyInstance): string {
  const { address, port, family } = server.server.address() as AddressInfo
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}

async function closeServer(
  server: FastifyInstance,
  unused: UnusedSockets,
  { hub, listeners, limits, clock }: Context,
): Promise<void> {
  hub.close()
  for (const listener of [...listeners]) listener.close()
  unused.close()
  const cancel = clock.after(limits.closeMs, () => server.server.closeAllConnections())
  try {
    await server.close()
  } finally {
    cancel()
  }
}
