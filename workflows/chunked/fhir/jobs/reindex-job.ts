import { defineJob, done, type JobDefinition } from 'sluice/chunked'
import { z } from 'zod'
import { chosenTypes, typeName, typeNames } from './resource-types.ts'
import type { Workshop } from './workshop.ts'

const parameters = z.strictObject({
  types: typeNames.optional().describe('Only these types. Default: all'),
  all: z.boolean().default(false).describe('Also what the index knows as it stands. Default: only what is out of date'),
})

const range = z.strictObject({ type: typeName, from: z.int(), to: z.int(), begun: z.number() })
const numbers = z.strictObject({ type: typeName, begun: z.number(), numbers: z.array(z.int()) })

const outcome = z.strictObject({
  type: typeName,
  begun: z.number(),
  changed: z.int(),
  unchanged: z.int(),
  missing: z.int(),
  failed: z.int(),
  samples: z.array(z.strictObject({ resource: z.string(), message: z.string() })),
})

export type ReindexParameters = z.input<typeof parameters>

interface ReindexCounts {
  readonly changed: number
  readonly unchanged: number
  readonly missing: number
  readonly failed: number
}

export interface ReindexReport extends ReindexCounts {
  readonly resources: number
  readonly seconds: number
  readonly types: Readonly<Record<string, ReindexCounts>>
  /** Resources that could not be indexed, and why: the first ones. */
  readonly samples: readonly { readonly resource: string; readonly message: string }[]
}

/** Numbers that are looked through for one chunk of load-ids. */
const rangeSize = 100_000

/**
 * Makes the terms for searching anew. Whatever is repeated after a crash comes to the same: terms are made from the text that
 * stands there, and replaced together with the mark that says so.
 */
export function reindexJob({ desk, limits }: Workshop): JobDefinition {
  const { reindexGroup, samplesMax } = limits
  return defineJob({
    id: 'fhir-reindex',
    version: 1,
    description: 'Makes the search index of stored FHIR resources anew',
    parameters,
  })
    .firstStep({
      id: 'generate-ranges',
      description: 'Finds the ranges in which there are resources to index',
      output: range,
      weight: 0.01,
      run: async ({ job: { collection }, parameters: { types: wanted, all }, now }, sink) => {
        const begun = now()
        const { types, missing } = chosenTypes(await desk.types({ collection }), wanted)
        for (const type of missing) sink.warn(`There are no resources of type ${type}.`)
        for (const { type, stale } of types) {
          if (!all && stale === 0) continue
          for (let after: number | null = 0; after !== null; ) {
            const { items, next } = await desk.ranges({ type, sizeMax: rangeSize, after, collection })
            for (const { from, to } of items) await sink.accept({ type, from, to, begun })
            after = next
          }
        }
      },
    })
    .step({
      id: 'load-ids',
      description: 'Lists the numbers of the resources of a range',
      output: numbers,
      concurrency: 4,
      weight: 0.04,
      run: async ({ job: { collection }, data: { type, from, to, begun }, parameters: { all } }, sink) => {
        for (let after: number | null = 0; after !== null; ) {
          const query = { range: { type, from, to }, after, limit: reindexGroup, stale: !all, collection }
          const page: Awaited<ReturnType<typeof desk.ids>> = await desk.ids(query)
          if (page.items.length > 0) await sink.accept({ type, begun, numbers: [...page.items] })
          after = page.next
        }
      },
    })
    .step({
      id: 'reindex',
      description: 'Makes the terms of a group of resources',
      gated: true,
      // The thread of the desk is never without a question; more would only wait.
      concurrency: 2,
      timeoutMs: 10 * 60_000,
      weight: 0.9,
      output: outcome,
      run: async ({ data: { type, begun, numbers: group } }, sink) => {
        const verdicts = await desk.reindex(group)
        const counts = { changed: 0, unchanged: 0, missing: 0, failed: 0 }
        const faults: { number: number; message: string }[] = []
        for (const [index, verdict] of verdicts.entries()) {
          if (typeof verdict === 'string') counts[verdict] += 1
          else {
            counts.failed += 1
            if (faults.length < samplesMax) faults.push({ number: group[index]!, message: verdict.failed })
          }
        }
        const found = faults.length === 0 ? [] : await desk.read(faults.map(({ number }) => number))
        const samples = faults.map(({ number, message }, index) => {
          const resource = found[index]
          return { resource: resource ? `${resource.type}/${resource.id}` : `number ${number}`, message }
        })
        await sink.accept({ type, begun, ...counts, samples })
        return done(group.length)
      },
    })
    .reducer<Gathered, ReindexReport>({
      id: 'report',
      description: 'Adds up what became of the resources',
      initial: () => ({ begun: null, types: {}, samples: [] }),
      consume: ({ types, samples }, { type, begun, samples: more, ...counts }) => ({
        begun,
        types: { ...types, [type]: added(types[type] ?? none, counts) },
        samples: [...samples, ...more].slice(0, samplesMax),
      }),
      report: ({ begun, types, samples }, { now }) => {
        const all = Object.values(types).reduce(added, none)
        const resources = all.changed + all.unchanged + all.missing + all.failed
        const seconds = begun === null ? 0 : (now() - begun) / 1_000
        return { resources, ...all, seconds, types, samples }
      },
    }) as JobDefinition
}

interface Gathered {
  readonly begun: number | null
  readonly types: ReindexReport['types']
  readonly samples: ReindexReport['samples']
}

const none: ReindexCounts = { changed: 0, unchanged: 0, missing: 0, failed: 0 }

function added(one: ReindexCounts, other: ReindexCounts): ReindexCounts {
  return {
    changed: one.changed + other.changed,
    unchanged: one.unchanged + other.unchanged,
    missing: one.missing + other.missing,
    failed: one.failed + other.failed,
  }
}
