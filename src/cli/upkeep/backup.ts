import { existsSync, mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { SluiceError } from '../../errors.ts'
import { backUpFile, restoreFile } from '../../store/sqlite/backup.ts'
import { parseStoreAddress, shownStore } from '../../store-address.ts'
import type { Environment, Host } from '../host.ts'
import { localLayout, type Place } from '../place.ts'
import { sizeOf } from '../size.ts'
import { plain } from '../text.ts'

export interface BackupOptions extends Pick<Place, 'folder' | 'store'> {
  readonly json?: boolean
}

/** A copy of the store as it is now. Whoever uses it goes on. */
export async function backup(copy: string, options: BackupOptions, { environment, terminal }: Host): Promise<number> {
  const file = fileOf(options, environment)
  if (!existsSync(file)) throw new SluiceError('not_found', `There is no store at ${plain(file, 200)}.`)
  backUpFile(file, copy)
  const { size } = statSync(copy)
  terminal.out(
    options.json
      ? `${JSON.stringify({ store: file, backup: copy, bytes: size })}\n`
      : `Copied ${plain(file, 200)} to ${plain(copy, 200)} (${sizeOf(size)}). Files of uploads and jobs are in folders beside the store: copy these too.\n`,
  )
  return 0
}

/** Puts a backup in the place of the store. Refused while any process uses it. */
export async function restore(
  from: string,
  options: BackupOptions,
  { environment, terminal, clock }: Host,
): Promise<number> {
  const file = fileOf(options, environment)
  mkdirSync(dirname(file), { recursive: true })
  const time = new Date(clock.now()).toISOString().replaceAll(/[-:]|\.\d+/g, '')
  const kept = restoreFile(from, file, `before-restore-${time}`)
  const rest = kept === null ? '' : ` The store that was there is kept as ${plain(kept, 200)}.`
  terminal.out(
    options.json
      ? `${JSON.stringify({ store: file, restored: from, kept })}\n`
      : `Restored ${plain(from, 200)} to ${plain(file, 200)}.${rest} Look with sluice doctor, then start the processes again.\n`,
  )
  return 0
}

function fileOf(options: BackupOptions, environment: Environment): string {
  const { store } = localLayout(options, environment)
  const address = parseStoreAddress(store)
  if (address.kind === 'sqlite') return address.file
  throw new SluiceError(
    'unsupported',
    `${shownStore(store)} is not a file. Back up and restore a server with its own tools (pg_dump, pg_restore), or carry it to a file with sluice move --copy.`,
  )
}
