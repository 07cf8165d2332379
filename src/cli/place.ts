import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import { type Logger, pino } from 'pino'
import type { Control } from '../control.ts'
import { Engine } from '../engine/engine.ts'
import { SluiceError } from '../errors.ts'
import type { Implementation } from '../implementation.ts'
import { openSluice } from '../index.ts'
import { migrationOf, refuseOlder } from './migration.ts'
import { openStore } from './open-store.ts'
import { shownStore, storeFile } from './store-address.ts'
import { commandLine } from './text.ts'

/** Where a command finds what is stored. */
export interface Place {
  /** An address: see store-address.ts. */
  readonly store: string
  readonly folder: string
  readonly log?: string
  /** Instead of both: a server that has them. */
  readonly server?: string
  readonly tokenFile?: string
}

/** The control over a store, until it is stopped. */
export interface Held {
  readonly control: Control
  stop(): Promise<void>
}

/** Whoever pressed Ctrl-C does not want to wait twenty seconds for a processor that can go on next time. */
const drainMs = 1_000

/** With an engine that works on whatever is open in the store. */
export async function holdToWork(place: Place, implementations: readonly Implementation[]): Promise<Held> {
  const limits = { drainMs }
  const store = await openStore(place.store, { limits })
  try {
    const sluice = await openSluice({ store, implementations, log: logOf(place), limits })
    const stop = async () => {
      try {
        await sluice.stop()
      } finally {
        await store.close()
      }
    }
    return { control: sluice, stop }
  } catch (error) {
    await store.close()
    throw error
  }
}

/** Without one: looking at something must not set it going. */
export async function holdToLook(place: Place, implementations: readonly Implementation[]): Promise<Held> {
  const log = logOf(place)
  const store = await openStore(place.store)
  try {
    const engine = new Engine({ store, implementations, log, host: hostname(), pid: process.pid })
    await engine.prepare()
    return { control: engine.control, stop: () => store.close() }
  } catch (error) {
    await store.close()
    throw error
  }
}

/**
 * Opening a store makes it: whoever only looks is to leave nothing behind. On a server, which others use meanwhile, nobody who only looks
 * changes the tables either.
 */
export async function refuseMissing({ store }: Pick<Place, 'store'>, first: string): Promise<void> {
  const file = storeFile(store)
  if (file !== null) {
    if (!existsSync(file)) throw missing(store, first)
    return
  }
  const migration = await migrationOf(store)
  if (migration.from === 0) throw missing(store, first)
  refuseOlder(store, migration)
}

function missing(store: string, first: string): SluiceError {
  return new SluiceError(
    'not_found',
    `There is no store at ${shownStore(store)}. Name it by --store, or ${first} first.`,
  )
}

/** The command as it has to be typed from here, with the place where it is not the default. */
export function commandAt(place: Place, usual: Pick<Place, 'store' | 'folder'>, ...words: readonly string[]): string {
  const options = (['store', 'folder'] as const).flatMap((name) =>
    place[name] === usual[name] ? [] : [`--${name}`, place[name]],
  )
  const { server, tokenFile } = place
  const remote = [
    ...(server === undefined ? [] : ['--server', server]),
    ...(tokenFile === undefined ? [] : ['--token-file', tokenFile]),
  ]
  return commandLine(['sluice', ...words, ...options, ...remote])
}

/** Results are on standard output, so logs are on the error stream, and only if somebody asked for them. */
function logOf({ log = 'silent' }: Place): Logger {
  return pino({ level: log }, pino.destination({ fd: 2, sync: true }))
}
