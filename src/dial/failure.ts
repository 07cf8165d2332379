import { messageOf, SluiceError } from '../errors.ts'
import { codeOf } from './connection.ts'
import { dialError } from './dial-error.ts'

/** Whatever ended an exchange, in our own words. What aborted it comes first: the rest is how that looked from inside. */
export function failureOf(error: unknown, url: string, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason
  if (error instanceof SluiceError) return error
  const [code, message] = [codeOf(error), messageOf(error, 200)]
  if (code === 'UND_ERR_HEADERS_OVERFLOW') {
    return dialError('protocol', url, `The headers of the response of ${url} are bigger than may be read.`)
  }
  const isParserError = error instanceof Error && error.name === 'HTTPParserError'
  if (isParserError || code === lengthMismatch || /^bad (response|upgrade)$/.test(message)) {
    return dialError('protocol', url, `The response of ${url} is not what HTTP/1.1 allows (${message}).`)
  }
  const what = code ?? message
  return dialError('connection', url, `The connection to ${url} broke (${what}).`, { failure: what })
}

/** The same for a body that has begun: one that ends too early can be read on later, at the byte where it broke. */
export function bodyFailureOf(
  error: unknown,
  url: string,
  signal: AbortSignal,
  length: number | null,
  at: number,
): unknown {
  const failure = codeOf(error) === lengthMismatch && !signal.aborted ? null : failureOf(error, url, signal)
  const isCut = failure === null || (failure instanceof SluiceError && failure.detail.reason === 'connection')
  return isCut ? wrongLength(url, length, at) : failure
}

/** `at`: where the body ended; null if it did not. */
export function wrongLength(url: string, length: number | null, at: number | null): SluiceError {
  const announced = length === null ? 'has an end of its own' : `announced ${length} bytes`
  const came = at === null ? 'went on behind that' : `broke off at byte ${at}`
  const detail = { ...(length === null ? {} : { length }), ...(at === null ? {} : { at }) }
  return dialError('length', url, `The body of ${url} ${announced}, but ${came}.`, detail)
}

const lengthMismatch = 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH'
