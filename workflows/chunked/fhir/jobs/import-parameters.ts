import { path } from 'sluice/chunked'
import { z } from 'zod'
import { typeName } from './resource-types.ts'

const inputsMax = 1_000

const input = z
  .strictObject({
    url: z.string().min(1, 'expected a URL').max(4_096, 'expected a URL of up to 4096 characters').optional(),
    file: path.optional(),
    folder: path.optional(),
    type: typeName.optional(),
  })
  .refine(
    ({ url, file, folder }) => [url, file, folder].filter((one) => one !== undefined).length === 1,
    'expected exactly one of url, file and folder',
  )

export const importParameters = z.strictObject({
  inputs: z
    .array(input)
    .min(1, 'expected at least one input')
    .max(inputsMax, `expected at most ${inputsMax} inputs`)
    .describe('URLs, files or folders of NDJSON, plain or gzip; with type, lines of other types are refused'),
  acceptGzip: z
    .boolean()
    .default(false)
    .describe(
      'Take compressed transfers too. They often cannot be resumed. Files that are gzip themselves are always taken',
    ),
  index: z.boolean().default(false).describe('Index at once. Default: a later fhir-reindex does'),
  allowedErrors: z
    .int()
    .min(0)
    .optional()
    .describe('The job fails if more lines than these are bad. Default: any number'),
})

export type ImportParameters = z.input<typeof importParameters>
export type ImportInput = z.output<typeof importParameters>['inputs'][number]
