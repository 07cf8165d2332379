import { existsSync, mkdirSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname } from 'node:path'
import type { Logger } from 'pino'
import type { Control } from '../control.ts'
import { Engine } from '../engine/engine.ts'
import { SluiceError } from '../errors.ts'
import type { Implementation } from '../implementation.ts'
import { openSluice, openStore } from '../index.ts'
import { parseStoreAddress, shownStore, storeFile } from '../store-address.ts'
import { type Layout, layoutOf } from './family/layout.ts'
import type { Environment } from './host.ts'
import { openLog } from './log.ts'
import { migrationOf, refuseOlder } from './migration.ts'
import { commandLine } from './text.ts'

/** Where a command finds its Sluice, as it is typed: a folder, a store that lies elsewhere, or a server. */
export interface Place {
  readonly folder?: string
  /** An address: see store-address.ts. */
  readonly store?: string
  readonly server?: string
  readonly tokenFile?: string
  readonly log?: string
}

/** The server that is meant, if one is: what is typed goes before what the environment says. */
export function serverOf({ server, store, folder }: Place, environment: Environment): string | null {
  if (server !== undefined && (store ?? folder) !== undefined) {
    throw new SluiceError('invalid', 'Name a server or a store, not both: --server goes without --store and --folder.')
  }
  if (server !== undefined) return server
  return store === undefined && folder === undefined ? environment.SLUICE_SERVER || null : null
}

/** What was not typed is what the environment says. */
export function localLayout({ folder, store }: Place, environment: Environment): Layout {
  return layoutOf(folder ?? (environment.SLUICE_FOLDER || undefined), store ?? (environment.SLUICE_STORE || undefined))
}

/** The command as it has to be typed from here to find the same place. */
export function commandAt({ server, tokenFile, folder, store }: Place, ...words: readonly string[]): string {
  const place = Object.entries({ '--server': server, '--token-file': tokenFile, '--folder': folder, '--store': store })
  return commandLine([
    'sluice',
    ...words,
    ...place.flatMap(([name, value]) => (value === undefined ? [] : [name, value])),
  ])
}

/** The control over a store, until it is stopped. */
export interface Held {
  readonly control: Control
  stop(): Promise<void>
}

/** Whoever pressed Ctrl-C does not want to wait twenty seconds for a processor that can go on next time. */
const drainMs = 1_000

/** With an engine that works on whatever is open in the store. */
export async function holdToWork(
  { store: address }: Pick<Layout, 'store'>,
  { log }: Place,
  implementations: readonly Implementation[],
): Promise<Held> {
  // Whoever typed a wrong address is told at once.
  const limits = { drainMs, startMs: 1 }
  const file = storeFile(address)
  if (file !== null) mkdirSync(dirname(file), { recursive: true })
  const store = await openStore(address, { limits })
  try {
    const sluice = await openSluice({ store, implementations, log: logOf(log), limits })
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
export async function holdToLook(
  { store: address }: Pick<Layout, 'store'>,
  { log }: Place,
  implementations: readonly Implementation[],
): Promise<Held> {
  const store = await openStore(address)
  try {
    const engine = new Engine({ store, implementations, log: logOf(log), host: hostname(), pid: process.pid })
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
export async function refuseMissing({ store }: Pick<Layout, 'store'>, first: string): Promise<void> {
  const address = parseStoreAddress(store)
  switch (address.kind) {
    case 'memory':
      throw new SluiceError(
        'invalid',
        'A store in memory is seen by the process that made it alone: ask a server that has it, by --server.',
      )
    case 'sqlite':
      if (!existsSync(address.file)) throw missing(store, first)
      return
    case 'postgres': {
      const migration = await migrationOf(store)
      if (migration.from === 0) throw missing(store, first)
      refuseOlder(store, migration)
      return
    }
    default:
      return address satisfies never
  }
}

function missing(store: string, first: string): SluiceError {
  return new SluiceError(
    'not_found',
    `There is no store at ${shownStore(store)}. Name its folder by --folder, or the store by --store; or ${first} first.`,
  )
}

/** Results are on standard output, so logs are on the error stream, and only if somebody asked for them. */
function logOf(level = 'silent'): Logger {
  return openLog(level)
}
