import { type ErrorCode, errorCodes, SluiceError } from '../errors.ts'

/** What is read of a problem document (RFC 9457); none of it is certain, for a proxy may have answered. */
interface Problem {
  readonly type?: unknown
  readonly detail?: unknown
  readonly code?: unknown
  readonly context?: unknown
  readonly faults?: unknown
  readonly instance?: unknown
}

/** The error that the server threw, with the same code and the same facts. */
export async function errorOf(response: Response, what: string): Promise<SluiceError> {
  const { status } = response
  const problem = await problemIn(response)
  const { detail, context, faults, instance, type } = problem
  const code = errorCodes.find((one) => one === problem.code) ?? codeOf(status)
  const message = typeof detail === 'string' && detail !== '' ? detail : `The server answered ${what} with ${status}.`
  return new SluiceError(code, message, {
    ...(isObject(context) ? context : {}),
    status,
    ...(typeof type === 'string' ? { problem: type.replace('urn:sluice:problem:', '') } : {}),
    ...(Array.isArray(faults) ? { faults } : {}),
    ...(typeof instance === 'string' ? { instance } : {}),
  })
}

const problemCharactersMax = 1_000_000

async function problemIn(response: Response): Promise<Problem> {
  try {
    const text = await response.text()
    const value: unknown = text.length > problemCharactersMax ? null : JSON.parse(text)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function codeOf(status: number): ErrorCode {
  switch (status) {
    case 401:
    case 403:
    case 421:
      return 'forbidden'
    case 404:
      return 'not_found'
    case 409:
      return 'conflict'
    case 501:
      return 'unsupported'
    default:
      return status >= 400 && status < 500 ? 'invalid' : 'internal'
  }
}
