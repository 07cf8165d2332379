import { resolve } from 'node:path'
import { type Clock, systemClock } from 'sluice'
import type { JobDefinition, Tolerance } from 'sluice/chunked'
import { type Dialer, type DialerSettings, openDialer } from 'sluice/dial'
import { FhirDesk } from '../desk/fhir-desk.ts'
import type { ValidationSettings } from '../validation.ts'
import { exportJob } from './export-job.ts'
import { type FhirLimits, fhirLimits } from './fhir-limits.ts'
import { importJob } from './import-job.ts'
import { reindexJob } from './reindex-job.ts'
import type { Workshop } from './workshop.ts'

export interface FhirJobsOptions {
  /** Where resources, downloads and lists of bad lines are kept. It is made when it is first needed. */
  readonly folder: string
  /** How URLs are reached: settings of the guarded dialer, or a dialer of the caller's. Default: public addresses only. */
  readonly dialer?: Dialer | DialerSettings
  /** Folders outside of which no file is read, and no export written, whatever links say. Default: any. */
  readonly roots?: readonly string[]
  /** The same for jobs that were started with `roots` of their own, as a server starts them: both count. Default: theirs are enough. */
  readonly networkRoots?: readonly string[]
  readonly limits?: Partial<FhirLimits>
  readonly validation?: Partial<ValidationSettings>
  /** How many files or ranges of an import may fail before it does. Default none. */
  readonly tolerance?: Tolerance
  readonly clock?: Clock
}

export interface FhirJobs {
  /** fhir-import, fhir-export and fhir-reindex. */
  readonly definitions: readonly JobDefinition[]
  readonly desk: FhirDesk
  /** After the engine has been stopped. */
  stop(): Promise<void>
}

/** The FHIR jobs of one folder. Nothing is opened before the first step asks for it. */
export async function fhirJobs(options: FhirJobsOptions): Promise<FhirJobs> {
  const {
    dialer: given = {},
    roots,
    networkRoots,
    validation = {},
    tolerance = { failures: 0 },
    clock = systemClock(),
  } = options
  const folder = resolve(options.folder)
  const desk = new FhirDesk({ file: resolve(folder, 'resources.db'), validation })
  let own: Dialer | null = null
  const dialer = (): Dialer => {
    if (isDialer(given)) return given
    own ??= openDialer({ clock, ...given })
    return own
  }
  const workshop: Workshop = {
    folder,
    desk,
    dialer,
    roots: roots?.map((root) => resolve(root)) ?? null,
    networkRoots: networkRoots?.map((root) => resolve(root)) ?? null,
    limits: fhirLimits(options.limits),
    lineBytesMax: desk.validation.resourceBytesMax,
    tolerance,
    clock,
  }
  return {
    definitions: [importJob(workshop), exportJob(workshop), reindexJob(workshop)],
    desk,
    async stop() {
      await own?.close()
      await desk.stop()
    },
  }
}

function isDialer(given: Dialer | DialerSettings): given is Dialer {
  return 'get' in given
}
