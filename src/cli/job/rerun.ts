import { SluiceError } from '../../errors.ts'
import type { Host } from '../host.ts'
import { openToGoOn } from './place.ts'
import { refuseUnknown } from './resume.ts'
import { type WorkOptions, workOn } from './work.ts'

/** Runs the failed chunks of a failed job again, and stays until it has ended. */
export function rerun(id: number, options: WorkOptions, host: Host): Promise<number> {
  return workOn(
    {
      open: () => openToGoOn(options, host.environment),
      async begin({ chunked, control, isRemote }) {
        const view = await chunked.job(control, id)
        if (!isRemote) refuseUnknown(chunked, view)
        if (view.state !== 'failed')
          throw new SluiceError('conflict', `Job ${id} is ${view.state}: ${why(view.state)}.`)
        await chunked.rerun(control, id, { actor: host.user })
        return { id, existing: false }
      },
    },
    options,
    host,
  )
}

function why(state: string): string {
  switch (state) {
    case 'completed':
      return 'there is nothing to run again'
    case 'cancelled':
      return 'it has ended for good; start it anew'
    default:
      return 'it has not ended yet, so there is nothing to run again'
  }
}
