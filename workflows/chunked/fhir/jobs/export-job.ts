import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { defineJob, done, fail, type JobDefinition, path } from 'sluice/chunked'
import { z } from 'zod'
import { claimFolder, claimName } from './export-folder.ts'
import { manifestName } from './import-file.ts'
import { boundariesOf } from './place.ts'
import { chosenTypes, typeName, typeNames } from './resource-types.ts'
import { WholeFile } from './whole-file.ts'
import type { Workshop } from './workshop.ts'

const parameters = z.strictObject({
  types: typeNames.optional().describe('Only these types. Default: all'),
  since: z
    .union([z.iso.datetime({ offset: true }), z.iso.date()], {
      error: 'expected a date or a time with its zone, such as 2026-01-31T12:00:00Z',
    })
    .optional()
    .describe('Only what was stored at this time or later'),
  into: path.describe('An empty folder, or one that is made'),
})

export type ExportParameters = z.input<typeof parameters>

const chosen = z.strictObject({ type: typeName, size: z.int(), begun: z.number() })
const range = z.strictObject({ type: typeName, from: z.int(), to: z.int(), part: z.int(), begun: z.number() })
const written = z.strictObject({
  begun: z.number(),
  file: z
    .strictObject({ type: typeName, url: z.string(), count: z.int(), bytes: z.int(), sha256: z.string() })
    .nullable(),
})

type ExportFile = NonNullable<z.infer<typeof written>['file']>

/** As the Bulk Data specification of FHIR has it, with the size and digest of each file. */
export interface ExportManifest {
  /** What was stored up to this moment is in the files; what was stored while they were written may be. */
  readonly transactionTime: string
  readonly request: string
  readonly requiresAccessToken: false
  /** Addresses are relative to the manifest. */
  readonly output: readonly ExportFile[]
  readonly deleted: readonly []
  readonly error: readonly []
}

export interface ExportReport extends ExportManifest {
  readonly folder: string
  readonly resources: number
  readonly bytes: number
  readonly seconds: number
}

const pageResources = 1_000
const pageChars = 2 * 1024 * 1024

/** Writes what is stored to files, one or more for each type, and a manifest that names them when all are there. */
export function exportJob(workshop: Workshop): JobDefinition {
  const { desk, limits } = workshop
  return defineJob({
    id: 'fhir-export',
    version: 1,
    description: 'Writes stored FHIR resources to NDJSON files by type, with a manifest',
    parameters,
  })
    .firstStep({
      id: 'list-types',
      description: 'Takes the folder, and finds the types that have resources',
      output: chosen,
      weight: 0.01,
      run: async ({ parameters: { types: wanted, into }, job, now, idempotencyKey }, sink) => {
        const begun = now()
        // The claim carries the key: an attempt after a crash finds the folder claimed by itself, and goes on.
        const problem = await claimFolder(into, boundariesOf(workshop, job), `job ${job.id}, ${idempotencyKey}`)
        if (problem) return fail(problem.reason, problem.message)
        const { types, missing } = chosenTypes(await desk.types({ collection: job.collection }), wanted)
        for (const type of missing) sink.warn(`There are no resources of type ${type}.`)
        const total = types.reduce((sum, { resources }) => sum + resources, 0)
        const size = Math.max(limits.exportResources, Math.ceil(total / limits.exportFilesMax))
        for (const { type } of types) await sink.accept({ type, size, begun })
        return done()
      },
    })
    .step({
      id: 'ranges',
      description: 'Divides the resources of a type into files',
      gated: true,
      concurrency: 4,
      weight: 0.02,
      output: range,
      run: async ({ job: { collection }, data: { type, size, begun } }, sink) => {
        let part = 0
        for (let after: number | null = 0; after !== null; ) {
          const page: Awaited<ReturnType<typeof desk.ranges>> = await desk.ranges({
            type,
            sizeMax: size,
            after,
            collection,
          })
          for (const { from, to } of page.items) {
            part += 1
            await sink.accept({ type, from, to, part, begun })
          }
          after = page.next
        }
      },
    })
    .step({
      id: 'write-files',
      description: 'Writes a file of resources, whole or not at all',
      gated: true,
      concurrency: 2,
      weight: 0.92,
      output: written,
      run: async ({ data, job, parameters: { since, into }, attempt, signal, progress }, sink) => {
        const { type, from, to, part, begun } = data
        const url = `${type}.${String(part).padStart(5, '0')}.ndjson`
        const file = await WholeFile.create(join(into, url), attempt, boundariesOf(workshop, job))
        let count = 0
        try {
          for (let after: number | null = from - 1; after !== null; ) {
            signal.throwIfAborted()
            const { collection } = job
            const query = { type, after, to, limit: pageResources, charsMax: pageChars, collection }
            const page: Awaited<ReturnType<typeof desk.export>> = await desk.export(
              since === undefined ? query : { ...query, since: Date.parse(since) },
            )
            await file.write(page.bytes)
            count += page.resources
            progress({ resources: count })
            after = page.next
          }
          if (count === 0) {
            await sink.accept({ begun, file: null })
            return done(0)
          }
          // A crash from here on leaves the file under its name and the chunk undone: the next attempt writes it again, in its place.
          const sha256 = await file.publish(signal)
          await sink.accept({ begun, file: { type, url, count, bytes: file.bytes, sha256 } })
          return done(count)
        } finally {
          await file.discard()
        }
      },
    })
    .reducer<Gathered, ExportReport>({
      id: 'manifest',
      description: 'Writes the manifest, when all files are there',
      initial: () => ({ begun: null, output: [] }),
      consume: ({ output }, { begun, file }) => ({ begun, output: file ? [...output, file] : output }),
      report: async ({ begun, output }, { job, parameters: { types, since, into }, now, signal }) => {
        const manifest: ExportManifest = {
          transactionTime: new Date(begun ?? now()).toISOString(),
          request: requestOf(types, since),
          requiresAccessToken: false,
          output,
          deleted: [],
          error: [],
        }
        const file = await WholeFile.create(join(into, manifestName), 1, boundariesOf(workshop, job))
        await file.writeAll(`${JSON.stringify(manifest, null, 2)}\n`, signal)
        await rm(join(into, claimName), { force: true })
        const resources = output.reduce((sum, { count }) => sum + count, 0)
        const bytes = output.reduce((sum, file) => sum + file.bytes, 0)
        return { folder: into, resources, bytes, seconds: begun === null ? 0 : (now() - begun) / 1_000, ...manifest }
      },
    }) as JobDefinition
}

interface Gathered {
  readonly begun: number | null
  readonly output: readonly ExportFile[]
}

/** As it would be asked of a server. */
function requestOf(types: readonly string[] | undefined, since: string | undefined): string {
  const query = [...(types ? [`_type=${types.join(',')}`] : []), ...(since ? [`_since=${since}`] : [])]
  return `$export${query.length > 0 ? `?${query.join('&')}` : ''}`
}
