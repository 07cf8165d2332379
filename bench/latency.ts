/** From submit to completed on an idle engine, one at a time. */
import { Engine } from 'sluice'
import { sqliteStore } from 'sluice/sqlite'
import { implementations } from './machines.ts'
import { percentile, scenario } from './scenario.ts'

await scenario(async (file, quick) => {
  const store = sqliteStore({ file })
  const engine = new Engine({ store, implementations })
  await engine.start()
  const times: number[] = []
  for (let round = 0; round < (quick ? 200 : 2_000); round++) {
    await new Promise((resolve) => setTimeout(resolve, 2))
    const from = performance.now()
    const { id } = await engine.control.submit('bench_item', { n: round })
    await engine.control.settled(id, 10_000)
    times.push(performance.now() - from)
  }
  await engine.stop()
  await store.close()
  times.sort((one, other) => one - other)
  return { idle_p50_ms: percentile(times, 0.5), idle_p99_ms: percentile(times, 0.99) }
})
