import type { StateOutcome } from '../state-outcome.ts'

const codes: Readonly<Record<Exclude<StateOutcome, 'neutral'>, number>> = { success: 32, failure: 31, attention: 33 }

/**
 * Text in the colour of an outcome: green, red or yellow. A terminal without colours takes it out again. Nothing that comes from data looks like a colour: `plain` has escaped it
 * by then, and JSON escapes it too.
 */
export function painted(text: string, outcome: StateOutcome): string {
  return outcome === 'neutral' || text === '' ? text : `\x1b[${codes[outcome]}m${text}\x1b[0m`
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it removes.
const paint = /\x1b\[\d+m/g

export function unpainted(text: string): string {
  return text.replaceAll(paint, '')
}

/** How many characters the colour takes that begins there; 0: none does. */
export function paintLength(text: string, index: number): number {
  return text[index] === escapeCharacter ? text.indexOf('m', index) - index + 1 : 0
}

export const escapeCharacter = '\x1b'

/** Columns that the text takes. */
export function widthOf(text: string): number {
  return text.includes(escapeCharacter) ? unpainted(text).length : text.length
}
