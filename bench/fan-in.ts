/** One parent with many children: from submit to the parent's completion, and the memory that takes. */
import { Engine } from 'sluice'
import { sqliteStore } from 'sluice/sqlite'
import { implementations } from './machines.ts'
import { scenario, seconds, watchMemory } from './scenario.ts'

await scenario(async (file, quick) => {
  const store = sqliteStore({ file })
  const engine = new Engine({ store, implementations })
  await engine.start()
  const close = async (count: number) => {
    const from = performance.now()
    const { id } = await engine.control.submit('bench_batch', { count })
    const settled = await engine.control.settled(id, 600_000)
    if (settled?.state !== 'completed')
      throw new Error(`The parent of ${count} ended as ${settled?.state ?? 'not at all'}.`)
    const [lane] = await engine.control.lanes(id)
    if (lane?.counts.completed !== count)
      throw new Error(`${lane?.counts.completed} of ${count} children are completed.`)
    return seconds(from)
  }
  const small = quick ? 10_000 : 100_000
  const big = quick ? 50_000 : 1_000_000
  const smallSeconds = await close(small)
  const peak = watchMemory()
  const bigSeconds = await close(big)
  const figures = {
    fanin_children: big,
    fanin_s: bigSeconds,
    fanin_rss_mib: peak(),
    fanin_small_children: small,
    fanin_small_s: smallSeconds,
  }
  await engine.stop()
  await store.close()
  return figures
})
