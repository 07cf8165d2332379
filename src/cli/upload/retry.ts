import type { Control, Detail } from '../../control.ts'
import { SluiceError } from '../../errors.ts'
import type { Host } from '../host.ts'
import { detailOf, isOver } from './batch.ts'
import { openToGoOn } from './place.ts'
import { type WorkOptions, workOn } from './work.ts'

/**
 * Tries again what failed: the failed items of a partial success, or the whole batch. A batch that is not over, perhaps because an
 * earlier retry was interrupted, goes on instead.
 */
export function retry(id: number, options: WorkOptions, host: Host): Promise<number> {
  let found: Detail
  // Read before the engine starts: it might finish an interrupted retry before anybody looks, and a second retry would begin.
  const look = async (control: Control) => {
    found = await detailOf(control, id)
    if (found.state === 'completed')
      throw new SluiceError('conflict', `Batch ${id} is completed: nothing in it failed, so there is nothing to retry.`)
  }
  return workOn(
    {
      open: () => openToGoOn(options, host.environment, look),
      async begin({ control }) {
        if (isOver(found)) await control.act(id, actions[found.state]!, { actor: host.user, confirmed: true })
        return { id, existing: false }
      },
    },
    options,
    host,
  )
}

const actions: Readonly<Record<string, string>> = {
  partially_completed: 'retry_failed_items',
  failed: 'retry_batch',
}
