import { defineJob, done } from 'sluice/chunked'
import { z } from 'zod'

/** A job that the server of the test does not know. */
const errand = defineJob({ id: 'errand', version: 1, parameters: z.object({}) }).firstStep({
  id: 'go',
  run: () => done(),
})

export const jobs = [errand]
