import { z } from 'zod'
import { SluiceError } from '../../errors.ts'
import { familyAnswer, submittedAnswer } from '../answer-schemas.ts'
import {
  given,
  idParams,
  idText,
  nameText,
  pageQuery,
  priorityNumber,
  repeated,
  wholeNumber,
} from '../asked-schemas.ts'
import type { Context } from '../context.ts'
import type { Accepted, JobAttachment, JobFamily, JobOffer } from '../families.ts'
import { parseJson } from '../json-text.ts'
import { readForm, type SentFile } from '../multipart.ts'
import { invalid } from '../problem.ts'
import { faultsOf, fileSchema, isMultipart, noParams, noQuery, type Route, rawRoute, route } from '../route.ts'
import { digestOf } from '../secret.ts'
import { hashed } from './upload-routes.ts'

const jobBody = z.strictObject({
  definition: nameText,
  version: z.int().min(0).optional(),
  parameters: z.unknown(),
  key: nameText.optional(),
  again: z.boolean().optional(),
  priority: priorityNumber.optional(),
  collection: nameText.optional(),
})

type Pages = { readonly chunks: readonly unknown[]; readonly next: number | null }

/** Chunked jobs. */
export function jobRoutes(context: Context): readonly Route[] {
  const { families, collections, limits } = context
  const { jobs } = families
  if (!jobs) return []
  const look = { method: 'GET', tag: 'jobs', role: 'submitter', body: null, statuses: [200] } as const
  const chunksAnswer = z.object({ chunks: z.array(z.unknown()), next: z.int().nullable() }) as z.ZodType<Pages>
  return [
    route({
      ...{ ...look, path: '/api/jobs/definitions', params: noParams, query: noQuery },
      summary: 'The jobs that can be started, with the JSON Schema of their parameters.',
      answer: z.object({
        definitions: z.array(
          z.object({
            id: z.string(),
            version: z.int(),
            description: z.string(),
            parameters: z.unknown(),
            steps: z.array(z.string()),
          }),
        ),
      }) as unknown as z.ZodType<{ definitions: readonly JobOffer[] }>,
      handle: async () => ({ definitions: await jobs.definitions() }),
    }),
    startRoute(context, jobs),
    route({
      ...{ ...look, path: '/api/jobs', params: noParams },
      summary: 'Jobs, newest first, in pages.',
      query: z.strictObject({
        definition: nameText.optional(),
        version: wholeNumber(0, 1_000_000_000).optional(),
        state: repeated(nameText, 20).optional(),
        from: idText.optional(),
        to: idText.optional(),
        ...pageQuery(limits),
      }),
      answer: z.object({ jobs: z.array(familyAnswer), next: z.int().nullable() }) as unknown as z.ZodType<
        Awaited<ReturnType<JobFamily['jobs']>>
      >,
      handle: async ({ caller, query: { state, ...query } }) => {
        const page = await jobs.jobs({
          limit: limits.pageDefault,
          ...given(query),
          ...(state === undefined ? {} : { states: state }),
        })
        return { ...page, jobs: await collections.seen(caller, page.jobs, ({ id }) => id) }
      },
    }),
    route({
      ...{ ...look, path: '/api/jobs/:id', params: idParams, query: noQuery, answer: familyAnswer },
      summary: 'One job, step by step.',
      handle: async ({ caller, params }) => {
        await collections.refuseForeign(caller, params.id)
        return jobs.job(params.id)
      },
    }),
    route({
      ...{ ...look, path: '/api/jobs/:id/chunks', params: idParams, answer: chunksAnswer },
      summary: 'Its chunks, in pages.',
      query: z.strictObject({
        step: nameText.optional(),
        state: repeated(nameText, 20).optional(),
        ...pageQuery(limits),
      }),
      handle: async ({ caller, params, query: { state, ...query } }) => {
        await collections.refuseForeign(caller, params.id)
        const states = state === undefined ? {} : { states: state }
        return jobs.chunks(params.id, { limit: limits.pageDefault, ...given(query), ...states })
      },
    }),
    route({
      ...{ ...look, path: '/api/jobs/:id/warnings', params: idParams, answer: chunksAnswer },
      summary: 'Its chunks that have said something odd, in pages.',
      query: z.strictObject(pageQuery(limits)),
      handle: async ({ caller, params, query }) => {
        await collections.refuseForeign(caller, params.id)
        return jobs.warnings(params.id, { limit: limits.pageDefault, ...given(query) })
      },
    }),
  ]
}

function startRoute({ collections, limits, clock, replay }: Context, jobs: JobFamily): Route {
  return rawRoute({
    ...{ method: 'POST', path: '/api/jobs', tag: 'jobs', role: 'submitter' },
    summary:
      'Starts a job. As a form, the field `job` holds this JSON and comes first; the files after it are attachments.',
    ...{ params: noParams, query: noQuery, answer: submittedAnswer, statuses: [201, 200] },
    body: jobBody.optional(),
    accepts: 'multipart/form-data',
    form: {
      type: 'object',
      properties: {
        job: { type: 'string', description: 'The JSON of a job, as plain text. It comes before the files.' },
        files: { type: 'array', items: fileSchema, description: 'Attachments; the name of the field does not matter.' },
      },
      required: ['job'],
    },
    async serve({ caller, idempotencyKey, body }, request, reply) {
      const form = isMultipart(request) ? await readForm(request, reply, limits, clock) : null
      const job = form ? jobOfForm(form.fields, limits.depthMax) : checkedJob(body)
      const { definition, parameters, version, key, again, priority } = job
      const collection = collections.ownCollection(caller, job.collection ?? null)
      const digests: string[] = []
      const run = async () => {
        const accepted = await jobs
          .start({
            ...{ definition, parameters, collection, startedBy: caller.actor },
            ...given({ version, priority, again, key: key ?? idempotencyKey ?? undefined }),
            ...(form ? { attachments: attachmentsOf(form.files, digests) } : {}),
          })
          .catch(async (error: unknown) => {
            const id = error instanceof SluiceError && error.code === 'conflict' ? error.detail.id : undefined
            if (typeof id === 'number') await collections.refuseTaken(caller, [{ id, existing: true }])
            throw error
          })
        await collections.refuseTaken(caller, [accepted])
        return { status: accepted.existing ? 200 : 201, body: JSON.stringify(accepted) }
      }
      const fingerprint = async () => {
        if (form) for await (const { source } of attachmentsOf(form.files, digests)) for await (const _block of source);
        return digestOf(JSON.stringify([job, digests]))
      }
      const outcome = idempotencyKey === null ? await run() : await replay.once(idempotencyKey, fingerprint, run)
      if ('isReplayed' in outcome && outcome.isReplayed) reply.header('idempotent-replayed', 'true')
      if (outcome.status === 201) reply.header('location', `/api/jobs/${(JSON.parse(outcome.body) as Accepted).id}`)
      return reply.code(outcome.status).type('application/json').send(outcome.body)
    },
  })
}

async function* attachmentsOf(files: AsyncIterable<SentFile>, digests: string[]): AsyncGenerator<JobAttachment> {
  for await (const { fileName, contentType, source } of files) {
    const seen = hashed(source, JSON.stringify([fileName, contentType]))
    yield { name: fileName, contentType, source: seen.source }
    digests.push(await seen.digest())
  }
}

function jobOfForm(fields: Readonly<Record<string, string>>, depthMax: number): z.output<typeof jobBody> {
  const { job, ...others } = fields
  const strange = Object.keys(others)
  if (job === undefined || strange.length > 0) {
    const message = job === undefined ? 'the field job must come first' : 'there is no such field'
    throw invalid([{ in: 'body', path: strange[0]?.slice(0, 100) ?? 'job', message }])
  }
  return checkedJob(parseJson(Buffer.from(job), depthMax))
}

function checkedJob(body: unknown): z.output<typeof jobBody> {
  const checked = jobBody.safeParse(body ?? {})
  if (checked.success) return checked.data
  throw invalid(faultsOf('body', checked.error))
}
