import { type UploadBatchView, uploadBatch } from 'sluice/upload'
import type { Control, Detail } from '../../control.ts'
import { SluiceError } from '../../errors.ts'
import type { Opened } from './place.ts'

/** The batch with this id. Items have ids of the same kind, and are easily mistaken for one. */
export async function batchOf({ upload, control }: Opened, id: number): Promise<UploadBatchView> {
  await detailOf(control, id)
  return upload.batch(control, id)
}

export async function detailOf(control: Control, id: number): Promise<Detail> {
  const detail = await control.get(id)
  if (detail.machine === uploadBatch.name) return detail
  const { machine } = detail
  throw new SluiceError('not_found', `Entity ${id} is no upload batch, but of machine ${machine}.`, { id, machine })
}

/** A settled batch whose retry was asked for moves as soon as a worker has taken it up. Its notification is sent beside it. */
export function isOver({ settled, request }: Pick<Detail, 'settled' | 'request'>): boolean {
  return settled && (request === null || isNotification(request))
}

export function isNotification({ edge }: NonNullable<Detail['request']>): boolean {
  return edge.startsWith('notify_')
}
