import { closeSync, existsSync, fsyncSync, linkSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isSluiceError, SluiceError } from '../../errors.ts'
import { Database } from './database.ts'
import { faultOf, isBusy } from './fault.ts'

/**
 * Writes a copy of the store as it is now; processes that use it go on. The name leads to a whole copy or to nothing: it is written under
 * another name, checked, synced and renamed.
 */
export function backUpFile(file: string, copy: string): void {
  if (existsSync(copy)) throw refused(`${copy} exists already. Name a file that does not exist.`, copy)
  const part = `${copy}.part`
  removeDatabase(part)
  try {
    copyInto(file, part)
    renameSync(part, copy)
    sync(dirname(copy))
  } catch (error) {
    removeDatabase(part)
    throw error
  }
}

/**
 * Puts a copy in the place of the store, and keeps the store beside it under the name that is returned (null: there was none). After a crash
 * at any line the name leads to the old store or to the new one, never to one with the log of the other.
 */
export function restoreFile(backup: string, file: string, suffix: string): string | null {
  if (!existsSync(backup)) throw new SluiceError('not_found', `There is no backup at ${backup}.`, { file: backup })
  const part = `${file}.restoring`
  removeDatabase(part)
  try {
    copyInto(backup, part)
    const isThere = existsSync(file)
    const aside = `${file}.${suffix}`
    if (isThere) {
      if (existsSync(aside)) throw refused(`${aside} exists already. Move it away first.`, aside)
      // The log goes first: the new file must never stand beside the log of the old one.
      closeLog(file, aside)
      linkSync(file, aside)
    } else for (const ending of logEndings) rmSync(`${file}${ending}`, { force: true })
    renameSync(part, file)
    sync(dirname(file))
    return isThere ? aside : null
  } catch (error) {
    removeDatabase(part)
    throw error
  }
}

const logEndings = ['-wal', '-shm']

/** A checked copy of one moment, with what is still in the log. */
function copyInto(from: string, to: string): void {
  // Opening it refuses what is damaged, of another program or newer.
  const source = new Database(from)
  try {
    if (!source.hasTables()) throw refused(`${from} is no store of Sluice: it is empty.`, from)
    source.run('VACUUM INTO ?', to)
  } catch (error) {
    throw faultOf(error, from)
  } finally {
    source.close()
  }
  const copied = new DatabaseSync(to)
  try {
    const [said] = Object.values(copied.prepare('PRAGMA quick_check(1)').get() ?? {})
    if (said !== 'ok') throw refused(`The copy ${to} is damaged: ${String(said)}. Check the disk.`, to)
  } finally {
    copied.close()
  }
  sync(to)
}

/** Moves what the log holds into the file and removes the log, which SQLite allows only to the one connection there is. */
function closeLog(file: string, aside: string): void {
  try {
    const database = new DatabaseSync(file, { timeout: 1_000 })
    try {
      database.exec('PRAGMA journal_mode = DELETE')
    } finally {
      database.close()
    }
  } catch (error) {
    if (isBusy(error)) {
      throw new SluiceError('conflict', `Another process uses ${file}. Stop every process that does, then try again.`, {
        file,
      })
    }
    // It is too damaged to be opened: its log is kept beside it, for whoever wants to save something.
    if (!isSluiceError(faultOf(error, file), 'invalid')) throw faultOf(error, file)
    for (const ending of logEndings) {
      if (existsSync(`${file}${ending}`)) renameSync(`${file}${ending}`, `${aside}${ending}`)
    }
  }
}

function removeDatabase(file: string): void {
  for (const ending of ['', '-journal', ...logEndings]) rmSync(`${file}${ending}`, { force: true })
}

/** A file or a folder: what was written, or which names there are, is on the disk when this returns. */
function sync(path: string): void {
  const handle = openSync(path, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

function refused(message: string, file: string): SluiceError {
  return new SluiceError('conflict', message, { file })
}
