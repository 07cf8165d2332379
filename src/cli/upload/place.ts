import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { openUpload, type Upload, type UploadOptions } from 'sluice/upload'
import { systemClock } from '../../clock.ts'
import type { Control } from '../../control.ts'
import { SluiceError } from '../../errors.ts'
import type { Environment } from '../host.ts'
import { type Held, holdToLook, holdToWork, localLayout, type Place, refuseMissing, serverOf } from '../place.ts'
import { remoteClient } from '../remote-place.ts'
import { remoteUpload } from './remote-upload.ts'

export type { Place } from '../place.ts'

/** The upload family and the control over its store, open. */
export interface Opened {
  readonly upload: Upload
  readonly control: Control
  /** How often it is looked at while somebody waits. Default: as often as is useful on this machine. */
  readonly tickMs?: number
  close(): Promise<void>
}

/** With an engine that works on whatever is open in the store; a server has one already. */
export async function openToWork(
  place: Place,
  environment: Environment,
  options: Omit<UploadOptions, 'folder'> = {},
): Promise<Opened> {
  const server = serverOf(place, environment)
  if (server !== null) return remoteOpened(server, place, environment)
  const layout = localLayout(place, environment)
  const upload = await openUpload({ ...options, folder: layout.upload })
  return opened(upload, () => holdToWork(layout, place, upload.implementations))
}

/** The same over a store that exists already. `look` sees it as it is before any work is done in it. */
export async function openToGoOn(
  place: Place,
  environment: Environment,
  look: (control: Control) => Promise<void>,
): Promise<Opened> {
  const server = serverOf(place, environment)
  if (server !== null) {
    const opened = await remoteOpened(server, place, environment)
    await look(opened.control)
    return opened
  }
  const layout = localLayout(place, environment)
  await refuseMissing(layout, 'run an upload')
  const upload = await openUpload({ folder: layout.upload })
  return opened(upload, async () => {
    const resting = await holdToLook(layout, place, upload.implementations)
    try {
      await look(resting.control)
    } finally {
      await resting.stop()
    }
    return holdToWork(layout, place, upload.implementations)
  })
}

/** Without one: looking at a batch must not set it going. */
export async function openToLook(
  place: Place,
  environment: Environment,
  options: Omit<UploadOptions, 'folder'> = {},
): Promise<Opened> {
  const server = serverOf(place, environment)
  if (server !== null) return remoteOpened(server, place, environment)
  const layout = localLayout(place, environment)
  await refuseMissing(layout, 'run an upload')
  const upload = await openUpload({ ...options, folder: layout.upload })
  return opened(upload, () => holdToLook(layout, place, upload.implementations))
}

/** The same, for what is in the files: a folder that is not there is not made, so that a wrong one is not taken for an empty one. */
export async function openToSearch(
  place: Place,
  environment: Environment,
  options: Omit<UploadOptions, 'folder'> = {},
): Promise<Opened> {
  if (serverOf(place, environment) === null) {
    const { upload, store } = localLayout(place, environment)
    await refuseMissing({ store }, 'run an upload')
    if (!existsSync(upload)) {
      throw new SluiceError(
        'not_found',
        `There are no uploads in ${dirname(resolve(upload))}. Name the folder that has them by --folder.`,
      )
    }
  }
  return openToLook(place, environment, options)
}

/** Asked over a network, a batch is looked at less often. */
const remoteTickMs = 1_000

async function remoteOpened(server: string, place: Place, environment: Environment): Promise<Opened> {
  const client = await remoteClient(server, place, environment, systemClock())
  return { upload: remoteUpload(client), control: client, tickMs: remoteTickMs, close: async () => {} }
}

/** Whoever could not open all leaves nothing open behind. */
async function opened(upload: Upload, hold: () => Promise<Held>): Promise<Opened> {
  try {
    const { control, stop } = await hold()
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
