import { defineJob, done, retryLater } from 'sluice/chunked'
import { z } from 'zod'

/** A job that waits until somebody ends it. */
const patience = defineJob({
  id: 'patience',
  version: 1,
  description: 'Looks for something that never comes',
  parameters: z.object({
    what: z.string().min(1).describe('What it looks for'),
    places: z.int().min(1).max(20).default(3).describe('How many places it looks at'),
    mode: z.enum(['quick', 'thorough']).default('quick'),
    silent: z.boolean().default(false),
  }),
})
  .firstStep({
    id: 'spread',
    output: z.number(),
    run: async ({ parameters }, sink) => {
      for (let place = 0; place < parameters.places; place += 1) await sink.accept(place)
      return done()
    },
  })
  .step({ id: 'look', polling: true, run: () => retryLater(60_000) })

export const jobs = [patience]
