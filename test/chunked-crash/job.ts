import { z } from 'zod'
import { defineJob } from '../../workflows/chunked/index.ts'
import type { StepPoint } from './order.ts'

export const ranges = 30
export const idsPerRange = 10
export const idsPerChunk = 4

/** Deaths are the test's own: no chunk is to be given up because of them. */
const patient = { retry: { attemptsMax: 1_000 } }

/** Ranges → ids → work, each behind the gate of the one before → a report of what was worked on, in order. */
export function crashJob(pass: (point: StepPoint) => void, tell: (key: string) => void) {
  return defineJob({
    id: 'ids',
    version: 1,
    parameters: z.object({ number: z.int() }),
    onCompleted: (_, { key }) => {
      pass('handler:before')
      tell(key)
      pass('handler:after')
    },
  })
    .firstStep({
      ...patient,
      id: 'ranges',
      output: z.int(),
      run: async ({ cursor, checkpoint }, sink) => {
        for (let range = (cursor as number | null) ?? 0; range < ranges; range++) {
          await sink.accept(range)
          pass('ranges:given')
          if (range % 7 !== 6) continue
          await checkpoint(range + 1)
          pass('ranges:checkpoint')
        }
      },
    })
    .step({
      ...patient,
      id: 'expand',
      gated: true,
      output: z.int(),
      run: async ({ data: range }, sink) => {
        for (let index = 0; index < idsPerRange; index++) await sink.accept(range * idsPerRange + index)
        pass('expand:given')
      },
    })
    .step({
      ...patient,
      id: 'work',
      gated: true,
      chunkSize: idsPerChunk,
      output: z.array(z.int()),
      run: async ({ data: ids }, sink) => {
        await sink.accept([...ids])
        pass('work:given')
      },
    })
    .reducer({
      ...patient,
      id: 'report',
      initial: (): number[] => [],
      consume: (seen, ids) => {
        pass('reducer:taken')
        return [...seen, ...ids]
      },
      report: (seen) => {
        pass('reducer:report')
        return { seen }
      },
    })
}
