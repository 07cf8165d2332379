import { messageOf } from '../../errors.ts'
import { durationMs } from './duration.ts'

/** A name, and the way down from it: `b/items#2`. */
export interface Reference {
  readonly name: string
  readonly steps: readonly { readonly lane: string; readonly position: number }[]
}

export function referenceOf(text: string): Reference {
  const [name = '', ...steps] = text.split('/')
  return {
    name,
    steps: steps.map((step) => {
      const [, lane, position] = /^(.+)#([1-9]\d*)$/.exec(step) ?? []
      if (lane === undefined)
        throw new Error(`"${text}" names no entity; a child is written NAME/LANE#1, counted from 1.`)
      return { lane, position: Number(position) }
    }),
  }
}

type Word = { readonly kind: 'word' | 'text' | 'json'; readonly text: string }

/** The words of one line, read from left to right. */
export class Words {
  readonly #words: readonly Word[]
  #at = 0

  constructor(source: string) {
    this.#words = wordsOf(source)
  }

  get isOver(): boolean {
    return this.#at >= this.#words.length
  }

  get isJson(): boolean {
    const word = this.#words[this.#at]
    return word !== undefined && (word.kind !== 'word' || /^(-?\d|true$|false$|null$)/.test(word.text))
  }

  peek(ahead: number): string | null {
    const word = this.#words[this.#at + ahead]
    return word?.kind === 'word' ? word.text : null
  }

  /** True if the next word is this one, which is then behind us. */
  take(expected: string): boolean {
    if (this.peek(0) !== expected) return false
    this.#at += 1
    return true
  }

  past(expected: string): this {
    if (!this.take(expected)) throw new Error(`Expected "${expected}", found ${this.#found()}.`)
    return this
  }

  next(what: string): string {
    const word = this.#words[this.#at]
    if (!word || word.kind === 'json' || [':', ','].includes(word.text))
      throw new Error(`Expected ${what}, found ${this.#found()}.`)
    this.#at += 1
    return word.kind === 'text' ? (JSON.parse(word.text) as string) : word.text
  }

  oneOf<Expected extends string>(...expected: readonly Expected[]): Expected {
    const found = expected.find((word) => this.take(word))
    if (found === undefined) throw new Error(`Expected ${expected.join(', ')}; found ${this.#found()}.`)
    return found
  }

  number(): number {
    const text = this.peek(0)
    if (text === null || !/^-?\d+$/.test(text)) throw new Error(`Expected a whole number, found ${this.#found()}.`)
    this.#at += 1
    return Number(text)
  }

  duration(): number {
    return durationMs(this.next('a duration'))
  }

  reference(): Reference {
    return referenceOf(this.next('an entity'))
  }

  json(): unknown {
    const word = this.#words[this.#at]
    if (!word || !this.isJson) throw new Error(`Expected JSON, found ${this.#found()}.`)
    this.#at += 1
    try {
      return JSON.parse(word.text)
    } catch (error) {
      throw new Error(`${word.text} is no JSON: ${messageOf(error)}`)
    }
  }

  end(): void {
    if (!this.isOver) throw new Error(`Expected the end of the line, found ${this.#found()}.`)
  }

  #found(): string {
    const word = this.#words[this.#at]
    return word ? `"${word.text}"` : 'the end of the line'
  }
}

/** JSON texts and JSON values are one word each; so are `:` and `,`, wherever they stand. */
function wordsOf(source: string): readonly Word[] {
  const words: Word[] = []
  for (let at = 0; at < source.length; ) {
    const character = source[at]!
    if (/\s/.test(character)) at += 1
    else if (character === '#') break
    else if (character === ':' || character === ',') {
      words.push({ kind: 'word', text: character })
      at += 1
    } else {
      const isText = character === '"'
      const isJson = character === '{' || character === '['
      const end = isText || isJson ? endOfJson(source, at) : endOfWord(source, at)
      words.push({ kind: isText ? 'text' : isJson ? 'json' : 'word', text: source.slice(at, end) })
      at = end
    }
  }
  return words
}

function endOfWord(source: string, from: number): number {
  const length = source.slice(from).search(/[\s:,"{[]/)
  return length < 0 ? source.length : from + length
}

function endOfJson(source: string, from: number): number {
  let depth = 0
  let isInText = false
  for (let at = from; at < source.length; at++) {
    const character = source[at]!
    if (isInText && character === '\\') at += 1
    else if (character === '"') isInText = !isInText
    else if (!isInText && '{['.includes(character)) depth += 1
    else if (!isInText && '}]'.includes(character)) depth -= 1
    if (depth === 0 && !isInText) return at + 1
  }
  throw new Error(`${source.slice(from).trim()} does not end on this line.`)
}
