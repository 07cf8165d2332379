import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Campaign, type Death, warmUp } from './crash/campaign.ts'
import { check } from './crash/checker.ts'
import { crashExpectations } from './crash/expectations.ts'
import { Random } from './crash/random.ts'
import { Scene } from './crash/scene.ts'
import { type TrapPoint, trapPoints } from './crash/trap.ts'

/** Files that are worked on at the same time, one after another in each track: two cores carry two tracks. */
const tracks = 2
const filesPerTrack = 2
const killsMin = 100
const deaths = { random: 24, start: 8, zombie: 7 }
/** On a busy machine a process may not come to its point in time: another one gets the time that it needs. */
const patienceMs = 10_000
/** Whoever wakes here goes on with a lease that is no longer its own. */
const zombiePoints: readonly TrapPoint[] = [
  'commit:before',
  'claim:after',
  'stage:before',
  'effect:before',
  'publish:before',
  'claim:before',
  'children:before',
]
/** Complaints that a failure shows: the first ones tell the story. */
const shownMax = 15

/** At which passing a process dies: early and late ones differ, as long as they come within its short life. */
const nthMax: Partial<Record<TrapPoint, number>> = {
  'create:before': 6,
  'create:after': 6,
  'claim:before': 6,
  'claim:after': 4,
  'commit:before': 8,
  'commit:after': 8,
  'children:before': 2,
  'children:after': 2,
  'due:after': 3,
  'effect:before': 60,
  'effect:after': 60,
  'checkpoint:after': 2,
  'begin:after': 30,
  'statement:after': 400,
  'transaction:before': 30,
  'transaction:after': 30,
}

test('nothing acknowledged is lost and nothing is done twice, whenever processes are killed', async (t) => {
  const seed = Number(process.env.SLUICE_CRASH_SEED ?? Math.floor(Math.random() * 2 ** 31))
  const random = new Random(seed)
  await using scene = new Scene('crash')
  const campaigns = Array.from(
    { length: tracks * filesPerTrack },
    (_, index) => new Campaign(scene, `file-${index}`, new Random(seed + index)),
  )
  const plans = planDeaths(random, campaigns.length)
  await warmUp(scene)
  const startedAt = performance.now()
  const complaints: string[] = []
  const hits = new Set<TrapPoint>()
  try {
    await Promise.all(
      Array.from({ length: tracks }, async (_, track) => {
        for (const [index, campaign] of campaigns.entries()) {
          if (index % tracks !== track) continue
          await killAll(campaign, plans[index]!, hits)
          complaints.push(
            ...check(await campaign.settle(), crashExpectations).map((complaint) => `file ${index}: ${complaint}`),
          )
        }
      }),
    )
  } catch (error) {
    throw new Error(`The crash test broke. SLUICE_CRASH_SEED=${seed} has the same kills.`, { cause: error })
  }
  const kills = campaigns.reduce((sum, campaign) => sum + campaign.killed, 0)
  const fenced = campaigns.reduce((sum, campaign) => sum + campaign.fenced(), 0)
  t.diagnostic(
    `${kills} kills, ${fenced} stale moves refused, ${hits.size} of ${trapPoints.length} points, ${Math.round((performance.now() - startedAt) / 1_000)} s, seed ${seed}`,
  )
  const again = `SLUICE_CRASH_SEED=${seed} has the same kills.`
  assert.deepEqual(complaints.slice(0, shownMax), [], `${complaints.length} complaints. ${again}`)
  assert.ok(kills >= killsMin, `Only ${kills} processes were killed. ${again}`)
  assert.deepEqual(
    trapPoints.filter((point) => !hits.has(point)),
    [],
    `Points that killed nobody. ${again}`,
  )
})

/** Points that killed nobody on any file so far are tried once more, with more patience. */
async function killAll(campaign: Campaign, deaths: readonly Death[], hits: Set<TrapPoint>): Promise<void> {
  const missed: Death[] = []
  for (const death of deaths) {
    const isHit = await campaign.kill(death)
    if (death.kind !== 'trap') continue
    if (isHit) hits.add(death.point)
    else missed.push({ ...death, nth: 1, patienceMs })
  }
  for (const death of missed) {
    if (death.kind === 'trap' && !hits.has(death.point) && (await campaign.kill(death))) hits.add(death.point)
  }
}

/** Each file begins with a death while its tables are made; the rest is dealt out like cards. */
function planDeaths(random: Random, files: number): readonly (readonly Death[])[] {
  const points = trapPoints.filter((point) => point !== 'migration:statement')
  const traps = [...points, ...points].map(
    (point): Death => ({ kind: 'trap', point, nth: random.between(1, nthMax[point] ?? 1) }),
  )
  const cards: Death[] = [
    ...traps,
    ...Array.from({ length: deaths.random }, (): Death => ({ kind: 'random', afterMs: random.between(0, 400) })),
    ...Array.from({ length: deaths.start }, (): Death => ({ kind: 'start', afterMs: random.between(20, 300) })),
    ...Array.from({ length: deaths.zombie }, (_, index): Death => {
      const point = zombiePoints[index % zombiePoints.length]!
      return { kind: 'zombie', point, nth: random.between(1, 3), overlapMs: random.between(100, 300) }
    }),
  ]
  const hands = Map.groupBy(random.shuffled(cards).entries(), ([index]) => index % files)
  return Array.from({ length: files }, (_, file) => [
    { kind: 'trap', point: 'migration:statement', nth: 1 + (file % 4) },
    ...(hands.get(file) ?? []).map(([, death]) => death),
  ])
}
