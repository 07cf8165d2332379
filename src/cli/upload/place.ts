import { openUpload, type Upload, type UploadOptions } from 'sluice/upload'
import type { Control } from '../../control.ts'
import { type Held, holdToLook, holdToWork, type Place, refuseMissing } from '../place.ts'

export type { Place } from '../place.ts'

/** The upload family and the control over its store, open. */
export interface Opened {
  readonly upload: Upload
  readonly control: Control
  close(): Promise<void>
}

/** With an engine that works on whatever is open in the store. */
export async function openToWork(place: Place, options: Omit<UploadOptions, 'folder'> = {}): Promise<Opened> {
  const upload = await openUpload({ ...options, folder: place.folder })
  return opened(upload, () => holdToWork(place, upload.implementations))
}

/** Without one: looking at a batch must not set it going. */
export async function openToLook(place: Place, options: Omit<UploadOptions, 'folder'> = {}): Promise<Opened> {
  refuseMissing(place, 'run an upload')
  const upload = await openUpload({ ...options, folder: place.folder })
  return opened(upload, () => holdToLook(place, upload.implementations))
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
