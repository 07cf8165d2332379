import { type Chunked, type JobView, openChunked } from 'sluice/chunked'
import { systemClock } from '../../clock.ts'
import type { Control } from '../../control.ts'
import type { Layout } from '../family/layout.ts'
import type { Environment } from '../host.ts'
import {
  commandAt,
  type Held,
  holdToLook,
  holdToWork,
  localLayout,
  type Place,
  refuseMissing,
  serverOf,
} from '../place.ts'
import { remoteClient } from '../remote-place.ts'
import { type JobSources, type KnownJobs, knownJobs } from './known-jobs.ts'
import { remoteChunked } from './remote-chunked.ts'

export interface JobPlace extends Place, Omit<JobSources, 'folder'> {}

/** The chunked family and the control over its store, open. */
export interface Opened {
  readonly chunked: Chunked
  readonly control: Control
  /** A server works on it, and knows what it needs to know. */
  readonly isRemote?: boolean
  /** How often it is looked at while somebody waits. Default: as often as is useful on this machine. */
  readonly tickMs?: number
  close(): Promise<void>
}

/** With an engine that works on whatever is open in the store. `check` is called before there is one. A server has one already. */
export async function openToWork(
  place: JobPlace,
  environment: Environment,
  check?: (chunked: Chunked) => void,
): Promise<Opened> {
  const remote = await remoteOpened(place, environment)
  const layout = localLayout(place, environment)
  return remote ?? opened(layout, place, check, (chunked) => holdToWork(layout, place, chunked.implementations))
}

/** With all definitions and without an engine: to start a job that others work on. */
export async function openToStart(
  place: JobPlace,
  environment: Environment,
  check?: (chunked: Chunked) => void,
): Promise<Opened> {
  const remote = await remoteOpened(place, environment)
  const layout = localLayout(place, environment)
  return remote ?? opened(layout, place, check, (chunked) => holdToLook(layout, place, chunked.implementations))
}

/** To go on with what is there. */
export async function openToGoOn(place: JobPlace, environment: Environment): Promise<Opened> {
  if (serverOf(place, environment) === null) {
    await refuseMissing(localLayout(place, environment), 'run a job')
  }
  return openToWork(place, environment)
}

/** What is stored says all about a job; its definition is not needed to look at it. */
export async function openToLook(place: JobPlace, environment: Environment): Promise<Opened> {
  const remote = await remoteOpened(place, environment)
  if (remote) return remote
  const layout = localLayout(place, environment)
  await refuseMissing(layout, 'run a job')
  const chunked = openChunked({ definitions: [], folder: layout.jobs })
  const { control, stop } = await holdToLook(layout, place, chunked.implementations)
  return { chunked, control, close: stop }
}

/** Asked over a network, a job is looked at less often. */
const remoteTickMs = 1_000

async function remoteOpened(place: JobPlace, environment: Environment): Promise<Opened | null> {
  const server = serverOf(place, environment)
  if (server === null) return null
  const client = await remoteClient(server, place, environment, systemClock())
  return {
    chunked: remoteChunked(client),
    control: client,
    isRemote: true,
    tickMs: remoteTickMs,
    close: async () => {},
  }
}

async function opened(
  layout: Layout,
  place: JobPlace,
  check: ((chunked: Chunked) => void) | undefined,
  hold: (chunked: Chunked) => Promise<Held>,
): Promise<Opened> {
  const jobs: KnownJobs = await knownJobs({ ...place, folder: layout.jobs })
  try {
    const chunked = openChunked({ definitions: jobs.definitions, folder: layout.jobs })
    check?.(chunked)
    const { control, stop } = await hold(chunked)
    const close = async () => {
      try {
        await stop()
      } finally {
        await jobs.stop()
      }
    }
    return { chunked, control, close }
  } catch (error) {
    await jobs.stop()
    throw error
  }
}

/** The command to look with, as it has to be typed from here. */
export function lookCommand(place: JobPlace, ...words: readonly string[]): string {
  return commandAt(place, 'job', ...words)
}

/** The command to work with: it has to know what the jobs come from, too. */
export function workCommand(place: JobPlace, ...words: readonly string[]): string {
  const { jobs = [], allow = [], allowPort = [] } = place
  const sources = [
    ...jobs.flatMap((file) => ['--jobs', file]),
    ...allow.flatMap((host) => ['--allow', host]),
    ...allowPort.flatMap((port) => ['--allow-port', String(port)]),
  ]
  return lookCommand(place, ...words, ...sources)
}

/** `nightly@2`. */
export function nameOf({ definition, version }: Pick<JobView, 'definition' | 'version'>): string {
  return `${definition}@${version}`
}
