import { fitted } from './fitted.ts'
import { escapeCharacter, unpainted } from './paint.ts'

/** Where a command writes to. Results go out, everything about the way there goes to the error stream. */
export interface Terminal {
  /** `exact`: a program may read it, so it is left as it is even for a person. */
  out(text: string, form?: 'exact'): void
  err(text: string): void
  /** A person watches the error stream: it can be painted over. */
  readonly isTty: boolean
  readonly columns: number
  /** A person reads the results. */
  readonly isRead: boolean
}

type Environment = Readonly<Record<string, string | undefined>>

/** Results that a person reads fit into the terminal, and have colours if these are wanted. */
export function processTerminal(words: readonly string[], environment: Environment = process.env): Terminal {
  const { stdout, stderr } = process
  // A reader that went away (`| head`) is no fault of the upload; what it does not read is dropped.
  for (const stream of [stdout, stderr]) stream.on('error', () => {})
  const isRead = isTerminal(stdout, environment)
  const isTty = isTerminal(stderr, environment)
  const isForPrograms = words.includes('--json')
  const written = (stream: NodeJS.WriteStream, text: string, isFitted: boolean) => {
    const inColour = wantsColours(words, environment, isTerminal(stream, environment)) ? text : unpainted(text)
    stream.write(isFitted ? fitted(inColour, stream.columns || columnsDefault) : inColour)
  }
  return {
    out: (text, form) => written(stdout, text, isRead && !isForPrograms && form !== 'exact'),
    // What repaints its lines has fitted them itself.
    err: (text) => written(stderr, text, isTty && !text.includes('\r') && !text.includes(escapeCharacter)),
    isTty,
    get columns() {
      return stderr.columns || columnsDefault
    },
    isRead,
  }
}

const columnsDefault = 80

function isTerminal({ isTTY }: NodeJS.WriteStream, { TERM }: Environment): boolean {
  return isTTY === true && TERM !== 'dumb'
}

/** What is typed goes before NO_COLOR, that before FORCE_COLOR, and that before what the output is. */
export function wantsColours(words: readonly string[], environment: Environment, isRead: boolean): boolean {
  if (words.includes(noColour) || environment.NO_COLOR) return false
  const { FORCE_COLOR: forced } = environment
  if (forced !== undefined) return forced !== '0' && forced !== 'false'
  return isRead
}

export const noColour = '--no-color'
