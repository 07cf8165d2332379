import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { idsPerChunk, idsPerRange, ranges } from './chunked-crash/job.ts'
import { type Death, type JobOrder, type JobStory, stepPoints, storePoints } from './chunked-crash/order.ts'
import { Random } from './crash/random.ts'
import { Scene } from './crash/scene.ts'

const program = new URL('./chunked-crash/child.ts', import.meta.url)
const points = Object.entries({ ...stepPoints, ...storePoints }) as [Death['point'], number][]
const patienceMs = 60_000
/** Processes that are killed from outside, two at a time, at any moment. */
const randomKills = 6
/** A dead process' work is taken over soon; small claims and groups leave many places to die. */
const hasty = { leaseMs: 400, renewMs: 80, pollMs: 50, claimMax: 8, spawnMax: 12, commitMax: 8 }

test('a gated job with a reducer comes to one right report, whoever is killed wherever', async (t) => {
  const seed = Number(process.env.SLUICE_CRASH_SEED ?? Math.floor(Math.random() * 2 ** 31))
  const random = new Random(seed)
  const again = `SLUICE_CRASH_SEED=${seed} has the same kills.`
  await using scene = new Scene('chunked-crash')
  const campaign = new Campaign(scene, random)
  // Each point twice: one that is passed often is met early or late.
  for (const [point, times] of random.shuffled([...points, ...points])) {
    await campaign.die({ point, nth: random.between(1, times) })
  }
  for (let times = 0; times < randomKills; times += 2) await campaign.killTwo()
  const stories = await campaign.finish()
  const { kills } = campaign
  t.diagnostic(
    `${kills.points.length} deaths at points, ${kills.outside} from outside, ${stories.length} jobs, seed ${seed}`,
  )

  const ids = Array.from({ length: ranges * idsPerRange }, (_, id) => id)
  const works = ranges * Math.ceil(idsPerRange / idsPerChunk)
  for (const { number, id, ...story } of stories) {
    assert.deepEqual(
      story,
      {
        state: 'completed',
        report: { seen: ids },
        chunks: { ranges: [1, 1], expand: [ranges, ranges], work: [works, works], report: [1, 1] },
        drifts: 0,
      },
      `Job ${number} (${id}). ${again}`,
    )
  }
  // Told at least once, and each time with the one key that this end has.
  const told = new Set(readFileSync(join(campaign.folder, 'told'), 'utf8').trim().split('\n'))
  assert.deepEqual([...told].sort(), stories.map(({ id }) => `${id}:0:notify_completed`).sort(), again)
  const unmet = points.filter(([point]) => !kills.points.includes(point))
  assert.deepEqual(unmet, [], `Nobody died there. ${again}`)
  assert.ok(kills.outside > 0, again)
})

/** One store, one job after another; each process works on the job that is not through yet. */
class Campaign {
  readonly kills = { points: [] as string[], outside: 0 }
  readonly folder: string
  readonly #scene: Scene
  readonly #random: Random
  #lives = 0
  #jobs = 1

  constructor(scene: Scene, random: Random) {
    this.#scene = scene
    this.#random = random
    this.folder = scene.place('jobs')
  }

  /** A job may be beyond the point already: the next one is not. */
  async die(death: Death): Promise<void> {
    for (let tries = 0; tries < 3; tries++) {
      const child = this.#start(death)
      const { signal, code, errors } = await child.ended()
      if (signal === 'SIGKILL') {
        this.kills.points.push(death.point)
        return
      }
      assert.equal(code, 0, `A process that should die at ${death.point} ended with ${code}: ${errors}`)
      this.#jobs += 1
    }
  }

  async killTwo(): Promise<void> {
    const children = [this.#start(null), this.#start(null)]
    await Promise.all(children.map((child) => child.line(/^up$/)))
    for (const child of children) {
      await pause(this.#random.between(0, 120))
      child.signal('SIGKILL')
    }
    let isThrough = false
    for (const child of children) {
      const { signal, code, errors } = await child.ended()
      if (signal === 'SIGKILL') this.kills.outside += 1
      else assert.equal(code, 0, errors)
      isThrough ||= signal !== 'SIGKILL'
    }
    if (isThrough) this.#jobs += 1
  }

  /** Nobody is killed any more: all jobs that were ever started. */
  async finish(): Promise<readonly JobStory[]> {
    const child = this.#start(
      null,
      Array.from({ length: this.#jobs }, (_, number) => number),
    )
    await child.success(patienceMs)
    return child.lines.flatMap((line) =>
      line.startsWith('story ') ? [JSON.parse(line.slice('story '.length)) as JobStory] : [],
    )
  }

  #start(death: Death | null, jobs: readonly number[] = [this.#jobs - 1]) {
    this.#lives += 1
    const order: JobOrder = { folder: this.folder, name: `life-${this.#lives}`, jobs, death, limits: hasty }
    return this.#scene.start(program, order)
  }
}
