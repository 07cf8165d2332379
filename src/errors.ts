import { storableText } from './storable-text.ts'

/**
 * One error class with few codes. Every message says what happened, to which id, and what to do now.
 * Expected ends (a stale proof, a full pool) are values, not errors: see Verdict in store.ts.
 */
export const errorCodes = [
  'not_found',
  'invalid',
  'conflict',
  'lease_lost',
  'forbidden',
  'unsupported',
  'internal',
] as const

export type ErrorCode = (typeof errorCodes)[number]

/** The one table from code to HTTP status and to the exit status of a command. */
export const errorStatus: Readonly<Record<ErrorCode, { http: number; exit: number }>> = {
  not_found: { http: 404, exit: 4 },
  invalid: { http: 400, exit: 2 },
  conflict: { http: 409, exit: 5 },
  lease_lost: { http: 409, exit: 6 },
  forbidden: { http: 403, exit: 3 },
  unsupported: { http: 501, exit: 7 },
  internal: { http: 500, exit: 1 },
}

export class SluiceError extends Error {
  readonly code: ErrorCode
  /** Which field, row or edge is meant: for programs, as the message is for people. */
  readonly detail: Readonly<Record<string, unknown>>

  constructor(code: ErrorCode, message: string, detail: Readonly<Record<string, unknown>> = {}, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'SluiceError'
    this.code = code
    this.detail = detail
  }
}

export function isSluiceError(error: unknown, code?: ErrorCode): error is SluiceError {
  return error instanceof SluiceError && (code === undefined || error.code === code)
}

/** The text of anything thrown, cut to what a history row keeps. */
export function messageOf(error: unknown, charactersMax = 2_000): string {
  const text = storableText(textOf(error))
  return text.length <= charactersMax ? text : `${text.slice(0, charactersMax - 1).toWellFormed()}…`
}

/** Anything can be thrown, also what has no text at all: saying so must not throw again. */
function textOf(error: unknown): string {
  try {
    return error instanceof Error ? String(error.message || error.name) : String(error)
  } catch {
    return `A value without text was thrown (${typeof error}).`
  }
}

const codeRule = /^[A-Za-z][A-Za-z0-9_.-]{1,59}$/

/** A short stable phrase for what was thrown, as messages differ from one to the next: its code, its class, or that something was thrown. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'error thrown'
  const { code } = error as { readonly code?: unknown }
  if (typeof code === 'string' && codeRule.test(code)) return code
  return error.name !== 'Error' && codeRule.test(error.name) ? error.name : 'error thrown'
}
