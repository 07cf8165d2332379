/** The measurements, each for one contender in a database of its own. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Client } from 'pg'
import { seconds } from '../scenario.ts'
import { type Place, pause, type Submitter } from './contender.ts'
import { type ContenderName, contenders } from './contenders.ts'
import { startCrew } from './crew.ts'
import { rawLoop } from './raw.ts'
import { type Server, startRedis } from './server.ts'

export interface Drained {
  readonly submitPerSecond: number
  readonly itemsPerSecond: number
  /** Until so many were handled, rather than until everything is durably done. */
  readonly handledPerSecond: number
}

/** So many no-op jobs are submitted, then that many processes work them off; with `waiting`, as many more are left behind them. */
export function drain(
  server: Server,
  name: ContenderName,
  count: number,
  processes: number,
  waiting = 0,
): Promise<Drained> {
  return inPlace(server, name, async (place, submitter) => {
    const submitting = performance.now()
    await submitter.submit(count + waiting)
    const submitPerSecond = (count + waiting) / seconds(submitting)
    await calm(place)
    const crew = await startCrew(name, place, processes)
    await crew.handled(count)
    const handled = now()
    // In time order a fuller queue is not finished for long, and nobody waits for that.
    while (waiting === 0 && !(await submitter.finished(count))) await pause(2)
    const finished = now()
    const first = crew.first()
    await crew.stop()
    const per = (end: number) => (count * 1_000) / (end - first)
    return { submitPerSecond, itemsPerSecond: per(finished), handledPerSecond: per(handled) }
  })
}

/** Seconds from submit to the completed step after the last child; null for who has no such thing. One worker process. */
export function fanIn(server: Server, name: ContenderName, children: number): Promise<number | null> {
  return inPlace(server, name, async (place, submitter) => {
    if (!submitter.fanIn) return null
    await calm(place)
    const crew = await startCrew(name, place, 1)
    // It has said that it is ready, not that it has begun to look: a second is enough for all, and not counted.
    await pause(1_000)
    const from = performance.now()
    await submitter.fanIn(children)
    const took = seconds(from)
    await crew.stop()
    return took
  })
}

export interface Idling {
  readonly p50: number
  readonly p99: number
}

export function idle(server: Server, name: ContenderName, rounds: number): Promise<Idling> {
  return inPlace(server, name, async (place) => {
    await calm(place)
    const script = new URL(import.meta.url.endsWith('.ts') ? './idle.ts' : './idle.js', import.meta.url).pathname
    const words = [...process.execArgv, script, name, JSON.stringify(place), String(rounds)]
    const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] })
    let output = ''
    child.stdout.on('data', (block) => {
      output += block
    })
    const [code] = await once(child, 'close')
    if (code !== 0) throw new Error(`${name}, one at a time, ended with status ${code}.`)
    return JSON.parse(output.trim().split('\n').at(-1)!) as Idling
  })
}

export function raw(server: Server, count: number, history: boolean): Promise<number> {
  return inDatabase(server, (url) => rawLoop({ url, count, history }))
}

async function inPlace<Result>(
  server: Server,
  name: ContenderName,
  act: (place: Place, submitter: Submitter) => Promise<Result>,
): Promise<Result> {
  const redis = name === 'bullmq_redis' ? await startRedis() : null
  try {
    return await inDatabase(server, async (postgres) => {
      const place = { postgres, redis: redis?.url ?? '' }
      const submitter = await (await contenders[name]()).open(place)
      try {
        return await act(place, submitter)
      } finally {
        await submitter.close()
      }
    })
  } finally {
    await redis?.stop()
  }
}

let databases = 0

async function inDatabase<Result>(server: Server, act: (url: string) => Promise<Result>): Promise<Result> {
  databases += 1
  const database = `bench_${databases}`
  await ask(`${server.url}/postgres`, `CREATE DATABASE ${database}`)
  try {
    return await act(`${server.url}/${database}`)
  } finally {
    await ask(`${server.url}/postgres`, `DROP DATABASE ${database} WITH (FORCE)`, 'CHECKPOINT')
  }
}

/** What PostgreSQL would do by itself in time, done now for everyone alike: it must not fall into one's minute and not into another's. */
function calm({ postgres }: Place): Promise<void> {
  return ask(postgres, 'VACUUM ANALYZE', 'CHECKPOINT')
}

async function ask(url: string, ...statements: readonly string[]): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  for (const statement of statements) await client.query(statement)
  await client.end()
}

const now = () => performance.timeOrigin + performance.now()
