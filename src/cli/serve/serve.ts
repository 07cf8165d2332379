import { mkdirSync } from 'node:fs'
import { dashboard } from '../../dashboard/index.ts'
import { type Access, openAccess, openIdempotencyFile, openServer } from '../../http/index.ts'
import { shownStore } from '../../store-address.ts'
import { sentenceOf } from '../failure.ts'
import { answerFile, type Layout, tokenFile } from '../family/layout.ts'
import { countOf } from '../figures.ts'
import type { Host } from '../host.ts'
import { Interrupt } from '../interrupt.ts'
import { commandLine, plain, table } from '../text.ts'
import { type GivenSettings, type Settings, settingsOf } from './settings.ts'
import { openWorks, placeRows, type Works } from './works.ts'

export interface ServeOptions extends GivenSettings {
  readonly config?: string
  /** Make the sample batches now, if the store is empty. */
  readonly samples?: boolean
  /** False: the API alone. */
  readonly dashboard?: boolean
  readonly json?: boolean
}

/** Engine, API and dashboard in one process, until somebody asks to stop. */
export async function serve(options: ServeOptions, host: Host): Promise<number> {
  const { config, samples = false, dashboard: hasDashboard = true, json = false, ...given } = options
  const settings = settingsOf(given, host.environment, config)
  const { terminal } = host
  const interrupt = new Interrupt(
    host.signals,
    () => terminal.err('Stopping: what runs may end. Once more, and it leaves at once.\n'),
    (status) => host.exit(status),
  )
  try {
    const served = await openServed(settings, hasDashboard, host)
    try {
      terminal.out(json ? `${JSON.stringify(factsOf(served, settings))}\n` : await greeting(served, settings, samples))
      if (samples) await createSamples(served, host)
      await asked(interrupt.signal)
    } finally {
      await served.close()
    }
    return 0
  } finally {
    interrupt.close()
    // A processor that does not heed its signal would keep the process for as long as it likes.
    if (interrupt.isAsked) host.leave(0)
  }
}

interface Served {
  readonly works: Works
  readonly access: Access
  readonly url: string
  close(): Promise<void>
}

/** Whoever could not open all leaves nothing open behind. */
async function openServed(settings: Settings, hasDashboard: boolean, { clock }: Host): Promise<Served> {
  const { layout, listen, names, http } = settings
  mkdirSync(layout.server, { recursive: true, mode: 0o700 })
  const access = openAccess({ file: tokenFile(layout), clock })
  const works = await openWorks(settings)
  const { control, families, log, version } = works
  try {
    const idempotency = openIdempotencyFile({ file: answerFile(layout), clock })
    try {
      const server = await openServer({
        control,
        families: families.ports(control),
        access,
        idempotency,
        listen,
        names,
        limits: http,
        log,
        clock,
        version,
        figures: () => works.figures(),
        ...(hasDashboard
          ? { dashboard: dashboard({ control, clock, onError: (error) => log.warn(error, 'dashboard') }) }
          : {}),
      })
      const close = async () => {
        // First nobody asks any more, then nothing is done any more.
        try {
          await server.close()
        } finally {
          await works.stop()
          await idempotency.close()
        }
      }
      return { works, access, url: server.url, close }
    } catch (error) {
      await idempotency.close()
      throw error
    }
  } catch (error) {
    await works.stop()
    throw error
  }
}

async function createSamples({ works }: Served, { terminal, user }: Host): Promise<void> {
  const { samples } = works.families.ports(works.control)
  if (!samples) return
  if (!(await samples.offered())) {
    terminal.err('No samples were made: the store is not empty.\n')
    return
  }
  try {
    const ids = await samples.create(user)
    terminal.err(`Samples: entities ${ids.join(', ')}.\n`)
  } catch (error) {
    // A server without samples is a server all the same.
    terminal.err(`The samples could not be made: ${sentenceOf(error)}\n`)
  }
}

function factsOf({ works: { families, machines, version }, url }: Served, { layout }: Settings) {
  return { url, version, pid: process.pid, ...layout, store: shownStore(layout.store), machines, jobs: families.jobs }
}

async function greeting({ works, access, url }: Served, { layout }: Settings, samples: boolean): Promise<string> {
  const { families, machines, version, control } = works
  const lanes = await control.totals()
  const entities = lanes.reduce((all, { total }) => all + total, 0)
  const rows: readonly (readonly [string, string])[] = [
    ...placeRows(layout, ` (${countOf(entities)} root entities)`),
    ['machines', machines.join(', ')],
    ['jobs', families.jobs.join(', ') || 'none'],
    ...families.missing.map((sentence) => ['missing', sentence] as const),
    ['access', await accessOf(access, layout)],
  ]
  const isOffered = !samples && entities === 0
  const offer = `The store is empty. For something to look at press "Create samples" at ${url}, or start it with --samples.`
  return [
    `Sluice ${version} is at ${url}`,
    '',
    ...table(rows),
    '',
    ...(isOffered ? [offer] : []),
    'Ctrl-C stops it; nothing is lost.',
    '',
  ].join('\n')
}

async function accessOf(access: Access, { server }: Layout): Promise<string> {
  const tokens = await access.list()
  if (tokens.length > 0) return `${countOf(tokens.length)} tokens in ${plain(server, 200)}`
  const create = commandLine(['sluice', 'token', 'create', '--name', 'NAME', '--role', 'operator'])
  return `no tokens: whoever is on this machine is admin (${create})`
}

function asked(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
