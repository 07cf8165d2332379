import { sep } from 'node:path'
import type { StepJob } from 'sluice/chunked'
import { downloadFolder } from './import-file.ts'
import { boundariesOf, openAllowed } from './place.ts'
import type { OpenFile } from './plain-copy.ts'
import type { Workshop } from './workshop.ts'

/** Opens files of an import: copies that it made itself, anything else only where the job may read, whatever was checked before. */
export function openFor(job: StepJob, mark: string, workshop: Workshop): OpenFile {
  const boundaries = boundariesOf(workshop, job)
  const copies = `${downloadFolder(workshop.folder, job.id, mark)}${sep}`
  return (path) => openAllowed(path, path.startsWith(copies) ? [] : boundaries)
}
