import type { Host } from '../host.ts'
import { type JobPlace, openToLook } from './place.ts'
import { titleOf } from './report.ts'

export interface CancelOptions extends JobPlace {
  readonly reason?: string
}

/** Ends a job that has not ended. What runs is told by its signal, in whichever process it runs. */
export async function cancel(
  id: number,
  options: CancelOptions,
  { terminal, user, environment }: Host,
): Promise<number> {
  const { chunked, control, close } = await openToLook(options, environment)
  try {
    const { reason } = options
    await chunked.cancel(control, id, { actor: user, ...(reason === undefined ? {} : { reason }) })
    terminal.out(`${titleOf(await chunked.job(control, id))}\n`)
    return 0
  } finally {
    await close()
  }
}
