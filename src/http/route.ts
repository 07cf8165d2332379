import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { textFaultsIn } from '../storable-text.ts'
import type { Caller, Role } from './access.ts'
import { type Fault, HttpRefusal, invalid } from './problem.ts'

export const tags = [
  'machines',
  'entities',
  'acting',
  'holds',
  'operating',
  'events',
  'uploads',
  'jobs',
  'access',
] as const
export type Tag = (typeof tags)[number]

/** A request whose every part has been checked. */
export interface Asked<P = unknown, Q = unknown, B = unknown> {
  readonly caller: Caller
  /** Under which the history and the log name this request: the same for a request that is repeated by its Idempotency-Key. */
  readonly requestId: string
  /** The request was made under an Idempotency-Key: this stands for it, for this caller and path alone. */
  readonly idempotencyKey: string | null
  readonly params: P
  readonly query: Q
  readonly body: B
}

export interface Answer<A> {
  readonly status: number
  readonly body: A
}

interface RouteHead<P, Q, B, A> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly path: `/${string}`
  readonly tag: Tag
  readonly summary: string
  /** Who may call it. `public`: anybody. */
  readonly role: Role | 'public'
  /** Not for tokens that are limited to collections: it concerns all of them. */
  readonly everywhere?: true
  readonly params: z.ZodType<P>
  readonly query: z.ZodType<Q>
  readonly body: z.ZodType<B> | null
  /** Null: no content. */
  readonly answer: z.ZodType<A> | null
  readonly statuses: readonly number[]
  /** Where what was made, or begun, can be looked at: told with 201 and 202. */
  readonly location?: (answer: A) => string
  /** Its answer changes only with another version of this program: clients keep it and ask whether it is still so. */
  readonly isStable?: true
  /** Its answer is a secret, or a repeat does no harm: it is not kept for an Idempotency-Key. */
  readonly unkept?: true
}

/** A route that answers with JSON, or with nothing. */
export interface PlainRoute<P, Q, B, A> extends RouteHead<P, Q, B, A> {
  /** Returns the answer alone, with the first of the statuses, or an Answer made by `answer()`. */
  handle(asked: Asked<P, Q, B>): Promise<A | Answered<A>>
}

/** A route that reads or answers in its own way: streams. */
export interface RawRoute<P, Q, B, A> extends RouteHead<P, Q, B, A> {
  readonly accepts?: 'multipart/form-data'
  /** JSON Schema of the form that it accepts. */
  readonly form?: Readonly<Record<string, unknown>>
  readonly offers?: string
  serve(asked: Asked<P, Q, B>, request: FastifyRequest, reply: FastifyReply): Promise<unknown>
}

export class Answered<A> implements Answer<A> {
  readonly status: number
  readonly body: A

  constructor(status: number, body: A) {
    this.status = status
    this.body = body
  }
}

export function answer<A>(status: number, body: A): Answered<A> {
  return new Answered(status, body)
}

export type Route =
  | (PlainRoute<unknown, unknown, unknown, unknown> & { readonly kind: 'plain' })
  | (RawRoute<unknown, unknown, unknown, unknown> & { readonly kind: 'raw' })

/** Declares a route. The compiler sees to it that none lacks a schema, a role or a summary, and that the handler keeps to them. */
export function route<P, Q, B, A>(declared: PlainRoute<P, Q, B, A>): Route {
  return { ...(declared as unknown as PlainRoute<unknown, unknown, unknown, unknown>), kind: 'plain' }
}

export function rawRoute<P, Q, B, A>(declared: RawRoute<P, Q, B, A>): Route {
  return { ...(declared as unknown as RawRoute<unknown, unknown, unknown, unknown>), kind: 'raw' }
}

/** A file of a form. */
export const fileSchema = { type: 'string', format: 'binary', contentMediaType: 'application/octet-stream' } as const

export const noParams = z.strictObject({})
export const noQuery = z.strictObject({})

/** Every part of a request against its schema; all faults are told at once. */
export function checkParts(route: Route, request: FastifyRequest): Pick<Asked, 'params' | 'query' | 'body'> {
  const faults: Fault[] = []
  const params = checkPart('path', route.params, request.params ?? {}, faults)
  const query = checkPart('query', route.query, request.query ?? {}, faults)
  const body = route.body === null ? noBody(route, request, faults) : bodyOf(route, route.body, request, faults)
  if (faults.length > 0) throw invalid(faults)
  return { params, query, body }
}

function bodyOf(route: Route, schema: z.ZodType, request: FastifyRequest, faults: Fault[]): unknown {
  if (isMultipart(request)) {
    if (route.kind === 'raw' && route.accepts) return undefined
    throw new HttpRefusal('wrong-content-type', 'The body must be application/json here, not multipart/form-data.')
  }
  // A request without a body is one with nothing in it; what is needed is then named as missing.
  return checkPart('body', schema, request.body ?? {}, faults)
}

function noBody(route: Route, request: FastifyRequest, faults: Fault[]): null {
  const isGiven = request.body !== undefined && request.body !== null && Object.keys(request.body).length > 0
  if (isGiven && !(route.kind === 'raw' && route.accepts)) {
    faults.push({ in: 'body', path: '', message: 'there must be none' })
  }
  return null
}

export function isMultipart(request: FastifyRequest): boolean {
  return (request.headers['content-type'] ?? '').toLowerCase().startsWith('multipart/form-data')
}

function checkPart(place: Fault['in'], schema: z.ZodType, value: unknown, faults: Fault[]): unknown {
  // The parser of JSON has looked through the body.
  if (place !== 'body') {
    for (const { path, fault } of textFaultsIn(value))
      faults.push({ in: place, path: path.slice(0, 200), message: fault })
  }
  const checked = schema.safeParse(value)
  if (checked.success) return checked.data
  faults.push(...faultsOf(place, checked.error))
  return null
}

export function faultsOf(place: Fault['in'], error: z.ZodError): readonly Fault[] {
  return error.issues.slice(0, faultsMax).map(({ path, message }) => ({
    in: place,
    path: path.map(String).join('.').slice(0, 200),
    message: message.slice(0, 500),
  }))
}

const faultsMax = 50
