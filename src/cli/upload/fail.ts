import type { Host } from '../host.ts'
import { batchOf } from './batch.ts'
import { openToLook, type Place } from './place.ts'

export interface FailOptions extends Place {
  readonly reason?: string
}

/** Ends a batch that is not over: items that are not settled yet are stopped. */
export async function fail(id: number, options: FailOptions, { terminal, user, environment }: Host): Promise<number> {
  const opened = await openToLook(options, environment)
  try {
    await batchOf(opened, id)
    const { reason } = options
    // The history keeps the reason as the actor's; the batch, as part of its failure.
    const why = reason === undefined ? {} : { reason, input: { reason } }
    const { state } = await opened.control.act(id, 'mark_failed', { actor: user, confirmed: true, ...why })
    terminal.out(`Batch ${id} is ${state}.\n`)
    return 0
  } finally {
    await opened.close()
  }
}
