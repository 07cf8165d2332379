import type { JobView } from 'sluice/chunked'
import { plain } from '../text.ts'
import type { Opened } from './place.ts'

/** The first chunk that failed for a reason. */
export interface FailureSample {
  readonly chunk: number
  readonly step: string
  readonly reason: string
  readonly message: string
}

/** Failed chunks that are looked through: a rarer reason has no sample. */
const chunksMax = 200
const samplesMax = 12

/** One sample for each reason. A person mends the first of a kind, not all of them. */
export async function failureSamples(
  { chunked, control }: Pick<Opened, 'chunked' | 'control'>,
  { id, steps, purged }: JobView,
): Promise<readonly FailureSample[]> {
  const samples = new Map<string, FailureSample>()
  if (purged) return []
  for (const { id: step } of steps.filter(({ failed }) => failed > 0)) {
    const { chunks } = await chunked.chunks(control, id, { step, states: ['failed'], limit: chunksMax })
    for (const { id: chunk, reason, errorMessage } of chunks) {
      const known = reason ?? errorMessage ?? ''
      if (samples.has(known) || samples.size >= samplesMax) continue
      samples.set(known, { chunk, step, reason: plain(known, 100), message: plain(errorMessage ?? known) })
    }
  }
  return [...samples.values()]
}
