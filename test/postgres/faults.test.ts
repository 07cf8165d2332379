import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { settle, warmUp } from '../crash/campaign.ts'
import { check } from '../crash/checker.ts'
import { crashExpectations } from '../crash/expectations.ts'
import { Random } from '../crash/random.ts'
import { Scene } from '../crash/scene.ts'
import { type Fault, Siege } from './faults-siege.ts'
import { CuttingProxy } from './proxy.ts'
import { skipOwn, startPostgres } from './server.ts'

const plan: Readonly<Partial<Record<Fault, number>>> = {
  crash: 6,
  restart: 1,
  kill: 3,
  sleep: 2,
  terminate: 3,
  'terminate all': 2,
  cut: 6,
  silence: 1,
}
const crashesMin = 5
/** Complaints that a failure shows: the first ones tell the story. */
const shownMax = 15

test('nothing acknowledged is lost and nothing is done twice, whatever happens to processes, connections and the server', {
  skip: skipOwn,
  timeout: 170_000,
}, async (t) => {
  const seed = Number(process.env.SLUICE_CRASH_SEED ?? Math.floor(Math.random() * 2 ** 31))
  const again = `SLUICE_CRASH_SEED=${seed} has the same faults.`
  const random = new Random(seed)
  // The feed shows what is older than the oldest transaction of the whole server: here nobody else has one.
  await using server = await startPostgres({ own: true, settings: { autovacuum: 'off' } })
  await using proxy = await CuttingProxy.start(server.port)
  const url = await server.database()
  process.env.SLUICE_TEST_STORE = proxy.through(url)
  await using scene = new Scene('faults')
  await warmUp(scene)
  const startedAt = performance.now()
  const siege = new Siege(scene, 'siege', server, proxy, random)
  await siege.begin()
  const deck = Object.entries(plan).flatMap(([fault, count]) => Array.from({ length: count }, () => fault as Fault))
  for (const fault of random.shuffled(deck)) {
    await siege.strike(fault)
    await pause(random.between(50, 700))
  }
  await siege.end()
  const struckMs = performance.now() - startedAt
  const evidence = await settle(scene, siege.folder)
  const complaints = [...siege.complaints, ...check(evidence, crashExpectations)]
  t.diagnostic(
    `${JSON.stringify(siege.done)}, ${evidence.entities.length} entities, ${siege.fenced()} stale moves refused, ${Math.round(struckMs / 1_000)} s of faults, ${Math.round((performance.now() - startedAt) / 1_000)} s in all, seed ${seed}`,
  )
  assert.deepEqual(complaints.slice(0, shownMax), [], `${complaints.length} complaints. ${again}`)
  assert.ok(siege.done.crash >= crashesMin)
})
