import type { Actor } from '../../store.ts'

/** Who did it, for a history row. Null: nobody in particular. */
export function actorText({ actor, role, reason, requestId }: Actor): string | null {
  if (actor === null && role === null && reason === null && requestId === null) return null
  return JSON.stringify([actor, role, reason, requestId])
}
