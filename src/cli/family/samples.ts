import { createReadStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Chunked } from 'sluice/chunked'
import { type SampleOptions, type Upload, writeSample } from 'sluice/upload'
import type { Control } from '../../control.ts'
import type { Samples } from '../../http/families.ts'
import type { Layout } from './layout.ts'

export interface SampleSources {
  readonly upload: Upload
  readonly chunked: Chunked
  readonly control: Control
  readonly layout: Layout
}

interface SampleFile extends Omit<SampleOptions, 'path'> {
  readonly fileName: string
  readonly collection: string
}

/** Enough to watch, and soon done: one with everything that goes wrong in it, one that is as it should be. */
const files: readonly SampleFile[] = [
  { fileName: 'sample-news.json', collection: 'news', items: 20_000, bad: 0.01, duplicates: 0.02, seed: 1 },
  { fileName: 'sample-archive.json', collection: 'archive', items: 5_000, seed: 2 },
]
const fhirImport = 'fhir-import'
const resources = 5_000

/** What a newcomer can try at once. Asked for twice, it is the same: files are known by their content, the job by its key. */
export function samplesOf(sources: SampleSources): Samples {
  return {
    async offered() {
      const { entities } = await sources.control.list({ parent: null, limit: 1 })
      return entities.length === 0
    },
    async create(actor) {
      const ids: number[] = []
      for (const file of files) ids.push(await uploadSample(sources, file, actor))
      const job = await startSample(sources, actor)
      return job === null ? ids : [...ids, job]
    },
  }
}

async function uploadSample(
  { upload, control, layout }: SampleSources,
  file: SampleFile,
  actor: string,
): Promise<number> {
  const { fileName, collection, ...content } = file
  const folder = await mkdtemp(join(layout.upload, 'sample-'))
  try {
    const path = join(folder, fileName)
    await writeSample({ ...content, path })
    const { id } = await upload.receive(control, createReadStream(path), { fileName, collection, uploadedBy: actor })
    return id
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Null: the FHIR jobs are not there. */
async function startSample({ chunked, control, layout }: SampleSources, actor: string): Promise<number | null> {
  if (!chunked.definitions.some(({ id }) => id === fhirImport)) return null
  const { writeSample: writeResources } = await import('sluice/fhir')
  const folder = resolve(layout.jobs, 'sample')
  await writeResources({ folder, count: resources, bad: 0.005, seed: 1 })
  const parameters = { inputs: [{ folder }] }
  const { id } = await chunked.start(control, fhirImport, parameters, { key: 'sample', startedBy: actor })
  return id
}
