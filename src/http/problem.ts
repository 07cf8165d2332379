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

/** Kinds of problems that no error code names. */
export const problemTypes = [
  'not-found',
  'invalid',
  'conflict',
  'lease-lost',
  'forbidden',
  'unsupported',
  'internal',
  'unauthenticated',
  'cross-site',
  'wrong-host',
  'confirmation-needed',
  'idempotency-mismatch',
  'in-progress',
  'rate-limited',
  'too-large',
  'wrong-content-type',
  'timeout',
  'not-ready',
] as const
export type ProblemType = (typeof problemTypes)[number]

const titles: Readonly<Record<ProblemType, string>> = {
  'not-found': 'There is no such thing.',
  invalid: 'The request does not fit.',
  conflict: 'It cannot be done as things stand.',
  'lease-lost': 'The lease is lost.',
  forbidden: 'This caller may not do it.',
  unsupported: 'It is not supported here.',
  internal: 'Something went wrong on the server.',
  unauthenticated: 'Show a valid token.',
  'cross-site': 'The request came from another site.',
  'wrong-host': 'This server has another name.',
  'confirmation-needed': 'It must be confirmed.',
  'idempotency-mismatch': 'The Idempotency-Key was used for another request.',
  'in-progress': 'The same request is under way.',
  'rate-limited': 'Too many requests.',
  'too-large': 'The request is too large.',
  'wrong-content-type': 'The body has the wrong content type.',
  timeout: 'The request took too long.',
  'not-ready': 'The server is not ready.',
}

/** A refusal that HTTP itself knows, besides the codes that all of Sluice knows. */
export class HttpRefusal extends Error {
  readonly type: ProblemType
  readonly status: number
  readonly code: ErrorCode
  readonly faults: readonly Fault[] | undefined
  readonly headers: Readonly<Record<string, string>>

  constructor(
    type: ProblemType,
    status: number,
    message: string,
    more: { code?: ErrorCode; faults?: readonly Fault[]; headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(message)
    this.name = 'HttpRefusal'
    this.type = type
    this.status = status
    this.code = more.code ?? codeOf(status)
    this.faults = more.faults
    this.headers = more.headers ?? {}
  }
}

function codeOf(status: number): ErrorCode {
  if (status === 404) return 'not_found'
  if (status === 401 || status === 403 || status === 421) return 'forbidden'
  if (status === 409) return 'conflict'
  return status >= 500 ? 'internal' : 'invalid'
}

export function invalid(faults: readonly Fault[]): HttpRefusal {
  const text = faults.map(({ in: place, path, message }) => `${place}${path === '' ? '' : ` ${path}`}: ${message}`)
  return new HttpRefusal('invalid', 400, `${text.join('; ')}.`, { faults })
}

export function problemOf(error: unknown, requestId: string): Problem {
  const instance = `urn:sluice:request:${requestId}`
  if (error instanceof HttpRefusal) {
    const { type, status, code, faults } = error
    return {
      ...{ type: typeOf(type), title: titles[type], status, detail: error.message, instance, code },
      ...(faults === undefined ? {} : { faults }),
    }
  }
  if (isSluiceError(error) && error.code !== 'internal') return problemOfCode(error, instance)
  // Nothing is wrong with what was asked, nor with this server: it may be asked again.
  if (isPassing(error)) {
    const detail = 'The store does not answer at present. Nothing was lost; ask again in a moment.'
    return {
      ...{ type: typeOf('not-ready'), title: titles['not-ready'], status: 503, detail },
      instance,
      code: 'internal',
    }
  }
  const known = knownToFastify(error)
  if (known) return { ...problemOf(known, requestId) }
  // The cause may name files, addresses or data of others: it goes to the log alone.
  return {
    type: typeOf('internal'),
    title: titles.internal,
    status: 500,
    detail: `The request could not be answered. The log says why, under ${requestId}.`,
    instance,
    code: 'internal',
  }
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
    ...{ type: typeOf(type), title: titles[type], status: errorStatus[code].http, detail: error.message },
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
      return new HttpRefusal('too-large', 413, `${sentence(error.message)} Send less, or in several requests.`)
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_INVALID_MULTIPART_CONTENT_TYPE':
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new HttpRefusal('wrong-content-type', 415, sentence(error.message))
    default:
      break
  }
  if (typeof statusCode !== 'number' || statusCode < 400 || statusCode >= 500) return null
  return statusCode === 429
    ? new HttpRefusal('rate-limited', 429, sentence(error.message))
    : new HttpRefusal('invalid', statusCode, sentence(error.message))
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}

export function sendProblem(reply: FastifyReply, problem: Problem): FastifyReply {
  return reply.code(problem.status).type('application/problem+json').send(answerText(reply.request.caller, problem))
}

/** The answer to an id that is not there, or is not the caller's: word for word the one of the engine. */
export function noEntity(id: number): SluiceError {
  return new SluiceError('not_found', `There is no entity ${id}.`, { id })
}
