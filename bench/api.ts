/** The API beside the engine alone: single submits over 64 connections while workers run, and what 500 listeners cost. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { pino } from 'pino'
import { openSluice, systemClock } from 'sluice'
import { idempotencyInMemory, openAccess, openServer } from 'sluice/http'
import { implementations } from './machines.ts'
import { scenario, seconds } from './scenario.ts'

const connections = 64

await scenario(async (file, quick) => {
  const sluice = await openSluice({ store: file, implementations })
  const clock = systemClock()
  const server = await openServer({
    control: sluice,
    families: {},
    access: openAccess({ file: `${file}.tokens.json`, clock }),
    idempotency: idempotencyInMemory(),
    listen: { host: '127.0.0.1', port: 0 },
    // The load comes from one address: what is measured is the server, not its patience.
    limits: { requestsMax: 10_000_000, listenersMax: 1_000, listenersPerToken: 1_000 },
    log: pino({ level: 'error' }),
    clock,
  })
  const ms = quick ? 1_500 : 6_000
  const alone = await engineAlone(ms)
  await load('submit', server.url, connections, 0, 1_000)
  const { perSecond, p99, faults } = await load('submit', server.url, connections, 0, ms)
  if (faults > 0) throw new Error(`${faults} submits were refused.`)
  const growthMib = await listeners(quick ? 100 : 500, quick ? 10 : 50)
  await server.close()
  await sluice.stop()
  return {
    api_submit_per_s: perSecond,
    api_submit_p99_ms: p99,
    engine_submit_per_s: alone,
    api_of_engine: perSecond / alone,
    sse_growth_mib: growthMib,
  }

  /** The same submits, without a server in between. */
  async function engineAlone(ms: number): Promise<number> {
    const from = performance.now()
    let count = 0
    await Promise.all(
      Array.from({ length: connections }, async () => {
        while (performance.now() - from < ms) {
          await sluice.submit('bench_item', { n: 1 })
          count += 1
        }
      }),
    )
    return count / seconds(from)
  }

  /** How much memory grows while so many listen, some of them without reading, and much happens. */
  async function listeners(count: number, idle: number): Promise<number> {
    const child = start('listen', server.url, count, idle, 0)
    await once(child.stdout!, 'data')
    const happen = async () => {
      for (let round = 0; round < 20; round += 1) {
        const items = Array.from({ length: 50 }, (_, n) => ({ data: { n } }))
        await sluice.submitMany('bench_item', items)
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    }
    await happen()
    const before = settledMemory()
    for (let round = 0; round < 3; round += 1) await happen()
    const growth = settledMemory() - before
    child.kill('SIGTERM')
    await once(child, 'close')
    return growth
  }
})

function settledMemory(): number {
  global.gc?.()
  return process.memoryUsage().heapUsed / 2 ** 20 + process.memoryUsage().external / 2 ** 20
}

function start(kind: string, url: string, count: number, idle: number, ms: number): ChildProcess {
  const script = new URL('./api-load.js', import.meta.url).pathname
  const words = [kind, url, String(count), String(idle), String(ms)]
  return spawn(process.execPath, [script, ...words], { stdio: ['ignore', 'pipe', 'inherit'] })
}

async function load(
  ...given: Parameters<typeof start>
): Promise<{ readonly perSecond: number; readonly p99: number; readonly faults: number }> {
  const child = start(...given)
  let output = ''
  child.stdout!.on('data', (block) => {
    output += block
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`The load ended with status ${code}.`)
  return JSON.parse(output.trim().split('\n').at(-1)!)
}
