/**
 * No-op items through claim and completion, history on, FULL durability; the raw loop of the same run beside it. Both in
 * turns, each on a new file: the median of the rounds.
 */
import { Engine } from 'sluice'
import { sqliteStore } from 'sluice/sqlite'
import { implementations } from './machines.ts'
import { rawLoop } from './raw.ts'
import { median, scenario, seconds } from './scenario.ts'

await scenario(async (file, quick) => {
  const count = quick ? 50_000 : 200_000
  const rounds = quick ? 1 : 5
  const figures: { raw: number; items: number; submit: number }[] = []
  for (let round = 0; round < rounds; round++) {
    const raw = rawLoop({ file: `${file}.raw.${round}`, count })
    figures.push({ raw, ...(await measure(`${file}.${round}`, count)) })
  }
  return {
    items_per_s: median(figures.map(({ items }) => items)),
    raw_items_per_s: median(figures.map(({ raw }) => raw)),
    of_raw: median(figures.map(({ items, raw }) => items / raw)),
    submit_per_s: median(figures.map(({ submit }) => submit)),
  }
})

async function measure(file: string, count: number): Promise<{ items: number; submit: number }> {
  const store = sqliteStore({ file })
  const engine = new Engine({ store, implementations })
  await engine.prepare()
  const submitting = performance.now()
  for (let from = 0; from < count; from += 10_000) {
    const items = Array.from({ length: 10_000 }, (_, index) => ({ data: { n: from + index } }))
    await engine.control.submitMany('bench_item', items)
  }
  const submit = count / seconds(submitting)
  const working = performance.now()
  await engine.start()
  for (;;) {
    const lane = (await engine.control.totals()).find((lane) => lane.machine === 'bench_item')
    if (lane?.counts.completed === count) break
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  const items = count / seconds(working)
  await engine.stop()
  await store.close()
  return { items, submit }
}
