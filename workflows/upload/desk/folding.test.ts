import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Clock, systemClock } from 'sluice/clock'
import { Catalogue } from '../catalogue/catalogue.ts'
import { Folding } from './folding.ts'

/** A clock whose turns and timers come when the test says so. */
function clockByHand() {
  const turns: (() => void)[] = []
  let timers: (() => void)[] = []
  const clock: Clock = {
    ...systemClock(),
    soon: (callback) => turns.push(callback),
    after(_, callback) {
      timers.push(callback)
      return () => {
        timers = timers.filter((other) => other !== callback)
      }
    },
  }
  const take = (list: (() => void)[]) => {
    for (const callback of list) callback()
    return list.length
  }
  return {
    clock,
    turn: () => take(turns.splice(0)),
    quiet: () => take(timers.splice(0)),
    pending: () => turns.length + timers.length,
  }
}

function open(context: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-folding-'))
  const catalogue = new Catalogue({
    file: join(folder, 'catalogue.db'),
    textIndex: false,
    now: () => 1,
    readDocument: () => assert.fail('nothing is merged'),
    freshMax: 3_000,
  })
  context.after(() => {
    catalogue.close()
    rmSync(folder, { recursive: true })
  })
  const byHand = clockByHand()
  const folding = new Folding(catalogue, byHand.clock)
  let last = 0
  const put = (count: number) => {
    const entries = Array.from({ length: count }, () => {
      last += 1
      const item = { hnId: last, type: 'story' as const, by: `ann${last}` }
      return { entity: last, batch: 1, file: 1, offset: last, length: 1, item }
    })
    catalogue.put(entries)
    folding.answered(count)
  }
  return { catalogue, folding, put, ...byHand }
}

test('a step in every turn as long as something is due, whoever asks in between', (context) => {
  const { catalogue, folding, put, turn } = open(context)
  put(2_900)
  assert.equal(turn(), 1)
  assert.equal(turn(), 0, 'too few wait')
  put(100)
  let turns = 0
  while (turn() > 0) {
    turns += 1
    folding.answered(0)
    if (turns === 10) put(100)
  }
  assert.ok(turns > 4 * 60, 'it was done in short steps')
  assert.equal(catalogue.foldStep(), false)
  assert.equal(catalogue.foldStep('any'), true, 'what came meanwhile waits for the next fold, or for quiet')
})

test('the last few rows are folded once it is quiet, not before', (context) => {
  const { catalogue, folding, put, turn, quiet, pending } = open(context)
  put(3)
  assert.equal(turn(), 1, 'it looks once whether something is due')
  folding.answered(0)
  assert.equal(quiet(), 1)
  assert.equal(turn(), 0, 'it was not quiet')
  assert.equal(quiet(), 1)
  let turns = 0
  while (turn() > 0) turns += 1
  assert.ok(turns > 3, 'it was done in steps')
  assert.equal(catalogue.foldStep('any'), false)
  assert.equal(pending(), 0)
})

test('a question in between is answered first; then it waits for quiet again', (context) => {
  const { catalogue, folding, put, turn, quiet } = open(context)
  put(3)
  turn()
  quiet()
  folding.answered(0)
  assert.equal(turn(), 1)
  assert.equal(turn(), 0)
  assert.equal(catalogue.foldStep(), true, 'it is not done')
  assert.equal(quiet(), 1)
  while (turn() > 0);
  assert.equal(catalogue.foldStep('any'), false)
})

test('once stopped it leaves the catalogue alone, and nothing is left to come', (context) => {
  const { catalogue, folding, put, turn, quiet, pending } = open(context)
  put(3)
  quiet()
  put(3)
  folding.stop()
  catalogue.close()
  turn()
  assert.equal(pending(), 0)
})

test('a step that fails is no answer to anybody', (context) => {
  const { catalogue, folding, put, turn, pending, quiet } = open(context)
  put(3)
  catalogue.close()
  assert.equal(turn(), 1)
  assert.equal(quiet(), 1)
  assert.equal(turn(), 0)
  folding.answered(3_000)
  assert.equal(turn(), 1, 'it is tried again after the next group')
  assert.equal(pending(), 1, 'it waits for quiet only')
})
