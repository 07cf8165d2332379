import { z } from 'zod'
import type { Control, Detail, Progress } from '../../control.ts'
import { progressAnswer } from '../answer-schemas.ts'

/** What is left to say of an entity when all is done. */
export interface Report {
  readonly id: number
  readonly machine: string
  readonly version: number
  readonly state: string
  readonly title: string
  readonly settled: boolean
  readonly purged: boolean
  readonly createdAt: number
  readonly createdBy: string | null
  readonly changedAt: number
  readonly sentence: string
  readonly progress: Progress
  /** What it wrote into its data under `report`, `resultSummary` or `result`. */
  readonly result: unknown
}

export const reportAnswer: z.ZodType<Report> = z.object({
  id: z.int(),
  machine: z.string(),
  version: z.int(),
  state: z.string(),
  title: z.string(),
  settled: z.boolean(),
  purged: z.boolean(),
  createdAt: z.int(),
  createdBy: z.string().nullable(),
  changedAt: z.int(),
  sentence: z.string(),
  progress: progressAnswer,
  result: z.unknown(),
})

export async function reportOf(control: Control, detail: Detail): Promise<Report> {
  const { id, machine, version, state, title, settled, purged, createdAt, createdBy, changedAt } = detail
  const [progress, { sentence }] = await Promise.all([control.progress(id), control.explain(id)])
  return {
    ...{ id, machine, version, state, title, settled, purged, createdAt, createdBy, changedAt },
    ...{ sentence, progress, result: resultOf(detail.data) },
  }
}

function resultOf(data: unknown): unknown {
  if (typeof data !== 'object' || data === null) return null
  const fields = data as Readonly<Record<string, unknown>>
  return fields.report ?? fields.resultSummary ?? fields.result ?? null
}
