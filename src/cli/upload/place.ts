import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import { type Logger, pino } from 'pino'
import { openUpload, type Upload, type UploadOptions } from 'sluice/upload'
import type { Control } from '../../control.ts'
import { Engine } from '../../engine/engine.ts'
import { SluiceError } from '../../errors.ts'
import { openSluice } from '../../index.ts'
import { sqliteStore } from '../../store/sqlite/index.ts'

/** Where a command finds what is stored. */
export interface Place {
  readonly store: string
  readonly folder: string
  readonly log?: string
}

/** The upload family and the control over its store, open. */
export interface Opened {
  readonly upload: Upload
  readonly control: Control
  close(): Promise<void>
}

/** Whoever pressed Ctrl-C does not want to wait twenty seconds for a processor that can go on next time. */
const drainMs = 1_000

/** With an engine that works on whatever is open in the store. */
export async function openToWork(place: Place, options: Omit<UploadOptions, 'folder'> = {}): Promise<Opened> {
  const log = logOf(place)
  const upload = await openUpload({ ...options, folder: place.folder })
  return opened(upload, async () => {
    const sluice = await openSluice({
      store: place.store,
      implementations: upload.implementations,
      log,
      limits: { drainMs },
    })
    return { control: sluice, stop: () => sluice.stop() }
  })
}

/** Without one: looking at a batch must not set it going. */
export async function openToLook(place: Place, options: Omit<UploadOptions, 'folder'> = {}): Promise<Opened> {
  if (!existsSync(place.store)) {
    throw new SluiceError(
      'not_found',
      `There is no store at ${place.store}. Name it by --store, or run an upload first.`,
    )
  }
  const log = logOf(place)
  const upload = await openUpload({ ...options, folder: place.folder })
  return opened(upload, async () => {
    const store = await sqliteStore({ file: place.store })
    const engine = new Engine({
      store,
      implementations: upload.implementations,
      log,
      host: hostname(),
      pid: process.pid,
    })
    try {
      await engine.prepare()
    } catch (error) {
      await store.close()
      throw error
    }
    return { control: engine.control, stop: () => store.close() }
  })
}

/** Whoever could not open all leaves nothing open behind. */
async function opened(
  upload: Upload,
  open: () => Promise<{ control: Control; stop: () => Promise<void> }>,
): Promise<Opened> {
  try {
    const { control, stop } = await open()
    const close = async () => {
      try {
        await stop()
      } finally {
        await upload.stop()
      }
    }
    return { upload, control, close }
  } catch (error) {
    await upload.stop()
    throw error
  }
}

/** Results are on standard output, so logs are on the error stream, and only if somebody asked for them. */
function logOf({ log = 'silent' }: Place): Logger {
  return pino({ level: log }, pino.destination({ fd: 2, sync: true }))
}
