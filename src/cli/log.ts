import { Writable } from 'node:stream'
import { type Logger, pino } from 'pino'
import { plain } from './text.ts'

/** Logs go to the error stream, as results are on standard output: lines to be read on a terminal, JSON for everything else. */
export function openLog(level: string, isTty: boolean = process.stderr.isTTY === true): Logger {
  return isTty
    ? pino(
        { level },
        readable((text) => void process.stderr.write(text)),
      )
    : pino({ level }, pino.destination({ fd: 2, sync: true }))
}

const names: Readonly<Record<number, string>> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
  60: 'fatal',
}
/** Of every line, and of no use to a person who looks at one process. */
const unread = new Set(['level', 'time', 'pid', 'hostname', 'msg', 'err'])
const fieldMax = 500

/** `14:03:11 warn  a processor threw: no route to host (entity 12, machine letter, processor send, attempt 2)` */
export function readable(write: (text: string) => void): Writable {
  return new Writable({
    write(line, _encoding, done) {
      write(lineOf(JSON.parse(String(line))))
      done()
    },
  })
}

interface Line {
  readonly level: number
  readonly time: number
  readonly msg?: string
  readonly err?: { readonly message?: string; readonly stack?: string }
}

function lineOf(line: Line): string {
  const time = new Date(line.time).toTimeString().slice(0, 8)
  const fields = Object.entries(line)
    .filter(([name, value]) => !unread.has(name) && value !== null && value !== undefined)
    .map(([name, value]) => `${name} ${plain(typeof value === 'string' ? value : JSON.stringify(value), fieldMax)}`)
  const error = line.err?.message ? `: ${plain(line.err.message, fieldMax)}` : ''
  const about = fields.length === 0 ? '' : ` (${fields.join(', ')})`
  // The first line of a stack is the message again.
  const stack = (line.err?.stack ?? '').split('\n').filter((one) => /^\s+at /.test(one))
  const name = (names[line.level] ?? String(line.level)).padEnd(5)
  return `${time} ${name} ${plain(line.msg ?? '', fieldMax)}${error}${about}\n${stack.map((one) => `${plain(one, fieldMax)}\n`).join('')}`
}
