import type { Birth, Move } from '../../store.ts'

/**
 * PostgreSQL keeps no NUL character in a text. JSON writes it as an escape, so data may have it; names, labels and reasons may not.
 * Null: there is none.
 */
export function refusalOfTexts(texts: Readonly<Record<string, string | null | undefined>>): string | null {
  for (const [field, text] of Object.entries(texts)) {
    if (text?.includes('\u0000'))
      return `${field} has a NUL character (position ${text.indexOf('\u0000')}), which PostgreSQL cannot keep.`
  }
  return null
}

export function refusalOfBirthTexts({ data, key, createdBy, reason, labels, state, machine }: Birth): string | null {
  const refusal = refusalOfTexts({
    Data: data,
    'The key': key,
    'The author': createdBy,
    'The reason': reason,
    state,
    machine,
  })
  return refusal ?? (labels.length === 0 ? null : refusalOfLabels(labels))
}

export function refusalOfMoveTexts(move: Move): string | null {
  const { data, reason, error, progress, actor, labels, children } = move
  const refusal =
    refusalOfTexts({
      Data: data,
      'The reason': reason,
      'The error': error,
      Progress: progress,
      'The cursor': move.checkpoint?.cursor,
    }) ??
    refusalOfTexts({
      'The actor': actor.actor,
      'The role': actor.role,
      "The actor's reason": actor.reason,
      'The request': actor.requestId,
    }) ??
    (labels === null ? null : refusalOfLabels(labels))
  if (refusal) return refusal
  for (const child of children) {
    const refusal = refusalOfBirthTexts(child) ?? refusalOfTexts({ 'The lane': child.lane })
    if (refusal) return `Child ${child.ordinal} of entity ${move.id}: ${refusal}`
  }
  return null
}

function refusalOfLabels(labels: readonly (string | null)[]): string | null {
  return refusalOfTexts(Object.fromEntries(labels.map((label, index) => [`Label ${index}`, label])))
}
