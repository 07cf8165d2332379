/** What an item costs when the store already keeps ten thousand, and up to five million, settled entities. */
import { Engine } from 'sluice'
import { sqliteStore } from 'sluice/sqlite'
import { implementations } from './machines.ts'
import { type Figures, median, scenario, seconds } from './scenario.ts'

await scenario(async (file, quick) => {
  const sizes = quick ? [10_000, 50_000] : [10_000, 100_000, 1_000_000, 5_000_000]
  const count = quick ? 20_000 : 50_000
  const store = sqliteStore({ file })
  const figures: Record<string, number> = {}
  const filler = new Engine({ store, implementations, name: 'filler' })
  await filler.prepare()
  let stored = 0
  for (const size of sizes) {
    // The filling goes through the same door: submitted and worked off, so that history and indexes are what they would be.
    stored += await work(size - stored)
    const times = [await timed(count), await timed(count), await timed(count)]
    figures[`items_per_s_at_${size}`] = count / median(times)
    stored += 3 * count
  }
  const rates = Object.values(figures)
  await store.close()
  return { ...figures, flatness: Math.max(...rates) / Math.min(...rates) } satisfies Figures

  async function work(items: number): Promise<number> {
    for (let left = items; left > 0; left -= 100_000) await timed(Math.min(left, 100_000))
    return Math.max(0, items)
  }

  async function timed(items: number): Promise<number> {
    const engine = new Engine({ store, implementations })
    await engine.prepare()
    const before = await completed(engine)
    for (let from = 0; from < items; from += 10_000) {
      const size = Math.min(10_000, items - from)
      await engine.control.submitMany(
        'bench_item',
        Array.from({ length: size }, (_, index) => ({ data: { n: from + index } })),
      )
    }
    const from = performance.now()
    await engine.start()
    while ((await completed(engine)) < before + items) await new Promise((resolve) => setTimeout(resolve, 5))
    const took = seconds(from)
    await engine.stop()
    return took
  }

  async function completed(engine: Engine): Promise<number> {
    return (await engine.control.totals()).find((lane) => lane.machine === 'bench_item')?.counts.completed ?? 0
  }
})
