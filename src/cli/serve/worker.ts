import { shownStore } from '../../store-address.ts'
import type { Host } from '../host.ts'
import { Interrupt } from '../interrupt.ts'
import { table } from '../text.ts'
import { type GivenSettings, settingsOf } from './settings.ts'
import { openWorks, placeRows } from './works.ts'

export interface WorkerOptions extends Omit<GivenSettings, 'listen' | 'names' | 'http'> {
  readonly config?: string
  readonly json?: boolean
}

/** An engine without an API, on a store that others share, until somebody asks to stop. */
export async function worker({ config, json, ...given }: WorkerOptions, host: Host): Promise<number> {
  const settings = settingsOf(given, host.environment, config)
  const { terminal } = host
  const interrupt = new Interrupt(
    host.signals,
    () => terminal.err('Stopping: what runs may end. Once more, and it leaves at once.\n'),
    (status) => host.exit(status),
  )
  try {
    const works = await openWorks(settings)
    try {
      const { jobs } = works.families
      const { machines } = works
      const store = shownStore(settings.layout.store)
      const rows = [
        ...placeRows(settings.layout),
        ['machines', machines.join(', ')],
        ['jobs', jobs.join(', ') || 'none'],
      ]
      const facts = { version: works.version, pid: process.pid, store, machines, jobs }
      terminal.out(
        json
          ? `${JSON.stringify(facts)}\n`
          : `At work.\n\n${table(rows).join('\n')}\n\nCtrl-C stops it; nothing is lost.\n`,
      )
      await new Promise<void>((resolve) => {
        if (interrupt.isAsked) resolve()
        else interrupt.signal.addEventListener('abort', () => resolve(), { once: true })
      })
    } finally {
      await works.stop()
    }
    return 0
  } finally {
    interrupt.close()
    if (interrupt.isAsked) host.leave(0)
  }
}
