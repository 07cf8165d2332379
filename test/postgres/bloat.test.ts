import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { manualClock } from '../../src/testing/builders.ts'
import { Day, hourMs } from './bloat-day.ts'
import { largest, type Sizes, Surveyor } from './bloat-sizes.ts'
import { skipOwn, startPostgres } from './server.ts'

/** SLUICE_BLOAT_SCALE=3 works 200,000 entities a day. */
const scale = Number(process.env.SLUICE_BLOAT_SCALE ?? 1)
const wave = { shipments: Math.round(4 * scale), parcels: 600, singles: 200, brief: 5, group: 200 }
const wavesPerHour = 1
const dayHours = 24
const pinnedHours = 9
const laterHours = 6
/** Twice as much after twice the time would be growth without end; less than that is the luck of the moment. */
const growthMax = 1.6
/** What is smaller than this is not worth a vacuum. */
const negligibleBytes = 512 * 1024
/** The real day has room for a vacuum whenever one is due. Here it is waited for, when so many were worked that one must be. */
const workedMax = 12_000
/** More dead rows than call for a vacuum. */
const deadMax = 30_000
const patienceMs = 20_000
const claimsLeftMax = 4
/** What is at rest, and grows by what is kept. */
const cold = /^(entity_cold|history|tombstone|pool_share)/

describe('a day of steady work', { skip: skipOwn, timeout: 170_000 }, () => {
  test('leaves what is worked on no larger than it was, also after a report that ran for hours', async (t) => {
    await using server = await startPostgres({ own: true, settings: { autovacuum_naptime: '1s' } })
    const url = await server.database()
    const clock = manualClock(Date.parse('2030-01-01'))
    const store = postgresStore({ url, clock, connectionsMax: 3 })
    await using surveyor = await Surveyor.open(url, 'sluice')
    await using reader = await Surveyor.open(url, 'sluice')
    const day = new Day(store, clock, wave)
    await day.begin()

    let vacuums = 0
    let workedBefore = 0
    const turn = async () => {
      const isDue = day.worked - workedBefore > workedMax
      if (isDue) await until('a vacuum', async () => (await surveyor.vacuums('entity_hot')) > vacuums)
      const now = await surveyor.vacuums('entity_hot')
      if (now > vacuums) [vacuums, workedBefore] = [now, day.worked]
    }
    const pass = async (hours: number, isPinned = false): Promise<readonly Sizes[]> => {
      const looks: Sizes[] = []
      for (let waves = 0; waves < hours * wavesPerHour; waves += 1) {
        await day.pass(hourMs / wavesPerHour)
        looks.push(await surveyor.sizes())
        if (!isPinned) await turn()
      }
      return looks
    }

    const looks = await pass(dayHours)
    const quarter = looks.length / 4
    const [second, last] = [largest(looks.slice(quarter, 2 * quarter)), largest(looks.slice(3 * quarter))]
    const coldBytes = await surveyor.held('entity_cold')
    t.diagnostic(`${day.worked} worked; ${shown(last)}`)
    assert.deepEqual(
      grown(second, last, (name) => !cold.test(name)),
      [],
      'From the second quarter of the day to the last.',
    )

    await reader.beginReading()
    const pinned = largest(await pass(pinnedHours, true))
    await until('that the report is in the way', async () => (await surveyor.dead('entity_hot')) > deadMax)
    await reader.endReading()
    await until('that what it kept is cleared away', async () => (await surveyor.dead('entity_hot')) < deadMax)
    const after = await pass(laterHours)
    const [soon, late] = [largest(after.slice(0, laterHours / 2)), largest(after.slice(laterHours / 2))]
    t.diagnostic(`with a long report: ${shown(pinned)}; after it: ${shown(late)}`)
    assert.deepEqual(
      grown(largest([pinned, soon]), late, () => true),
      [],
      'When the report is over nothing grows any more.',
    )
    assert.ok(
      late.get('entity_hot')! <= pinned.get('entity_hot')!,
      'The room that it took is used again, or given back.',
    )

    // What is at rest takes the room that it needs, and some more: what was removed leaves gaps until others fill them.
    assert.ok(
      last.get('entity_cold')! <= 4 * coldBytes + negligibleBytes,
      `${last.get('entity_cold')} bytes for ${coldBytes}.`,
    )
    assert.equal(await surveyor.count('history'), 0, 'Short histories stay with their entities.')
    assert.equal(await surveyor.count('entity_hot'), 0, 'Whatever is finished has left the hot part.')
    assert.ok(
      (await surveyor.count('claimed')) <= claimsLeftMax,
      'Claims that are over stand there until the next one only.',
    )
    await store.close()
  })
})

/** Which have grown by more than they may. */
function grown(before: Sizes, after: Sizes, isMeant: (name: string) => boolean, factor = growthMax): readonly string[] {
  return [...after].flatMap(([name, bytes]) => {
    const most = Math.max(negligibleBytes, factor * (before.get(name) ?? 0))
    return isMeant(name) && bytes > most ? `${name}: from ${before.get(name)} to ${bytes} bytes` : []
  })
}

function shown(sizes: Sizes): string {
  const large = [...sizes].filter(([, bytes]) => bytes > negligibleBytes).sort((one, other) => other[1] - one[1])
  return large.map(([name, bytes]) => `${name} ${(bytes / 2 ** 20).toFixed(1)}`).join(', ')
}

/** Whoever waits in vain says for what. */
async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + patienceMs
  while (!(await isSo())) {
    assert.ok(performance.now() < deadline, `In vain was waited for ${what}.`)
    await pause(50)
  }
}
