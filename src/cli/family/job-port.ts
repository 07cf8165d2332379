import { type Chunked, chunkedChunk, chunkedJob, type JobDefinition } from 'sluice/chunked'
import { z } from 'zod'
import type { Control } from '../../control.ts'
import type { JobFamily, JobOffer } from '../../http/families.ts'

/** The chunked family as the API asks for it. */
export function jobPort(chunked: Chunked, control: Control): JobFamily {
  return {
    machines: [chunkedJob.name, chunkedChunk.name],
    definitions: async () => chunked.definitions.map(offerOf),
    start: ({ definition, parameters, collection, ...options }) =>
      chunked.start(control, definition, parameters, collection === null ? options : { ...options, collection }),
    job: (id) => chunked.job(control, id),
    jobs: (query) => chunked.jobs(control, query),
    chunks: (id, query) => chunked.chunks(control, id, query),
    warnings: (id, page) => chunked.warnings(control, id, page),
  }
}

function offerOf({ id, version, description, parameters, steps }: JobDefinition): JobOffer {
  return { id, version, description, parameters: schemaOf(parameters), steps: steps.map((step) => step.id) }
}

/** What cannot be told as JSON Schema is left open: the family checks it all the same. A user's module may bring another version of zod. */
function schemaOf(parameters: z.ZodType): unknown {
  try {
    return z.toJSONSchema(parameters, { io: 'input', unrepresentable: 'any' })
  } catch {
    return {}
  }
}
