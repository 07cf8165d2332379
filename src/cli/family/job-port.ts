import { type Chunked, chunkedChunk, chunkedJob, type JobDefinition, parameterSchema } from 'sluice/chunked'
import type { Control } from '../../control.ts'
import type { JobFamily, JobOffer } from '../../http/families.ts'

/** The chunked family as the API asks for it: what comes that way uses files below these roots only. */
export function jobPort(chunked: Chunked, control: Control, roots: readonly string[]): JobFamily {
  return {
    machines: [chunkedJob.name, chunkedChunk.name],
    definitions: async () => chunked.definitions.map(offerOf),
    start: ({ definition, parameters, collection, ...options }) =>
      chunked.start(control, definition, parameters, {
        ...options,
        roots,
        ...(collection === null ? {} : { collection }),
      }),
    job: (id) => chunked.job(control, id),
    jobs: (query) => chunked.jobs(control, query),
    chunks: (id, query) => chunked.chunks(control, id, query),
    warnings: (id, page) => chunked.warnings(control, id, page),
  }
}

function offerOf(definition: JobDefinition): JobOffer {
  const { id, version, description, steps } = definition
  // What cannot be told as JSON Schema is left open: the family checks it all the same.
  return {
    id,
    version,
    description,
    parameters: parameterSchema(definition) ?? {},
    steps: steps.map((step) => step.id),
  }
}
