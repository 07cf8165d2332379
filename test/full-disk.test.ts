import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { pino } from 'pino'
import { type Control, defineMachine, done, Engine, implement, type Progress, type Store } from 'sluice'
import { sqliteStore } from 'sluice/sqlite'
import { sleep, systemClock } from '../src/clock.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-full-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const page = defineMachine({
  ...{ name: 'page', version: 1, parent: 'book' },
  ...{ initial: ['blank'], settled: ['printed', 'failed'], final: ['printed', 'failed'] },
  states: { blank: 'Waits.', printed: 'Done.', failed: 'Gave up.' },
  transitions: {
    print: { from: 'blank', to: 'printed', on: 'done', processor: 'print' },
    fail: { from: 'blank', to: 'failed', on: 'fail' },
  },
})

const book = defineMachine({
  ...{ name: 'book', version: 1 },
  ...{ initial: ['open'], settled: ['bound', 'failed'], final: ['bound', 'failed'] },
  states: { open: 'Splits.', printing: 'Waits for its pages.', bound: 'Done.', failed: 'Gave up.' },
  transitions: {
    split: { from: 'open', to: 'printing', on: 'done', processor: 'split' },
    bind: { from: 'printing', to: 'bound', on: 'children', when: 'allPrinted' },
    fail: { from: 'open', to: 'failed', on: 'fail' },
    mark_failed: { from: 'printing', to: 'failed', on: 'action' },
  },
})

/** Its only move is the engine's own, and it needs more room than there is. */
const balloon = defineMachine({
  ...{ name: 'balloon', version: 1 },
  ...{ initial: ['flat'], settled: ['full'], final: ['full'] },
  states: { flat: 'Waits for its time.', full: 'Done.' },
  transitions: { blow_up: { from: 'flat', to: 'full', on: 'time', afterMs: 1, assign: 'air' } },
})

const pages = 2_000
const clock = systemClock()
const log = pino({ level: 'silent' })
const implementations = [
  implement(book, {
    processors: {
      async split(context) {
        for (let number = 0; number < pages; number += 1) {
          await context.spawn({ machine: 'page', state: 'blank', data: { number, text: 'x'.repeat(500) } })
        }
        return done()
      },
    },
    criteria: { allPrinted: (_book, { lanes }) => (lanes ?? []).every((lane) => lane.open === 0) },
  }),
  implement(page, { processors: { print: () => done() } }),
  implement(balloon, { assigns: { air: () => ({ data: 'x'.repeat(200_000) }) } }),
]

/** Waits until the engine has noticed that it cannot write. */
async function trouble(control: Control, id: number): Promise<Progress> {
  for (let tries = 0; tries < 200; tries += 1) {
    const progress = await control.progress(id)
    if (progress.trouble) return progress
    await sleep(clock, 25)
  }
  return assert.fail('no trouble was noticed in five seconds')
}

async function stops(engine: Engine): Promise<void> {
  const stopped = engine.stop().then(() => 'stopped')
  assert.equal(await Promise.race([stopped, sleep(clock, 15_000).then(() => 'still there')]), 'stopped')
}

async function storeWithRoom(file: string, pagesMore: number): Promise<Store> {
  const empty = sqliteStore({ file })
  await empty.migrate()
  await empty.close()
  return sqliteStore({ file, pagesMax: pagesIn(file) + pagesMore })
}

function pagesIn(file: string): number {
  const database = new DatabaseSync(file)
  const [count] = Object.values(database.prepare('PRAGMA page_count').get() ?? {})
  database.close()
  return Number(count)
}

test('a full disk is told by progress and explain, a stop ends all the same, and with space the work goes on', async () => {
  const file = join(folder, 'full.db')
  const small = await storeWithRoom(file, 30)
  const limits = { drainMs: 300 }
  const engine = new Engine({ store: small, implementations, limits, log })
  await engine.start()
  const { id } = await engine.control.submit('book', null)
  const progress = await trouble(engine.control, id)
  assert.match(progress.trouble?.sentence ?? '', /The disk that holds .*full\.db is full.*Free some space/)
  assert.deepEqual([progress.ratePerSecond, progress.etaMs], [null, null], 'nothing moves, so no time is promised')
  const explanation = await engine.control.explain(id)
  assert.equal(explanation.kind, 'store_trouble')
  assert.match(explanation.sentence, /^book \d+ cannot go on: .*disk that holds .* is full/)

  await stops(engine)
  await small.close()

  const store = sqliteStore({ file })
  const again = new Engine({ store, implementations, log, limits: { ...limits, leaseMs: 1_000, renewMs: 300 } })
  await again.start()
  const settled = await again.control.settled(id, 60_000)
  assert.equal(settled?.state, 'bound')
  const after = await again.control.progress(id)
  assert.deepEqual([after.counts, after.trouble], [{ printed: pages }, null])
  await again.stop()
  await store.close()
})

test('a move of the engine itself that cannot be written does not keep a stop waiting', async () => {
  const store = await storeWithRoom(join(folder, 'balloon.db'), 4)
  const engine = new Engine({ store, implementations, limits: { drainMs: 300 }, log })
  await engine.start()
  const { id } = await engine.control.submit('balloon', null)
  await trouble(engine.control, id)
  await stops(engine)
  await store.close()
})
