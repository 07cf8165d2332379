import { createHash } from 'node:crypto'
import { z } from 'zod'
import { isSluiceError } from '../../errors.ts'
import { familyAnswer, submittedAnswer } from '../answer-schemas.ts'
import { flagText, given, idParams, idText, nameText, pageQuery, repeated, wholeNumber } from '../asked-schemas.ts'
import type { Context } from '../context.ts'
import {
  type Accepted,
  type UploadContent,
  type UploadFamily,
  type UploadHierarchy,
  uploadItemTypes,
  uploadSortKeys,
  uploadSortOrders,
} from '../families.ts'
import type { HttpLimits } from '../http-limits.ts'
import { jsonSchemaOf } from '../json-schema.ts'
import { readForm, singleFile } from '../multipart.ts'
import { HttpRefusal, invalid } from '../problem.ts'
import { faultsOf, fileSchema, noParams, noQuery, type Route, rawRoute, route } from '../route.ts'

const aboutFields = z.strictObject({
  collection: nameText.optional(),
  force: flagText.optional(),
  fileName: z.string().min(1).max(1_000).optional(),
  expectedBytes: wholeNumber(0, Number.MAX_SAFE_INTEGER).optional(),
  sha256: digestText(64),
  md5: digestText(32),
})

function digestText(length: number) {
  return z
    .string()
    .regex(new RegExp(`^[0-9a-fA-F]{${length}}$`), `must be ${length} hexadecimal digits`)
    .optional()
}

const contentAnswer: z.ZodType<UploadContent> = z.object({
  id: z.int(),
  fileName: z.string(),
  itemIndex: z.int(),
  offset: z.int(),
  length: z.int(),
  text: z.string(),
  truncated: z.boolean(),
})

/** Uploads and what was found in them. */
export function uploadRoutes(context: Context): readonly Route[] {
  const { families, collections, limits, clock, replay } = context
  const { upload } = families
  if (!upload) return []
  const look = { method: 'GET', tag: 'uploads', role: 'submitter', body: null, statuses: [200] } as const
  return [
    rawRoute({
      ...{ method: 'POST', path: '/api/uploads', tag: 'uploads', role: 'submitter', body: null },
      summary:
        'Receives a file in the field `file` of a form, streamed; `collection`, `force`, `fileName` and what is announced of it (`expectedBytes`, `sha256`, `md5`) come before it or in the query.',
      ...{ params: noParams, query: aboutFields, answer: submittedAnswer, statuses: [201, 200] },
      accepts: 'multipart/form-data',
      form: {
        ...(jsonSchemaOf(aboutFields, 'output') as object),
        properties: {
          ...(jsonSchemaOf(aboutFields, 'output') as { properties: object }).properties,
          file: { ...fileSchema, description: 'Comes last: what is said about it comes before, or is in the query.' },
        },
        required: ['file'],
      },
      async serve({ caller, query, idempotencyKey }, request, reply) {
        refuseDeclared(Number(request.headers['content-length']), limits)
        const form = await readForm(request, reply, limits, clock)
        const fields = aboutFields.safeParse({ ...form.fields })
        if (!fields.success) throw invalid(faultsOf('body', fields.error))
        const said = { ...query, ...fields.data }
        if ((said.expectedBytes ?? 0) > limits.fileBytesMax) throw tooLarge(limits)
        const file = await singleFile(form, 'file')
        const collection = collections.ownCollection(caller, said.collection ?? null)
        const seen = hashed(file.source, JSON.stringify([said, file.fileName, file.contentType]))
        const run = async () => {
          const receiving = upload.receive(seen.source, {
            fileName: said.fileName ?? file.fileName,
            contentType: file.contentType,
            ...given({ expectedBytes: said.expectedBytes, sha256: said.sha256, md5: said.md5 }),
            uploadedBy: caller.actor,
            collection,
            force: said.force ?? false,
            ...(idempotencyKey === null ? {} : { key: idempotencyKey }),
          })
          const accepted = await receiving.catch((error: unknown) => {
            throw refusalOfSize(error) ?? error
          })
          return { status: accepted.existing ? 200 : 201, body: JSON.stringify(accepted) }
        }
        const outcome = idempotencyKey === null ? await run() : await replay.once(idempotencyKey, seen.digest, run)
        if ('isReplayed' in outcome && outcome.isReplayed) reply.header('idempotent-replayed', 'true')
        if (outcome.status === 201)
          reply.header('location', `/api/uploads/${(JSON.parse(outcome.body) as Accepted).id}`)
        return reply.code(outcome.status).type('application/json').send(outcome.body)
      },
    }),
    route({
      ...{ ...look, path: '/api/uploads/:id', params: idParams, query: noQuery, answer: familyAnswer },
      summary: 'One batch, with its counts of this moment.',
      handle: async ({ caller, params }) => {
        await collections.refuseForeign(caller, params.id)
        return upload.view(params.id, { isOperator: caller.role !== 'submitter' })
      },
    }),
    route({
      ...{ ...look, path: '/api/uploads/:id/errors', params: idParams },
      summary: 'Its items that have failed, in pages.',
      query: z.strictObject(pageQuery(limits)),
      answer: z.object({ errors: z.array(z.unknown()), next: z.int().nullable() }) as z.ZodType<{
        errors: readonly unknown[]
        next: number | null
      }>,
      handle: async ({ caller, params, query }) => {
        await collections.refuseForeign(caller, params.id)
        return upload.errors(params.id, { limit: limits.pageDefault, ...given(query) })
      },
    }),
    route({
      ...{ ...look, path: '/api/uploads/items/:id/content', params: idParams, query: noQuery, answer: contentAnswer },
      summary: 'One item as it stands in its file: its place, and its first bytes as text.',
      handle: async ({ caller, params }) => {
        await collections.refuseForeign(caller, params.id)
        return upload.content(params.id)
      },
    }),
    ...searchRoutes(context, upload),
  ]
}

/** Refused before it is read. The form is a little longer than its file: only its fields may add to that. */
function refuseDeclared(length: number, { fileBytesMax, bodyBytesMax }: HttpLimits): void {
  if (length > fileBytesMax + bodyBytesMax) throw tooLarge({ fileBytesMax })
}

function tooLarge({ fileBytesMax }: Pick<HttpLimits, 'fileBytesMax'>): HttpRefusal {
  return new HttpRefusal('too-large', `A file has at most ${fileBytesMax} bytes; nothing was stored.`)
}

/** The family's own limit may be below the server's. */
function refusalOfSize(error: unknown): HttpRefusal | null {
  if (!isSluiceError(error, 'invalid') || typeof error.detail.fileBytesMax !== 'number') return null
  return new HttpRefusal('too-large', `${error.message} Nothing was stored.`)
}

function searchRoutes({ collections, limits }: Context, upload: UploadFamily): readonly Route[] {
  const look = { method: 'GET', tag: 'uploads', role: 'submitter', body: null, statuses: [200] } as const
  const whole = wholeNumber(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)
  const foundAnswer = z.object({ found: z.array(z.looseObject({ batch: z.int() })), next: z.string().nullable() })
  const cursor = z.string().min(1).max(2_000)
  const hierarchy = (direction: 'ancestors' | 'descendants') =>
    route({
      ...{ ...look, path: `/api/search/:hnId/${direction}`, params: z.strictObject({ hnId: idText }) },
      summary: `The ${direction} of an item.`,
      query: z.strictObject({
        depthMax: wholeNumber(1, 1_000).optional(),
        limit: wholeNumber(1, limits.pageMax).optional(),
        after: cursor.optional(),
      }),
      answer: z.looseObject({
        item: z.looseObject({ batch: z.int() }),
        found: z.array(z.looseObject({ batch: z.int() })),
        next: z.string().nullable(),
      }) as unknown as z.ZodType<UploadHierarchy>,
      handle: async ({ caller, params, query }) => {
        const all = await upload[direction](params.hnId, given(query))
        if (!(await collections.sees(caller, all.item.batch))) {
          throw new HttpRefusal('not-found', `There is no item ${params.hnId}.`)
        }
        return { ...all, found: await collections.seen(caller, all.found, ({ batch }) => batch) }
      },
    })
  return [
    route({
      ...{ ...look, path: '/api/search', params: noParams },
      summary: 'Items by type, author, score, time and text, in pages.',
      answer: foundAnswer as unknown as z.ZodType<Awaited<ReturnType<UploadFamily['search']>>>,
      query: z.strictObject({
        types: repeated(z.enum(uploadItemTypes) as z.ZodType<(typeof uploadItemTypes)[number], string>, 5).optional(),
        author: z.string().min(1).max(1_000).optional(),
        minScore: whole.optional(),
        maxScore: whole.optional(),
        fromTime: whole.optional(),
        toTime: whole.optional(),
        text: z.string().min(1).max(1_000).optional(),
        parentId: idText.optional(),
        includeDescendants: flagText.optional(),
        maxDepth: wholeNumber(1, 1_000).optional(),
        rootItemsOnly: flagText.optional(),
        sortBy: z.enum(uploadSortKeys).optional(),
        sortOrder: z.enum(uploadSortOrders).optional(),
        limit: wholeNumber(1, limits.pageMax).optional(),
        after: cursor.optional(),
      }),
      handle: async ({ caller, query }) => {
        const page = await upload.search(given(query))
        return { ...page, found: await collections.seen(caller, page.found, ({ batch }) => batch) }
      },
    }),
    hierarchy('ancestors'),
    hierarchy('descendants'),
  ]
}

/** The same bytes, and what they add up to. Whoever asks for the digest of a source that nobody read reads it to its end. */
export function hashed(source: AsyncIterable<Uint8Array>, about: string) {
  const hash = createHash('sha256').update(about)
  let digest: string | null = null
  let isBegun = false
  async function* read() {
    isBegun = true
    for await (const block of source) {
      hash.update(block)
      yield block
    }
    digest = hash.digest('hex')
  }
  const reading = read()
  return {
    source: reading as AsyncIterable<Uint8Array>,
    async digest(): Promise<string> {
      if (!isBegun) for await (const _block of reading);
      if (digest !== null) return digest
      throw new HttpRefusal('invalid', 'The upload was not read to its end.')
    },
  }
}
