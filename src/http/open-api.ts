import type { z } from 'zod'
import { problemAnswer } from './answer-schemas.ts'
import { jsonSchemaOf } from './json-schema.ts'
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
      schemas: { Problem: jsonSchemaOf(problemAnswer, 'output') },
    },
  }
}

function operationOf(route: Route): Json {
  const body = bodyOf(route)
  return {
    tags: [route.tag],
    operationId: operationId(route),
    summary: route.summary,
    description: `Role: ${route.role}.${route.everywhere ? ' Not for tokens that are limited to collections.' : ''}`,
    security: route.role === 'public' ? [] : [{ token: [] }, { session: [] }],
    parameters: [
      ...parametersOf('path', route.params),
      ...parametersOf('query', route.query),
      ...(route.method === 'POST'
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
      default: {
        description: 'It was not done; the problem says why.',
        content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
      },
    },
  }
}

function operationId({ method, path }: Route): string {
  const words = path.split('/').flatMap((part) => part.replace(/^:/, 'by-').split(/[^A-Za-z0-9]+/))
  const title = words.filter((word) => word !== '').map((word) => word[0]?.toUpperCase() + word.slice(1))
  return method.toLowerCase() + title.join('')
}

function parametersOf(place: 'path' | 'query', schema: z.ZodType): readonly Json[] {
  const { properties = {}, required = [] } = jsonSchemaOf(schema, 'output') as {
    readonly properties?: Readonly<Record<string, unknown>>
    readonly required?: readonly string[]
  }
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    schema: property,
  }))
}

function bodyOf(route: Route): Json | null {
  const form =
    route.kind === 'raw' && route.accepts
      ? { 'multipart/form-data': { schema: { type: 'object', additionalProperties: true } } }
      : {}
  const json = route.body === null ? {} : { 'application/json': { schema: jsonSchemaOf(route.body, 'input') } }
  const content = { ...form, ...json }
  return Object.keys(content).length === 0 ? null : { required: needsBody(route), content }
}

function needsBody(route: Route): boolean {
  return route.body === null || !route.body.safeParse({}).success
}

function answerOf(route: Route, status: number): Json {
  const description = status === 204 ? 'Done.' : route.summary
  if (route.kind === 'raw' && route.offers) {
    return { description, content: { [route.offers]: { schema: { type: 'string' } } } }
  }
  if (route.answer === null) return { description }
  return { description, content: { 'application/json': { schema: jsonSchemaOf(route.answer, 'output') } } }
}
