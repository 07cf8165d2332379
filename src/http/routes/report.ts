import { z } from 'zod'
import type { Report } from '../../control.ts'
import { stateOutcomes } from '../../state-outcome.ts'
import { progressAnswer } from '../answer-schemas.ts'

export const reportAnswer: z.ZodType<Report> = z.object({
  id: z.int(),
  machine: z.string(),
  version: z.int(),
  state: z.string(),
  title: z.string(),
  outcome: z.enum(stateOutcomes).describe('As its machine declares it of the state.'),
  settled: z.boolean(),
  purged: z.boolean(),
  createdAt: z.int(),
  createdBy: z.string().nullable(),
  changedAt: z.int(),
  sentence: z.string(),
  progress: progressAnswer,
  result: z.unknown(),
})
