/**
 * Text that every store keeps as it is. PostgreSQL keeps no NUL character, and UTF-8, in which all stores write, has no lone surrogate
 * (half of a surrogate pair). Such text is refused where it comes in, so that all stores take the same.
 */

/** What no store may be given of this text; null: nothing. */
export function textFault(text: string): string | null {
  const nul = text.indexOf('\u0000')
  if (nul >= 0) return `has a NUL character (position ${nul}), which cannot be stored`
  if (text.isWellFormed()) return null
  return `has half a surrogate pair (position ${loneSurrogate(text)}), which cannot be stored`
}

function loneSurrogate(text: string): number {
  return /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.exec(text)?.index ?? 0
}

/**
 * For texts about errors, which must never be the reason that an error is not kept. A program without types may hand over something else:
 * that is left to the checks behind.
 */
export function storableText(text: string): string {
  if (typeof text !== 'string' || textFault(text) === null) return text
  return text.replaceAll('\u0000', '\ufffd').toWellFormed()
}

/** Cheap, and true of every JSON text that writes such a character: JSON has them as escapes only. */
export function mayHoldTextFault(json: string): boolean {
  return json.includes('\\u') && /\\u(?:0000|[dD][89a-fA-F])/.test(json)
}

export interface FoundTextFault {
  /** Names from the outside to the inside, joined by dots. */
  readonly path: string
  readonly fault: string
}

/** Every such text in a value that JSON can hold, names included. */
export function textFaultsIn(value: unknown, path = ''): readonly FoundTextFault[] {
  if (typeof value === 'string') {
    const fault = textFault(value)
    return fault === null ? [] : [{ path, fault }]
  }
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => {
    const where = path === '' ? storableText(name) : `${path}.${storableText(name)}`
    const fault = textFault(name)
    const own = fault === null ? [] : [{ path: where, fault: `the name ${fault}` }]
    return [...own, ...textFaultsIn(inner, where)]
  })
}
