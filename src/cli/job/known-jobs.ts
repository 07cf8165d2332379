import type { JobDefinition } from 'sluice/chunked'
import { definitionsIn } from './job-modules.ts'

/** The jobs that a process knows, and what has to be stopped when it ends. */
export interface KnownJobs {
  readonly definitions: readonly JobDefinition[]
  stop(): Promise<void>
}

export interface JobSources {
  /** What jobs keep beside the store. */
  readonly folder: string
  /** Modules of the user's. */
  readonly jobs?: readonly string[]
  /** Hosts and networks that jobs may fetch from although they are not public, and ports besides the usual ones. */
  readonly allow?: readonly string[]
  readonly allowPort?: readonly number[]
  /** What jobs that were started over a network may use here besides what they bring. Default: what they bring is enough. */
  readonly networkRoots?: readonly string[]
  /** False: only those of the user's. */
  readonly builtIn?: boolean
}

/** The jobs that come with the package, and those of the user. */
export async function knownJobs(sources: JobSources): Promise<KnownJobs> {
  const own: JobDefinition[] = []
  for (const file of sources.jobs ?? []) own.push(...(await definitionsIn(file)))
  if (sources.builtIn === false) return { definitions: own, stop: async () => {} }
  const builtIn = await builtInJobs(sources)
  return { definitions: [...builtIn.definitions, ...own], stop: () => builtIn.stop() }
}

const usualPorts = [80, 443, 8080, 8443]

/** A wrong rule is refused now, not by the first chunk that fetches something. */
async function builtInJobs({ folder, allow = [], allowPort = [], networkRoots }: JobSources): Promise<KnownJobs> {
  const { fhirJobs } = await import('sluice/fhir')
  const own = networkRoots === undefined ? { folder } : { folder, networkRoots }
  if (allow.length + allowPort.length === 0) return fhirJobs(own)
  const { openDialer } = await import('sluice/dial')
  const dialer = openDialer({ rules: { allow, ports: [...usualPorts, ...allowPort] } })
  const { definitions, stop } = await fhirJobs({ ...own, dialer })
  return {
    definitions,
    async stop() {
      await stop()
      await dialer.close()
    },
  }
}
