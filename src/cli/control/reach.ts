import { existsSync, readFileSync } from 'node:fs'
import { openChunked } from 'sluice/chunked'
import { openUpload } from 'sluice/upload'
import type { Client } from '../../client/index.ts'
import type { Control } from '../../control.ts'
import { SluiceError } from '../../errors.ts'
import type { Implementation } from '../../implementation.ts'
import type { Actor } from '../../store.ts'
import { ownImplementations } from '../family/families.ts'
import type { Layout } from '../family/layout.ts'
import type { Environment, Host } from '../host.ts'
import { commandAt, holdToLook, localLayout, type Place, refuseMissing, serverOf } from '../place.ts'
import { commandLine } from '../text.ts'

export interface ReachOptions extends Place {
  readonly machines?: readonly string[]
}

export interface Reached {
  readonly control: Control
  /** Null: a store. */
  readonly client: Client | null
  /** Who asks. A server knows that by itself. */
  readonly actor: Partial<Actor>
  close(): Promise<void>
}

/** The command as it has to be typed from here to find the same place and know the same machines. */
export function commandHere(options: ReachOptions, ...words: readonly string[]): string {
  return commandAt(options, ...words, ...(options.machines ?? []).flatMap((file) => ['--machines', file]))
}

/** Opens what is meant. A store is only looked at and acted on here; a worker or a server does the work. */
export async function reach(options: ReachOptions, host: Host): Promise<Reached> {
  const server = serverOf(options, host.environment)
  return server === null ? reachStore(options, host) : reachServer(server, options, host)
}

export async function reachServer(
  url: string,
  options: ReachOptions,
  host: Pick<Host, 'environment' | 'clock'>,
): Promise<Reached & { readonly client: Client }> {
  const { openClient } = await import('../../client/index.ts')
  const token = tokenOf(options, host.environment)
  const client = openClient({ url, clock: host.clock, ...(token === null ? {} : { token }) })
  return { control: client, client, actor: {}, close: async () => {} }
}

/** From a file or the environment, not from the command line: what is typed there is seen by every user of the machine. */
function tokenOf({ tokenFile }: ReachOptions, environment: Environment): string | null {
  const file = tokenFile ?? (environment.SLUICE_TOKEN_FILE || undefined)
  if (file === undefined) return environment.SLUICE_TOKEN || null
  const token = readFileSync(file, 'utf8').trim()
  if (token === '') throw new SluiceError('invalid', `The file ${file} holds no token.`)
  return token
}

async function reachStore(options: ReachOptions, { environment, user }: Host): Promise<Reached> {
  const layout = localLayout(options, environment)
  await refuseMissing(layout, `start one (${commandLine(['sluice', 'serve'])})`)
  const known = await openToKnow(layout, options.machines ?? [])
  try {
    const { control, stop } = await holdToLook(layout, options, known.implementations)
    return {
      control,
      client: null,
      // Whoever may write the store may do everything.
      actor: { actor: user, role: 'admin' },
      async close() {
        try {
          await stop()
        } finally {
          await known.stop()
        }
      },
    }
  } catch (error) {
    await known.stop()
    throw error
  }
}

/** All machines whose rules can be had here. Looking leaves nothing behind: a family whose folder is not there is not opened. */
async function openToKnow(
  layout: Layout,
  modules: readonly string[],
): Promise<{ readonly implementations: readonly Implementation[]; stop(): Promise<void> }> {
  const own = await ownImplementations(modules)
  const chunked = openChunked({ definitions: [], folder: layout.jobs })
  const upload = existsSync(layout.upload) ? await openUpload({ folder: layout.upload }) : null
  return {
    implementations: [...(upload?.implementations ?? []), ...chunked.implementations, ...own],
    stop: async () => upload?.stop(),
  }
}
