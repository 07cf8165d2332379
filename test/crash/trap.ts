import { writeSync } from 'node:fs'
import type { Journal } from './journal.ts'

/** Where a process can be killed from inside. `nth` says at which passing. */
export const trapPoints = [
  // Around the store: 'after' means that the store has done it and the engine never reads the answer.
  'register:after',
  'create:before',
  'create:after',
  'claim:before',
  'claim:after',
  'commit:before',
  'commit:after',
  'stage:before',
  'stage:after',
  'publish:before',
  'publish:after',
  'children:before',
  'children:after',
  'action:before',
  'action:after',
  'dead:before',
  'dead:after',
  'due:after',
  'purge:before',
  'purge:after',
  // Inside processors.
  'effect:before',
  'effect:after',
  'checkpoint:after',
  // Inside the store's own transactions.
  'begin:after',
  'statement:after',
  'transaction:before',
  'transaction:after',
  // While the tables are made.
  'migration:statement',
] as const

export type TrapPoint = (typeof trapPoints)[number]

export interface TrapSetting {
  readonly point: TrapPoint
  readonly nth: number
  /** kill: it dies. stop: it sleeps until somebody wakes it, and then goes on as if nothing had been. */
  readonly by: 'kill' | 'stop'
}

/** Kills or stops its own process when a named point is passed for the nth time. Nothing in the product knows of it. */
export class Trap {
  readonly #setting: TrapSetting | null
  readonly #journal: Journal
  #passed = 0

  constructor(setting: TrapSetting | null, journal: Journal) {
    this.#setting = setting
    this.#journal = journal
  }

  pass(point: TrapPoint): void {
    if (point !== this.#setting?.point) return
    this.#passed += 1
    if (this.#passed !== this.#setting.nth) return
    this.#journal.write({ kind: this.#setting.by, point })
    if (this.#setting.by === 'stop') {
      // Written at once: nothing of the process runs between this word and its sleep.
      writeSync(1, 'stopping\n')
      process.kill(process.pid, 'SIGSTOP')
      return
    }
    process.kill(process.pid, 'SIGKILL')
    // The signal ends the process before the call returns; if it ever did not, nothing may run on.
    for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  }
}
