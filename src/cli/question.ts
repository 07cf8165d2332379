import { createInterface } from 'node:readline'
import type { Host } from './host.ts'

/** Asks a person; only a clear yes is one. Nobody there, or the end of what is piped in, is a no. */
export async function isAgreed(
  question: string,
  { terminal, input }: Pick<Host, 'terminal' | 'input'>,
): Promise<boolean> {
  terminal.err(`${question} [y/N] `)
  const lines = createInterface({ input, terminal: false })
  try {
    for await (const line of lines) return /^\s*y(es)?\s*$/i.test(line)
    terminal.err('\n')
    return false
  } finally {
    lines.close()
  }
}
