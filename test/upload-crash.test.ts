import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { writeSample } from '../workflows/upload/sample.ts'
import { Random } from './crash/random.ts'
import { Scene } from './crash/scene.ts'
import type { UploadOrder, UploadReport } from './upload-crash/order.ts'

const program = new URL('./upload-crash/child.ts', import.meta.url)
const items = 3_000
/** Processes that are started to be killed; a kill that comes too late is none. */
const lives = 16
/** The test runs on both SQL stores: 20 kills together. */
const killsMin = 10
/** A file that was through too soon is followed by another. */
const filesMax = 4
const killsMaxByPlace = 3
const patienceMs = 60_000
const shownMax = 10
/** A dead process' work is taken over soon; small claims leave work for many lives. */
const hasty = { leaseMs: 500, renewMs: 80, pollMs: 50, claimMax: 100 }

test('an upload that is killed again and again comes to the same end as one that is not', async (t) => {
  const seed = Number(process.env.SLUICE_CRASH_SEED ?? Math.floor(Math.random() * 2 ** 31))
  const random = new Random(seed)
  const again = `SLUICE_CRASH_SEED=${seed} has the same kills.`
  await using scene = new Scene('upload-crash')
  const file = join(scene.folder, 'sample.json')
  const sample = await writeSample({ path: file, items, bad: 0.03, duplicates: 0.2, orphans: 0.01, seed: 9 })
  const order = (name: string, limits = {}): UploadOrder => ({ folder: scene.place(name), file, groupMax: 20, limits })
  const undisturbed = await finish(scene, order('undisturbed'))
  assert.deepEqual(
    { ...undisturbed, items: undisturbed.items.length, documents: undisturbed.documents.length },
    {
      state: 'partially_completed',
      total: items,
      completed: items - sample.bad - sample.duplicatesSame,
      failed: sample.bad,
      skipped: sample.duplicatesSame,
      merged: sample.duplicatesNewer,
      unresolvedLinks: sample.orphans,
      reasons: sample.byReason,
      items,
      documents: items - sample.bad - sample.duplicatesSame - sample.duplicatesNewer,
      drifts: 0,
    },
  )

  const kills: Kills = { starting: 0, extracting: 0, processing: 0 }
  for (let file = 1; file <= filesMax && total(kills) < killsMin; file += 1) {
    const disturbed = order(`disturbed-${file}`, hasty)
    add(kills, await killAgainAndAgain(scene, disturbed, random))
    const survived = await finish(scene, disturbed)
    assert.deepEqual(differencesOf(survived, undisturbed).slice(0, shownMax), [], again)
    const { items: _items, documents: _documents, ...counts } = survived
    const { items: _others, documents: _expected, ...expected } = undisturbed
    assert.deepEqual(counts, expected, again)
  }
  t.diagnostic(`kills: ${JSON.stringify(kills)}, seed ${seed}`)
  assert.ok(total(kills) >= killsMin, `Only ${total(kills)} processes were killed. ${again}`)
})

/** How often a process was killed while the batch was where. */
type Kills = Record<string, number>

function total(kills: Kills): number {
  return Object.values(kills).reduce((sum, count) => sum + count, 0)
}

function add(kills: Kills, more: Kills): void {
  for (const [place, count] of Object.entries(more)) kills[place]! += count
}

async function killAgainAndAgain(scene: Scene, order: UploadOrder, random: Random): Promise<Kills> {
  const kills: Kills = { starting: 0, extracting: 0, processing: 0 }
  for (let life = 0; life < lives; life += 1) {
    const child = scene.start(program, order)
    if (random.chance(0.2) && kills.starting! < killsMaxByPlace && kills.extracting! < killsMaxByPlace) {
      await pause(random.between(0, 400))
    } else {
      // What kills its process again and again is given up in the end, and rightly so: here it must not come to that.
      const isSpared = kills.extracting! >= killsMaxByPlace
      await child.line(isSpared ? /^state (processing|.*completed)$/ : /^state (extracting|processing|.*completed)$/)
      await pause(random.between(0, 50))
    }
    const state = child.lines.findLast((line) => line.startsWith('state '))?.slice('state '.length) ?? 'starting'
    child.signal('SIGKILL')
    const { code, signal, errors } = await child.ended()
    if (signal !== 'SIGKILL' && code !== 0) throw new Error(`A process ended with ${code}: ${errors}`)
    if (/completed|failed/.test(state)) return kills
    const place = state in kills ? state : 'starting'
    kills[place]! += 1
  }
  return kills
}

/** Items with another result, and documents with another content. */
function differencesOf(survived: UploadReport, undisturbed: UploadReport): string[] {
  const differences: string[] = []
  const compare = (what: string, found: readonly unknown[], expected: readonly unknown[]) => {
    for (let index = 0; index < Math.max(found.length, expected.length); index += 1) {
      const [one, other] = [JSON.stringify(found[index]), JSON.stringify(expected[index])]
      if (one !== other) differences.push(`${what} ${index} is ${one} instead of ${other}`)
    }
  }
  compare('item', survived.items, undisturbed.items)
  compare('document', survived.documents, undisturbed.documents)
  return differences
}

async function finish(scene: Scene, order: UploadOrder): Promise<UploadReport> {
  const child = scene.start(program, order)
  await child.success(patienceMs)
  const line = child.lines.find((line) => line.startsWith('report '))
  return JSON.parse(line?.slice('report '.length) ?? 'null') as UploadReport
}
