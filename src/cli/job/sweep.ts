import { countOf } from '../figures.ts'
import type { Host } from '../host.ts'
import { type JobPlace, openToLook } from './place.ts'

/** Removes attachments that no job names any more. Those of the last day stay: their job may be just being started. */
export async function sweep(options: JobPlace, { terminal, environment }: Host): Promise<number> {
  const { chunked, control, close } = await openToLook(options, environment)
  try {
    const removed = await chunked.sweep(control)
    terminal.out(`${countOf(removed)} ${removed === 1 ? 'set' : 'sets'} of attachments removed.\n`)
    return 0
  } finally {
    await close()
  }
}
