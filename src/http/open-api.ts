import type { z } from 'zod'
import { namedAnswers } from './answer-schemas.ts'
import { jsonSchemaOf, referenceTo } from './json-schema.ts'
import { operationName } from './operation-names.ts'
import { problems } from './problem.ts'
import { type Route, tags } from './route.ts'

type Json = Readonly<Record<string, unknown>>

/** The document of the whole API, made from the routes as they are served. */
export function openApiOf(routes: readonly Route[], version: string): Json {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const route of routes) {
    const path = route.path.replaceAll(/:([a-zA-Z]+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Sluice',
      version,
      description: 'A durable batch engine: machines, entities, actions, holds, uploads and jobs.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: tags.map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer' },
        session: { type: 'apiKey', in: 'cookie', name: 'sluice_session' },
      },
      schemas: Object.fromEntries(
        Object.entries(namedAnswers).map(([name, schema]) => [name, jsonSchemaOf(schema, 'output')]),
      ),
    },
  }
}

function operationOf(route: Route): Json {
  const body = bodyOf(route)
  return {
    tags: [route.tag],
    operationId: operationName(route),
    summary: route.summary,
    description: `Role: ${route.role}.${route.everywhere ? ' Not for tokens that are limited to collections.' : ''}`,
    security: route.role === 'public' ? [] : [{ token: [] }, { session: [] }],
    parameters: [
      ...parametersOf('path', route.params),
      ...parametersOf('query', route.query),
      ...(takesKey(route)
        ? [
            {
              name: 'Idempotency-Key',
              in: 'header',
              required: false,
              description: 'A repeat with the same key and body is answered, not done again.',
              schema: { type: 'string', minLength: 1, maxLength: 200 },
            },
          ]
        : []),
    ],
    ...(body === null ? {} : { requestBody: body }),
    responses: {
      ...Object.fromEntries(route.statuses.map((status) => [String(status), answerOf(route, status)])),
      ...Object.fromEntries(refusalsOf(route).map((status) => [String(status), refusalOf(status)])),
      default: { description: 'It was not done; the problem says why.', content: problemContent },
    },
  }
}

const problemContent = { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } }

/** What may well come instead of the answer. */
function refusalsOf(route: Route): readonly number[] {
  const hasBody = route.body !== null || (route.kind === 'raw' && route.accepts !== undefined)
  const isAsked = hasBody || [route.params, route.query].some((schema) => namesOf(schema).length > 0)
  return [
    ...(isAsked ? [400] : []),
    ...(route.role === 'public' ? [] : [401, 403]),
    ...(namesOf(route.params).length > 0 ? [404] : []),
    ...(route.method === 'GET' ? [] : [409]),
    ...(hasBody ? [413, 415] : []),
    ...(takesKey(route) ? [422] : []),
    ...(route.role === 'public' ? [] : [429]),
  ]
}

function refusalOf(status: number): Json {
  const kinds = Object.entries(problems).filter(([, problem]) => problem.status === status)
  return {
    description: kinds.map(([type, { title }]) => `${title} (${type})`).join(' '),
    ...(status === 429 ? { headers: { 'Retry-After': header('Seconds to wait.', { type: 'integer' }) } } : {}),
    ...(status === 401 ? { headers: { 'WWW-Authenticate': header('How to show a token.', { type: 'string' }) } } : {}),
    content: problemContent,
  }
}

function header(description: string, schema: Json): Json {
  return { description, schema }
}

function takesKey({ method, unkept }: Route): boolean {
  return method === 'POST' && !unkept
}

function namesOf(schema: z.ZodType): readonly string[] {
  return Object.keys((jsonSchemaOf(schema, 'output') as { properties?: object }).properties ?? {})
}

function parametersOf(place: 'path' | 'query', schema: z.ZodType): readonly Json[] {
  const { properties = {}, required = [] } = jsonSchemaOf(schema, 'output') as {
    readonly properties?: Readonly<Record<string, unknown>>
    readonly required?: readonly string[]
  }
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...schema } = property as { readonly description?: string }
    return {
      ...{ name, in: place, required: place === 'path' || required.includes(name) },
      ...(description === undefined ? {} : { description }),
      schema,
    }
  })
}

function bodyOf(route: Route): Json | null {
  const form =
    route.kind === 'raw' && route.accepts ? { 'multipart/form-data': { schema: route.form ?? { type: 'object' } } } : {}
  const json = route.body === null ? {} : { 'application/json': { schema: jsonSchemaOf(route.body, 'input') } }
  const content = { ...form, ...json }
  return Object.keys(content).length === 0 ? null : { required: needsBody(route), content }
}

function needsBody(route: Route): boolean {
  return route.body === null || !route.body.safeParse({}).success
}

function answerOf(route: Route, status: number): Json {
  const description = status === 204 ? 'Done.' : route.summary
  const headers = headersOf(route, status)
  if (route.kind === 'raw' && route.offers) {
    return { description, content: { [route.offers]: { schema: { type: 'string' } } } }
  }
  if (route.answer === null) return { description, headers }
  const schema = referenceTo(route.answer) ?? jsonSchemaOf(route.answer, 'output')
  return { description, headers, content: { 'application/json': { schema } } }
}

function headersOf(route: Route, status: number): Json {
  const id = header('The id under which history and log name this request.', { type: 'string' })
  const location = header('Where it can be looked at.', { type: 'string', format: 'uri-reference' })
  const replayed = header('true: answered as the first time, nothing was done again.', { type: 'string' })
  return {
    'X-Request-Id': id,
    ...(status === 201 || status === 202 ? { Location: location } : {}),
    ...(takesKey(route) ? { 'Idempotent-Replayed': replayed } : {}),
    ...(route.isStable ? { ETag: header('Send it back as If-None-Match.', { type: 'string' }) } : {}),
  }
}
