import type { Chunked, JobView } from 'sluice/chunked'
import { SluiceError } from '../../errors.ts'
import type { Host } from '../host.ts'
import { nameOf, openToGoOn } from './place.ts'
import { type WorkOptions, workOn } from './work.ts'

/** Works on a job until it has ended. One that has ended already is only told of. */
export function resume(id: number, options: WorkOptions, host: Host): Promise<number> {
  return workOn(
    {
      open: () => openToGoOn(options, host.environment),
      async begin({ chunked, control, isRemote }) {
        const view = await chunked.job(control, id)
        const { settled, request } = await control.get(id)
        // What has ended may still have a handler to be called.
        if (!isRemote && (!settled || request !== null)) refuseUnknown(chunked, view)
        return { id, existing: true }
      },
    },
    options,
    host,
  )
}

/** Without its definition a job would wait for ever, and whoever waits for it as well. */
export function refuseUnknown(chunked: Chunked, view: JobView): void {
  const { definition, version } = view
  if (chunked.definitions.some((one) => one.id === definition && one.version === version)) return
  throw new SluiceError(
    'not_found',
    `Job ${view.id} is of ${nameOf(view)}, which is not known here. Name the module that defines it by --jobs.`,
    { id: view.id, definition, version },
  )
}
