import { fail, retry, type StepOutcome } from 'sluice/chunked'
import { type DialErrorDetail, type DialReason, dialErrorDetail } from 'sluice/dial'
import { messageOf } from 'sluice/errors'
import type { Problem } from './place.ts'

/** What the guard itself refuses, whatever the server would say. */
const guarded: ReadonlySet<DialReason> = new Set(['url', 'scheme', 'userinfo', 'port', 'address', 'redirect'])

export function dialProblem({ reason, status }: DialErrorDetail, message: string): Problem {
  if (status !== undefined) return { reason: `HTTP ${status}`, message }
  return { reason: `${guarded.has(reason) ? 'URL refused' : 'download failed'}: ${reason}`, message }
}

/** How a step ends that could not fetch something; null: this is no error of the dialer. */
export function dialOutcome(error: unknown): StepOutcome | null {
  const detail = dialErrorDetail(error)
  if (detail === null) return null
  // A dialer is closed because its process ends: another one goes on.
  if (detail.retryable || detail.reason === 'closed') return retry(messageOf(error), detail.retryAfterMs)
  const { reason, message } = dialProblem(detail, messageOf(error))
  return fail(reason, message)
}
