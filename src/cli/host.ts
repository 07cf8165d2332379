import { userInfo } from 'node:os'
import type { Readable } from 'node:stream'
import { type Clock, systemClock } from '../clock.ts'
import type { SignalSource } from './interrupt.ts'
import { processTerminal, type Terminal } from './terminal.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** The process around a command, handed in. */
export interface Host {
  readonly terminal: Terminal
  readonly clock: Clock
  readonly signals: SignalSource
  readonly input: Readable
  readonly user: string
  readonly environment: Environment
  /** The command as it was typed. */
  readonly words: readonly string[]
  /** The most memory that the process had so far, its threads included. */
  peakRssMiB(): number
  /** Leaves at once. */
  exit(status: number): void
  /** Leaves as soon as all is written, whatever else is still under way. */
  leave(status: number): void
}

export function processHost(words: readonly string[]): Host {
  return {
    terminal: processTerminal(words),
    clock: systemClock(),
    signals: process,
    input: process.stdin,
    user: userName(),
    environment: process.env,
    words,
    peakRssMiB: () => Math.round(process.resourceUsage().maxRSS / 1_024),
    exit: (status) => process.exit(status),
    leave: (status) => {
      process.stdout.write('', () => process.stderr.write('', () => process.exit(status)))
    },
  }
}

/** Some containers run as a user that has no name. */
function userName(): string {
  try {
    return userInfo().username || 'unknown'
  } catch {
    return process.env.USER || 'unknown'
  }
}
