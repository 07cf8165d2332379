import { closeSync, existsSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/** What a process did, as it says itself. Every line is on the disk before the process goes on. */
export type Note =
  /** `ok` without an invoke before it cannot be; an invoke without `ok` may or may not have happened. */
  | { readonly kind: 'submit'; readonly phase: 'invoke'; readonly key: string }
  | {
      readonly kind: 'submit'
      readonly phase: 'ok'
      readonly key: string
      readonly id: number
      readonly existing: boolean
    }
  | {
      readonly kind: 'act'
      readonly phase: 'invoke' | 'ok' | 'fail'
      readonly request: string
      readonly id: number
      readonly action: string
    }
  /** Something that a processor did to the world, under its idempotency key. */
  | { readonly kind: 'effect'; readonly key: string; readonly body: string }
  /** The store gave the lease over it, under this epoch, when it had made so many moves. */
  | { readonly kind: 'claimed'; readonly id: number; readonly epoch: number; readonly seq: number }
  /** The store accepted a move by the holder of a lease, with this proof. `stale`: it did not. */
  | { readonly kind: 'saved' | 'stale'; readonly id: number; readonly epoch: number; readonly seq: number }
  /** The process is about to kill itself here, or to fall asleep. */
  | { readonly kind: 'kill' | 'stop'; readonly point: string }

/** One process writes one journal: no two writers ever share a file, so a torn line can only be the last. */
export class Journal {
  readonly #descriptor: number

  constructor(folder: string, name: string) {
    // 'as' opens for appending with O_SYNC: the line is durable when the call returns.
    this.#descriptor = openSync(join(folder, `${name}.journal`), 'as')
  }

  write(...notes: readonly Note[]): void {
    if (notes.length === 0) return
    writeSync(this.#descriptor, notes.map((note) => `${JSON.stringify(note)}\n`).join(''))
  }

  close(): void {
    closeSync(this.#descriptor)
  }
}

/** All notes of all processes that worked in this folder, or of the one of this name. */
export function readJournals(folder: string, name?: string): readonly Note[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((file) => (name === undefined ? file.endsWith('.journal') : file === `${name}.journal`))
    .sort()
    .flatMap((file) => notesOf(readFileSync(join(folder, file), 'utf8')))
}

/** A process that was killed while it wrote leaves half a line, which says nothing: it had not gone on yet. */
export function notesOf(text: string): readonly Note[] {
  const lines = text.split('\n')
  lines.pop()
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Note)
}
