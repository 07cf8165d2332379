import type { Host } from '../host.ts'
import { type Reached, type ReachOptions, reach } from './reach.ts'

export interface AnswerOptions extends ReachOptions {
  readonly json?: boolean
}

/** Looks something up, and says it: as lines for people, or as one object for programs. */
export async function answering<T>(
  options: AnswerOptions,
  host: Host,
  look: (reached: Reached) => Promise<T>,
  linesOf: (found: T, reached: Reached) => readonly string[] | Promise<readonly string[]>,
  exitOf: (found: T) => number = () => 0,
): Promise<number> {
  const reached = await reach(options, host)
  try {
    const found = await look(reached)
    const text = options.json ? JSON.stringify(found) : (await linesOf(found, reached)).join('\n')
    host.terminal.out(`${text}\n`)
    return exitOf(found)
  } finally {
    await reached.close()
  }
}

/** Rows that have something to say. */
export function said(
  rows: readonly (readonly [string, string | number | null])[],
): readonly (readonly [string, string | number])[] {
  return rows.filter((row): row is [string, string | number] => row[1] !== null && row[1] !== '')
}
