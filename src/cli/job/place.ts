import { type Chunked, type JobView, openChunked } from 'sluice/chunked'
import type { Control } from '../../control.ts'
import { commandAt, type Held, holdToLook, holdToWork, type Place, refuseMissing } from '../place.ts'
import { placeDefault } from './defaults.ts'
import { type JobSources, type KnownJobs, knownJobs } from './known-jobs.ts'

export interface JobPlace extends Place, JobSources {}

/** The chunked family and the control over its store, open. */
export interface Opened {
  readonly chunked: Chunked
  readonly control: Control
  close(): Promise<void>
}

/** With an engine that works on whatever is open in the store. `check` is called before there is one. */
export function openToWork(place: JobPlace, check?: (chunked: Chunked) => void): Promise<Opened> {
  return opened(place, check, (chunked) => holdToWork(place, chunked.implementations))
}

/** With all definitions and without an engine: to start a job that others work on. */
export function openToStart(place: JobPlace, check?: (chunked: Chunked) => void): Promise<Opened> {
  return opened(place, check, (chunked) => holdToLook(place, chunked.implementations))
}

/** What is stored says all about a job; its definition is not needed to look at it. */
export async function openToLook(place: JobPlace): Promise<Opened> {
  refuseMissing(place, 'run a job')
  const chunked = openChunked({ definitions: [], folder: place.folder })
  const { control, stop } = await holdToLook(place, chunked.implementations)
  return { chunked, control, close: stop }
}

async function opened(
  place: JobPlace,
  check: ((chunked: Chunked) => void) | undefined,
  hold: (chunked: Chunked) => Promise<Held>,
): Promise<Opened> {
  const jobs: KnownJobs = await knownJobs(place)
  try {
    const chunked = openChunked({ definitions: jobs.definitions, folder: place.folder })
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
  return commandAt(place, placeDefault, 'job', ...words)
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
