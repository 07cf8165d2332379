/**
 * LIKE: `%` is any text, `_` one character, `\` makes the next one plain; nothing else is special, and the whole text must
 * match. By characters, not UTF-16 units. Goes back only to the last `%`: at worst text × pattern steps.
 */
export function globMatcher(pattern: string): ((text: string) => boolean) | null {
  const signs = signsOf(pattern)
  return signs && ((text) => matches(signs, Array.from(text)))
}

type Sign = { readonly kind: 'any' } | { readonly kind: 'one' } | { readonly kind: 'plain'; readonly character: string }

/** Null: it ends in a `\` that escapes nothing. */
function signsOf(pattern: string): readonly Sign[] | null {
  const signs: Sign[] = []
  const characters = Array.from(pattern)
  for (let at = 0; at < characters.length; at += 1) {
    const character = characters[at]!
    if (character === '%') signs.push({ kind: 'any' })
    else if (character === '_') signs.push({ kind: 'one' })
    else if (character !== '\\') signs.push({ kind: 'plain', character })
    else {
      at += 1
      const escaped = characters[at]
      if (escaped === undefined) return null
      signs.push({ kind: 'plain', character: escaped })
    }
  }
  return signs
}

function matches(signs: readonly Sign[], text: readonly string[]): boolean {
  let at = 0
  let sign = 0
  let anySign = -1
  let anyAt = 0
  while (at < text.length) {
    const current = signs[sign]
    if (current?.kind === 'any') {
      anySign = sign
      anyAt = at
      sign += 1
    } else if (current && (current.kind === 'one' || current.character === text[at])) {
      sign += 1
      at += 1
    } else if (anySign >= 0) {
      anyAt += 1
      at = anyAt
      sign = anySign + 1
    } else return false
  }
  return signs.slice(sign).every(({ kind }) => kind === 'any')
}
