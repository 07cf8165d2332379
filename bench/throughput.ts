/** No-op items through claim and completion, history on, FULL durability; the raw loop of the same run beside it. */
import { Engine } from 'sluice'
import { sqliteStore } from 'sluice/sqlite'
import { implementations } from './machines.ts'
import { rawLoop } from './raw.ts'
import { scenario, seconds } from './scenario.ts'

await scenario(async (file, quick) => {
  const count = quick ? 50_000 : 300_000
  const raw = rawLoop({ file: `${file}.raw`, count })
  const store = sqliteStore({ file })
  const engine = new Engine({ store, implementations })
  await engine.prepare()
  const submitting = performance.now()
  for (let from = 0; from < count; from += 10_000) {
    await engine.control.submitMany(
      'bench_item',
      Array.from({ length: 10_000 }, (_, index) => ({ data: { n: from + index } })),
    )
  }
  const submitPerSecond = count / seconds(submitting)
  const working = performance.now()
  await engine.start()
  for (;;) {
    const lane = (await engine.control.totals()).find((lane) => lane.machine === 'bench_item')
    if (lane?.counts.completed === count) break
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  const itemsPerSecond = count / seconds(working)
  await engine.stop()
  await store.close()
  return {
    items_per_s: itemsPerSecond,
    raw_items_per_s: await raw,
    of_raw: itemsPerSecond / (await raw),
    submit_per_s: submitPerSecond,
  }
})
