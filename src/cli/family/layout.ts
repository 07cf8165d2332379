import { existsSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { SluiceError } from '../../errors.ts'
import { storeText } from '../../store-address.ts'
import { shellWord } from '../text.ts'

/** Where all of one Sluice lies. */
export interface Layout {
  /** Its address; on a server only the store is elsewhere, the rest is in the folder all the same. */
  readonly store: string
  readonly upload: string
  readonly jobs: string
  /** Tokens, and the answers that a server has given. */
  readonly server: string
}

export const folderDefault = '.'

/** One folder holds everything, under the same names for every command. */
export function layoutOf(folder?: string, store?: string): Layout {
  const address = store === undefined ? null : storeText(store)
  // What ends with its process leaves no files behind that a later store would take for its own.
  const base = folder ?? (address === 'memory:' ? memoryFolder : folderDefault)
  refuseFamilyFolder(base)
  return {
    store: address ?? join(base, 'sluice.db'),
    upload: join(base, 'sluice-upload'),
    jobs: join(base, 'sluice-jobs'),
    server: join(base, 'sluice-server'),
  }
}

const memoryFolder = join(tmpdir(), `sluice-memory-${process.pid}`)

/** At the end of the process. */
export function removeMemoryFolder(): void {
  rmSync(memoryFolder, { recursive: true, force: true })
}

/** Until version 0.1, `--folder` of `upload` and `job` named the family's own folder. Nothing is made inside of one. */
function refuseFamilyFolder(folder: string): void {
  if (['sluice.db', 'sluice-upload', 'sluice-jobs'].some((name) => existsSync(join(folder, name)))) return
  const name = existsSync(join(folder, 'catalogue.db'))
    ? 'sluice-upload'
    : existsSync(join(folder, 'resources.db')) || hasAttachments(folder)
      ? 'sluice-jobs'
      : null
  if (name === null) return
  const advice =
    basename(resolve(folder)) === name
      ? `name the folder above it: --folder ${shellWord(dirname(folder))}`
      : `rename it to ${name} and name the folder above it`
  throw new SluiceError(
    'invalid',
    `--folder names the folder that holds sluice.db, sluice-upload and sluice-jobs. ${folder} is a ${name} folder itself: ${advice}.`,
  )
}

function hasAttachments(folder: string): boolean {
  const attachments = join(folder, 'attachments')
  return existsSync(attachments) && readdirSync(attachments).some((name) => /^[0-9a-f]{64}$/.test(name))
}

export function tokenFile({ server }: Layout): string {
  return join(server, 'tokens.json')
}

export function answerFile({ server }: Layout): string {
  return join(server, 'http.db')
}
