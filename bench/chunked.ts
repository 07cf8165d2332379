/**
 * Gated jobs of three steps and a reducer: chunks per second beside the raw loop, how soon a gate opens, memory, and whether the cost of
 * a chunk grows with the job. The steps fan out as in "ranges, ids, work": a chunk of the second step gives out 99 of the third, each of
 * which gives the reducer one number. One figure is of the other extreme, where each gives out one.
 */
import { openSluice, type Sluice } from 'sluice'
import { type Chunked, defineJob, openChunked } from 'sluice/chunked'
import { z } from 'zod'
import { rawLoop } from './raw.ts'
import { median, scenario, seconds, watchMemory } from './scenario.ts'

const three = defineJob({ id: 'three-steps', version: 1, parameters: z.object({ ranges: z.int(), each: z.int() }) })
  .firstStep({
    id: 'split',
    output: z.number(),
    async run({ parameters }, sink) {
      for (let n = 0; n < parameters.ranges; n += 1) await sink.accept(n)
    },
  })
  .step({
    id: 'expand',
    gated: true,
    output: z.number(),
    async run({ data, parameters: { each } }, sink) {
      for (let n = 0; n < each; n += 1) await sink.accept(data * each + n)
    },
  })
  .step({ id: 'work', gated: true, output: z.number(), run: ({ data }, sink) => sink.accept(data) })
  .reducer({ id: 'sum', initial: () => 0, consume: (sum, n) => sum + n })

let opened = 0
const waiting = defineJob({ id: 'waiting', version: 1, parameters: z.object({ waiting: z.int() }) })
  .firstStep({
    id: 'split',
    output: z.number(),
    async run({ parameters }, sink) {
      await sink.accept(0)
      for (let n = 0; n < parameters.waiting; n += 1) await sink.acceptFor('behind-gate', n)
    },
  })
  .step({ id: 'last-before', gated: true, output: z.number(), run: () => {} })
  .step({
    id: 'behind-gate',
    gated: true,
    run() {
      if (opened === 0) opened = Date.now()
    },
  })

await scenario(async (file, quick) => {
  const chunked = openChunked({ definitions: [three, waiting] })
  const sluice = await openSluice({ store: file, implementations: chunked.implementations })
  const hundred = quick ? 10_000 : 100_000
  const million = quick ? 50_000 : 1_000_000
  await runJobs(sluice, chunked, 1_000, 1)
  const rates: number[] = []
  const narrow: number[] = []
  const raws: number[] = []
  // One after another: what the raw loop leaves for the disk to write would be in the way of the next round.
  for (let round = 0; round < 5; round += 1) rates.push(hundred / (await runJobs(sluice, chunked, hundred, 1)))
  for (let round = 0; round < 3; round += 1) narrow.push(hundred / (await runJobs(sluice, chunked, hundred, 1, 1)))
  for (let round = 0; round < 3; round += 1) raws.push(rawLoop({ file: `${file}.raw${round}`, count: hundred }))
  const gateSmall: number[] = []
  for (let round = 0; round < 5; round += 1) gateSmall.push(await gate(sluice, chunked, 1_000))
  const gateBig = await gate(sluice, chunked, million)
  const costs: Record<string, number> = {}
  const many = quick ? 10 : 100
  costs.thousand = (await runJobs(sluice, chunked, 1_000, many)) / (1_000 * many)
  costs.ten = (await runJobs(sluice, chunked, 10_000, many / 10)) / (1_000 * many)
  costs.hundred = 1 / median(rates)
  const peak = watchMemory()
  costs.million = (await runJobs(sluice, chunked, million, 1)) / million
  const rssMib = peak()
  await sluice.stop()
  const all = Object.values(costs)
  return {
    chunked_per_s: median(rates),
    chunked_one_to_one_per_s: median(narrow),
    chunked_raw_per_s: median(raws),
    chunked_of_raw: median(rates) / median(raws),
    gate_1000_ms: Math.max(...gateSmall),
    gate_million_ms: gateBig,
    chunked_million_s: costs.million * million,
    chunked_rss_mib: rssMib,
    chunk_us_thousand: costs.thousand * 1e6,
    chunk_us_ten_thousand: costs.ten * 1e6,
    chunk_us_hundred_thousand: costs.hundred * 1e6,
    chunk_us_million: costs.million * 1e6,
    chunked_flatness: Math.max(...all) / Math.min(...all),
  }
})

/** So many jobs at once, each of so many chunks: seconds from the first start to the last end. */
async function runJobs(sluice: Sluice, chunked: Chunked, chunks: number, jobs: number, each = 99): Promise<number> {
  const ranges = Math.round(chunks / (each + 1))
  const worked = ranges * each
  const from = performance.now()
  const started = await Promise.all(Array.from({ length: jobs }, () => chunked.start(sluice, three, { ranges, each })))
  await Promise.all(started.map(({ id }) => sluice.settled(id, 900_000)))
  const took = seconds(from)
  for (const { id } of started) {
    const { state, report, chunks: counted } = await chunked.job(sluice, id)
    if (state !== 'completed' || report !== (worked * (worked - 1)) / 2 || counted.total !== ranges + worked + 2)
      throw new Error(
        `Job ${id} of ${chunks} ended as ${state} with ${JSON.stringify(report)}, ${counted.total} chunks.`,
      )
  }
  return took
}

/** From the commit of the last chunk before the gate to the first run behind it. */
async function gate(sluice: Sluice, chunked: Chunked, count: number): Promise<number> {
  opened = 0
  const { id } = await chunked.start(sluice, waiting, { waiting: count })
  while (opened === 0) await new Promise((resolve) => setTimeout(resolve, 50))
  // A million are not worked off for this figure; a thousand may be through already.
  await chunked.cancel(sluice, id, { actor: 'bench', reason: 'the gate is open' }).catch(() => sluice.settled(id))
  const page = await chunked.chunks(sluice, id, { step: 'last-before' })
  const last = page.chunks[0]
  if (last?.state !== 'completed') throw new Error(`The last chunk before the gate is ${last?.state}.`)
  return opened - last.changedAt
}
