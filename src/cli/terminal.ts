/** Where a command writes to. Results go out, everything about the way there goes to the error stream. */
export interface Terminal {
  out(text: string): void
  err(text: string): void
  /** A person watches the error stream: it can be painted over. */
  readonly isTty: boolean
  readonly columns: number
}

export function processTerminal(): Terminal {
  // A reader that went away (`| head`) is no fault of the upload; what it does not read is dropped.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  return {
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
    isTty: process.stderr.isTTY === true && process.env.TERM !== 'dumb',
    get columns() {
      return process.stderr.columns || 80
    },
  }
}
