import { openUpload, type Upload, type UploadOptions } from 'sluice/upload'
import { systemClock } from '../../clock.ts'
import type { Control } from '../../control.ts'
import type { Environment } from '../host.ts'
import { type Held, holdToLook, holdToWork, type Place, refuseMissing } from '../place.ts'
import { localPlace, remoteClient, remotePlace } from '../remote-place.ts'
import { placeDefault } from './defaults.ts'
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
  const server = remotePlace(place, placeDefault, environment)
  if (server !== null) return remoteOpened(server, place, environment)
  const here = localPlace(place, placeDefault, environment)
  const upload = await openUpload({ ...options, folder: here.folder })
  return opened(upload, () => holdToWork(here, upload.implementations))
}

/** The same over a store that exists already. `look` sees it as it is before any work is done in it. */
export async function openToGoOn(
  place: Place,
  environment: Environment,
  look: (control: Control) => Promise<void>,
): Promise<Opened> {
  const server = remotePlace(place, placeDefault, environment)
  if (server !== null) {
    const opened = await remoteOpened(server, place, environment)
    await look(opened.control)
    return opened
  }
  const here = localPlace(place, placeDefault, environment)
  await refuseMissing(here, 'run an upload')
  const upload = await openUpload({ folder: here.folder })
  return opened(upload, async () => {
    const resting = await holdToLook(here, upload.implementations)
    try {
      await look(resting.control)
    } finally {
      await resting.stop()
    }
    return holdToWork(here, upload.implementations)
  })
}

/** Without one: looking at a batch must not set it going. */
export async function openToLook(
  place: Place,
  environment: Environment,
  options: Omit<UploadOptions, 'folder'> = {},
): Promise<Opened> {
  const server = remotePlace(place, placeDefault, environment)
  if (server !== null) return remoteOpened(server, place, environment)
  const here = localPlace(place, placeDefault, environment)
  await refuseMissing(here, 'run an upload')
  const upload = await openUpload({ ...options, folder: here.folder })
  return opened(upload, () => holdToLook(here, upload.implementations))
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
