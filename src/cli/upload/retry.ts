import { SluiceError } from '../../errors.ts'
import type { Host } from '../host.ts'
import { batchOf } from './batch.ts'
import { openToWork } from './place.ts'
import { type WorkOptions, workOn } from './work.ts'

/** Tries again what failed: the failed items of a partial success, or the whole batch. */
export function retry(id: number, options: WorkOptions, host: Host): Promise<number> {
  return workOn(
    {
      open: () => openToWork(options, host.environment),
      async begin(opened) {
        const { state } = await batchOf(opened, id)
        await opened.control.act(id, actionFor(id, state), { actor: host.user, confirmed: true })
        return { id, existing: false }
      },
    },
    options,
    host,
  )
}

function actionFor(id: number, state: string): string {
  if (state === 'partially_completed') return 'retry_failed_items'
  if (state === 'failed') return 'retry_batch'
  const why = state === 'completed' ? 'nothing in it failed' : 'it is not over yet'
  throw new SluiceError('conflict', `Batch ${id} is ${state}: ${why}, so there is nothing to retry.`)
}
