import { type UploadBatchView, uploadBatch } from 'sluice/upload'
import { SluiceError } from '../../errors.ts'
import type { Opened } from './place.ts'

/** The batch with this id. Items have ids of the same kind, and are easily mistaken for one. */
export async function batchOf({ upload, control }: Opened, id: number): Promise<UploadBatchView> {
  const { machine } = await control.get(id)
  if (machine === uploadBatch.name) return upload.batch(control, id)
  throw new SluiceError('not_found', `Entity ${id} is no upload batch, but of machine ${machine}.`, { id, machine })
}
