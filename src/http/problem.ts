import type { FastifyReply } from 'fastify'
import { type ErrorCode, errorStatus, isSluiceError, SluiceError } from '../errors.ts'
import { answerText } from './internals.ts'

/** One thing that is wrong with a request, and where. */
export interface Fault {
  readonly in: 'path' | 'query' | 'body' | 'header'
  readonly path: string
  readonly message: string
}

/** RFC 9457: the answer to every request that was not done. */
export interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  /** The id of the request, under which the log says more. */
  readonly instance: string
  readonly code: ErrorCode
  readonly faults?: readonly Fault[]
  /** Of `confirmation-needed`: what to tell a person first. */
  readonly warning?: string
  /** The facts of the error, for programs. */
  readonly context?: Readonly<Record<string, unknown>>
}

/** The one table of all kinds of problems. Of the seven error codes each has the one that a program without HTTP would be given. */
export const problems = {
  'not-found': { status: 404, code: 'not_found', title: 'There is no such thing.' },
  invalid: { status: 400, code: 'invalid', title: 'The request does not fit.' },
  conflict: { status: 409, code: 'conflict', title: 'It cannot be done as things stand.' },
  'lease-lost': { status: 409, code: 'lease_lost', title: 'The lease is lost.' },
  forbidden: { status: 403, code: 'forbidden', title: 'This caller may not do it.' },
  unsupported: { status: 501, code: 'unsupported', title: 'It is not supported here.' },
  internal: { status: 500, code: 'internal', title: 'Something went wrong on the server.' },
  unauthenticated: { status: 401, code: 'forbidden', title: 'Show a valid token.' },
  'cross-site': { status: 403, code: 'forbidden', title: 'The request came from another site.' },
  'wrong-host': { status: 421, code: 'forbidden', title: 'This server has another name.' },
  'wrong-method': { status: 405, code: 'unsupported', title: 'This path does not know the method.' },
  'confirmation-needed': { status: 409, code: 'conflict', title: 'It must be confirmed.' },
  'idempotency-mismatch': {
    status: 422,
    code: 'conflict',
    title: 'The Idempotency-Key was used for another request.',
  },
  'in-progress': { status: 409, code: 'conflict', title: 'The same request is under way.' },
  'rate-limited': { status: 429, code: 'conflict', title: 'Too many requests.' },
  'too-large': { status: 413, code: 'invalid', title: 'The request is too large.' },
  'wrong-content-type': { status: 415, code: 'invalid', title: 'The body has the wrong content type.' },
  timeout: { status: 408, code: 'invalid', title: 'The request took too long.' },
  'not-ready': { status: 503, code: 'internal', title: 'The server is not ready.' },
} as const satisfies Readonly<Record<string, { status: number; code: ErrorCode; title: string }>>

export type ProblemType = keyof typeof problems
export const problemTypes = Object.keys(problems) as readonly ProblemType[]

/** A refusal that HTTP itself knows, besides the codes that all of Sluice knows. */
export class HttpRefusal extends Error {
  readonly type: ProblemType
  readonly status: number
  readonly code: ErrorCode
  readonly faults: readonly Fault[] | undefined
  readonly headers: Readonly<Record<string, string>>

  /** `status`: of what HTTP has a finer status than the table. */
  constructor(
    type: ProblemType,
    message: string,
    more: { status?: number; faults?: readonly Fault[]; headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(message)
    this.name = 'HttpRefusal'
    this.type = type
    this.status = more.status ?? problems[type].status
    this.code = problems[type].code
    this.faults = more.faults
    this.headers = more.headers ?? {}
  }
}

export function invalid(faults: readonly Fault[]): HttpRefusal {
  const text = faults.map(({ in: place, path, message }) => `${place}${path === '' ? '' : ` ${path}`}: ${message}`)
  return new HttpRefusal('invalid', `${text.join('; ')}.`, { faults })
}

export function problemOf(error: unknown, requestId: string): Problem {
  const instance = `urn:sluice:request:${requestId}`
  if (error instanceof HttpRefusal) {
    const { type, status, code, faults } = error
    return {
      ...{ type: typeOf(type), title: problems[type].title, status, detail: error.message, instance, code },
      ...(faults === undefined ? {} : { faults }),
    }
  }
  if (isSluiceError(error) && error.code !== 'internal') return problemOfCode(error, instance)
  // Nothing is wrong with what was asked, nor with this server: it may be asked again.
  if (isPassing(error)) {
    const detail = 'The store does not answer at present. Nothing was lost; ask again in a moment.'
    return problemOf(new HttpRefusal('not-ready', detail), requestId)
  }
  const known = knownToFastify(error)
  if (known) return { ...problemOf(known, requestId) }
  // The cause may name files, addresses or data of others: it goes to the log alone.
  const detail = `The request could not be answered. The log says why, under ${requestId}.`
  return problemOf(new HttpRefusal('internal', detail), requestId)
}

/** The store said so, itself or as the cause of what the engine says. */
export function isPassing(error: unknown): boolean {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth += 1) {
    if (isSluiceError(cause) && cause.detail.passing === true) return true
  }
  return false
}

function problemOfCode(error: SluiceError, instance: string): Problem {
  const { code, detail: context } = error
  const warning = context.confirm === true && typeof context.warning === 'string' ? context.warning : null
  const type: ProblemType = warning === null ? (code.replace('_', '-') as ProblemType) : 'confirmation-needed'
  return {
    ...{ type: typeOf(type), title: problems[type].title, status: errorStatus[code].http, detail: error.message },
    ...{ instance, code },
    ...(warning === null ? {} : { warning }),
    ...(Object.keys(context).length === 0 ? {} : { context }),
  }
}

function typeOf(type: ProblemType): string {
  return `urn:sluice:problem:${type}`
}

/** What the framework refuses by itself, before any of our code sees it. */
function knownToFastify(error: unknown): HttpRefusal | null {
  if (!(error instanceof Error)) return null
  const { code, statusCode } = error as Error & { code?: unknown; statusCode?: unknown }
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
    case 'FST_REQ_FILE_TOO_LARGE':
    case 'FST_FILES_LIMIT':
    case 'FST_PARTS_LIMIT':
    case 'FST_FIELDS_LIMIT':
      return new HttpRefusal('too-large', `${sentence(error.message)} Send less, or in several requests.`)
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_INVALID_MULTIPART_CONTENT_TYPE':
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new HttpRefusal('wrong-content-type', sentence(error.message))
    default:
      break
  }
  if (typeof statusCode !== 'number' || statusCode < 400 || statusCode >= 500) return null
  return statusCode === 429
    ? new HttpRefusal('rate-limited', sentence(error.message))
    : new HttpRefusal('invalid', sentence(error.message), { status: statusCode })
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}

export function sendProblem(reply: FastifyReply, problem: Problem): FastifyReply {
  reply.header('x-request-id', reply.request.id)
  return reply.code(problem.status).type('application/problem+json').send(answerText(reply.request.caller, problem))
}

/** The answer to an id that is not there, or is not the caller's: word for word the one of the engine. */
export function noEntity(id: number): SluiceError {
  return new SluiceError('not_found', `There is no entity ${id}.`, { id })
}
