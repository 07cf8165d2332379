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
    freshMax: 10,
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
      return { entity: last, batch: 1, file: 1, offset: last, length: 1, item: { hnId: last, type: 'story' as const } }
    })
    catalogue.put(entries)
    folding.answered(true)
  }
  return { catalogue, folding, put, ...byHand }
}

test('a fold that is due goes on in turns of its own until it is done', (context) => {
  const { catalogue, put, turn } = open(context)
  put(10)
  let turns = 0
  while (turn() > 0) turns += 1
  assert.ok(turns > 3, 'it was done in steps')
  assert.equal(catalogue.foldStep('any'), false)
})

test('a turn in which something was asked is left to the questions', (context) => {
  const { catalogue, folding, put, turn } = open(context)
  put(10)
  for (let asked = 0; asked < 20; asked += 1) {
    folding.answered(false)
    assert.equal(turn(), 1)
  }
  assert.equal(catalogue.foldStep(), true, 'nothing was done meanwhile')
})

test('the last few rows are folded once it is quiet, not before', (context) => {
  const { catalogue, folding, put, turn, quiet, pending } = open(context)
  put(3)
  assert.equal(turn(), 0, 'too few to be due')
  folding.answered(false)
  assert.equal(quiet(), 1)
  assert.equal(turn(), 0, 'it was not quiet')
  assert.equal(quiet(), 1)
  while (turn() > 0);
  assert.equal(catalogue.foldStep('any'), false)
  assert.equal(pending(), 0)
})

test('once stopped it leaves the catalogue alone, and nothing is left to come', (context) => {
  const { catalogue, folding, put, turn, pending } = open(context)
  put(10)
  folding.stop()
  catalogue.close()
  turn()
  assert.equal(pending(), 0)
})

test('a step that fails is no answer to anybody', (context) => {
  const { catalogue, folding, put, turn, pending, quiet } = open(context)
  put(10)
  catalogue.close()
  turn()
  quiet()
  folding.answered(true)
  assert.equal(pending(), 1, 'it waits for quiet only')
})
