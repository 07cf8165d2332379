import { type MetricsServer, openMetricsServer } from '../../http/metrics-server.ts'
import { shownStore } from '../../store-address.ts'
import type { Host } from '../host.ts'
import { Interrupt } from '../interrupt.ts'
import { table } from '../text.ts'
import type { Address } from './address.ts'
import { type GivenSettings, settingsOf } from './settings.ts'
import { openWorks, placeRows, type Works } from './works.ts'

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
    const metrics = settings.metrics === null ? null : await metricsOf(works, settings.metrics)
    try {
      const { jobs } = works.families
      const { machines } = works
      const store = shownStore(settings.layout.store)
      const rows = [
        ...placeRows(settings.layout),
        ['machines', machines.join(', ')],
        ['jobs', jobs.join(', ') || 'none'],
        ...(metrics ? [['metrics', `${metrics.url}/metrics`]] : []),
      ]
      const facts = { version: works.version, pid: process.pid, store, machines, jobs, metrics: metrics?.url ?? null }
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
      await metrics?.close()
      await works.stop()
    }
    return 0
  } finally {
    interrupt.close()
    if (interrupt.isAsked) host.leave(0)
  }
}

/** A worker that could not open all of its own leaves nothing open behind. */
async function metricsOf(works: Works, listen: Address): Promise<MetricsServer> {
  const { control, log } = works
  try {
    return await openMetricsServer({ control, figures: () => works.figures(), listen, log })
  } catch (error) {
    await works.stop()
    throw error
  }
}
