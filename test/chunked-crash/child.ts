import { appendFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { type Control, openSluice, sleep, systemClock } from '../../src/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { type Chunked, type JobData, openChunked } from '../../workflows/chunked/index.ts'
import { Journal } from '../crash/journal.ts'
import { Trap, type TrapSetting } from '../crash/trap.ts'
import { trapSqlite } from '../crash/trapped-sqlite.ts'
import { trappedStore } from '../crash/trapped-store.ts'
import { crashJob } from './job.ts'
import { type Death, type JobOrder, type JobStory, type StorePoint, storePoints } from './order.ts'

const patienceMs = 60_000

/** Starts its jobs, or finds them started, waits until each has ended and its handler was called, and says what came of them. */
async function run({ folder, name, jobs, death, limits }: JobOrder): Promise<void> {
  const journal = new Journal(folder, name)
  const trap = new Trap(storeSetting(death), journal)
  trapSqlite(trap)
  const pass = stepTrap(death)
  // The name of the end is on the disk before the handler returns: what was told stays told.
  const told = join(folder, 'told')
  const job = crashJob(pass, (key) => appendFileSync(told, `${key}\n`, { flush: true }))
  const chunked = openChunked({ definitions: [job], limits: { reduceEvery: 30 } })
  const store = sqliteStore({ file: join(folder, 'sluice.db') })
  const sluice = await openSluice({
    store: trappedStore(store, trap, journal),
    implementations: chunked.implementations,
    limits,
    log: pino({ level: 'error' }, pino.destination(2)),
    name,
  })
  // Written at once: what is said before a kill is heard.
  writeSync(1, 'up\n')
  const started = await Promise.all(
    jobs.map(async (number) => ({
      number,
      ...(await chunked.start(sluice, job, { number }, { key: `job ${number}` })),
    })),
  )
  for (const { id } of started) await ended(sluice, id)
  const stories: JobStory[] = []
  for (const { number, id } of started) stories.push(await storyOf(sluice, chunked, number, id))
  await sluice.stop()
  await store.close()
  for (const story of stories) writeSync(1, `story ${JSON.stringify(story)}\n`)
}

function storeSetting(death: Death | null): TrapSetting | null {
  return death && isStorePoint(death.point) ? { point: death.point, nth: death.nth, by: 'kill' } : null
}

function isStorePoint(point: string): point is StorePoint {
  return Object.hasOwn(storePoints, point)
}

function stepTrap(death: Death | null): (point: string) => void {
  let passed = 0
  return (point) => {
    if (point !== death?.point) return
    passed += 1
    if (passed === death.nth) process.kill(process.pid, 'SIGKILL')
  }
}

async function ended(control: Control, id: number): Promise<void> {
  const clock = systemClock()
  for (const deadline = clock.now() + patienceMs; ; ) {
    const { settled, data } = await control.get(id)
    if (settled && (data as JobData).handler !== null) return
    if (clock.now() > deadline) throw new Error((await control.explain(id)).sentence)
    await sleep(clock, 10)
  }
}

async function storyOf(control: Control, chunked: Chunked, number: number, id: number): Promise<JobStory> {
  const { state, report, steps } = await chunked.job(control, id)
  const chunks = Object.fromEntries(
    steps.map((step) => [step.id, [step.total, step.chunks.completed ?? 0] as const] as const),
  )
  return { number, id, state, report, chunks, drifts: (await control.check([id, null])).length }
}

await run(JSON.parse(process.argv[2] ?? '') as JobOrder)
