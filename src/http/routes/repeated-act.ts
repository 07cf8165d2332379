import type { ActResult, Control } from '../../control.ts'
import type { ManyAnswer } from '../answer-schemas.ts'
import { walkName } from '../collections.ts'

/** History rows that are looked through for an act that was done under the same Idempotency-Key. */
const lookedThrough = 1_000
const walksLookedThrough = 100

/**
 * The answer to an act was lost with the server, and the act comes again: it stands in the entity's history, or waits to run, under its
 * request id. Then it is answered from there and not done a second time.
 */
export async function doneBefore(control: Control, id: number, requestId: string): Promise<ActResult | null> {
  const { seq, request } = await control.get(id)
  if (request?.requestId === requestId) return { id, kind: 'requested', state: request.edge }
  const afterSeq = Math.max(0, seq - lookedThrough)
  const events = await control.history(id, { afterSeq, limit: lookedThrough })
  const last = events.findLast((event) => event.requestId === requestId)
  return last?.to ? { id, kind: 'done', state: last.to } : null
}

/** The same for an act on many, whose confirmation may be gone: it was used, or forgotten with the server. */
export async function walkBefore(control: Control, requestId: string): Promise<ManyAnswer | null> {
  const { entities } = await control.list({ machine: walkName, newestFirst: true, limit: walksLookedThrough })
  for (const { id, data } of entities) {
    const { actor, matching = 0 } = data as {
      readonly actor?: { readonly requestId?: unknown }
      readonly matching?: number
    }
    if (actor?.requestId !== requestId) continue
    return { matching, exact: false, warnings: [], confirmation: null, expiresAt: null, walk: id }
  }
  return null
}
