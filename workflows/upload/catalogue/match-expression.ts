import { SluiceError } from 'sluice/errors'

const charactersMax = 1_000
const termsMax = 32
/** A quoted phrase (the closing quote may be missing), or anything between spaces. */
const term = /"([^"]*)(?:"(\*?)|$)|[^\s"]+/g
/** What the tokenizer makes words of. Signs alone would match nothing, and make the whole search empty. */
const hasWord = /[\p{L}\p{N}\p{Co}]/u

/**
 * What a person typed, as an expression of FTS5: words and "quoted phrases" that must all occur, with * at the end for
 * what only begins so. Everything is quoted, so that no operator, column name or sign has a meaning of its own:
 * there is no input that is a syntax error.
 */
export function matchExpression(text: string): string {
  if (text.length > charactersMax) throw refused(`was ${text.length} characters long; ${charactersMax} are allowed`)
  const terms: string[] = []
  for (const [whole, phrase, star] of text.replaceAll('\0', ' ').matchAll(term)) {
    const words = phrase ?? whole
    if (!hasWord.test(words)) continue
    const isPrefix = phrase === undefined ? words.endsWith('*') : star === '*'
    terms.push(`"${words}"${isPrefix ? ' *' : ''}`)
  }
  if (terms.length === 0) throw refused('has no word or number to search for')
  if (terms.length > termsMax) throw refused(`has ${terms.length} words and phrases; ${termsMax} are allowed`)
  return terms.join(' AND ')
}

function refused(why: string): SluiceError {
  return new SluiceError('invalid', `The search cannot be made: text ${why}.`, { field: 'text' })
}
