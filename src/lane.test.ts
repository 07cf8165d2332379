import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { changeLane, emptyLane, type Lane, type LaneChange, type LaneFigure, otherReasons, reasonIn } from './lane.ts'

const settledStates = ['completed', 'failed']
const states = ['ready', 'running', ...settledStates]

function figure(state: string, reason: string | null = null, sums: LaneFigure['sums'] = null): LaneFigure {
  return { state, settled: settledStates.includes(state), reason, sums }
}

function laneWatching(...watches: string[]): Lane {
  return emptyLane(1, 'step', 'chunk', 1, watches)
}

const born = (state: string, times = 1): LaneChange => ({ from: null, to: figure(state), times })
const moved = (from: string, to: string, times = 1): LaneChange => ({ from: figure(from), to: figure(to), times })

/** How often the wake number grows with each of these commits. */
function wakes(lane: Lane, ...commits: readonly (readonly LaneChange[])[]): readonly number[] {
  let now = lane
  return commits.map((commit) => {
    const before = now.wake
    now = changeLane(now, commit)
    return now.wake - before
  })
}

// ---- When the parent looks ----

test('the number grows when the first child is born and when the last one settles', () => {
  assert.deepEqual(
    wakes(laneWatching(), [born('ready')], [born('ready')], [moved('ready', 'completed')], [moved('ready', 'failed')]),
    [1, 0, 0, 1],
  )
})

test('a settled child that is reopened is open again, and its settling counts again', () => {
  const lane = changeLane(laneWatching(), [born('ready'), moved('ready', 'failed')])
  assert.deepEqual(wakes(lane, [moved('failed', 'ready')], [moved('ready', 'completed')]), [1, 1])
})

test('moves among open states, or among settled ones, wake nobody', () => {
  const lane = changeLane(laneWatching(), [born('ready', 2), moved('ready', 'failed')])
  assert.deepEqual(wakes(lane, [moved('ready', 'running')], [moved('failed', 'completed')]), [0, 0])
})

test('reaching zero and leaving it again within one commit is seen', () => {
  const lane = changeLane(laneWatching(), [born('ready')])
  assert.deepEqual(wakes(lane, [moved('ready', 'completed'), born('ready')]), [2])
})

test('a child that is born settled wakes a parent that has nothing open, and no other', () => {
  assert.deepEqual(wakes(laneWatching(), [born('failed')], [born('ready')], [born('failed')]), [1, 1, 0])
})

test('a watched state wakes when it is first entered, by move or by birth', () => {
  const lane = changeLane(laneWatching('running', 'failed'), [born('ready', 4)])
  assert.deepEqual(wakes(lane, [moved('ready', 'running')], [moved('ready', 'running')], [born('failed')]), [1, 0, 1])
  assert.deepEqual(changeLane(lane, [moved('ready', 'running')]).entered, ['running'])
})

test('a purge of the last open child reaches zero too', () => {
  const lane = changeLane(laneWatching(), [born('ready')])
  assert.deepEqual(wakes(lane, [{ from: figure('ready'), to: null, times: 1 }]), [1])
})

test('a change leaves the lane that it was made from alone', () => {
  const lane = changeLane(laneWatching('ready'), [born('ready')])
  const copy = structuredClone(lane)
  changeLane(lane, [moved('ready', 'failed'), born('ready')])
  assert.deepEqual(lane, copy)
})

// ---- Random programs ----

interface Step {
  readonly act: 'birth' | 'move' | 'purge'
  /** Which of the children that are there. */
  readonly child: number
  readonly to: LaneFigure
}

const names = ['records', 'bytes', 'constructor', '__proto__']
// Built by fromEntries, since a literal `__proto__` would set the prototype.
const sums = fc
  .uniqueArray(fc.tuple(fc.constantFrom(...names), fc.integer({ min: -9, max: 99 })), { selector: ([name]) => name })
  .map((entries) => Object.fromEntries(entries))
const anyFigure = fc
  .record({
    state: fc.constantFrom(...states),
    reason: fc.option(fc.constantFrom('too big', 'not found', 'constructor', '__proto__', 'toString')),
    sums: fc.option(sums),
  })
  .map(({ state, reason, sums }) => figure(state, reason, sums))
const step: fc.Arbitrary<Step> = fc.record({
  act: fc.constantFrom('birth', 'birth', 'move', 'move', 'move', 'purge'),
  child: fc.nat(),
  to: anyFigure,
})
const program = fc.array(fc.array(step, { maxLength: 8 }), { maxLength: 30 })
const watches = fc.subarray(states)

/** Plays one step on the children themselves and says what the lane is told of it; null if there is no such child. */
function play(children: LaneFigure[], { act, child, to }: Step): LaneChange | null {
  if (act === 'birth') {
    children.push(to)
    return { from: null, to, times: 1 }
  }
  if (children.length === 0) return null
  const index = child % children.length
  const from = children[index]!
  children.splice(index, 1, ...(act === 'move' ? [to] : []))
  return { from, to: act === 'move' ? to : null, times: 1 }
}

function recount(children: readonly LaneFigure[]): Pick<Lane, 'counts' | 'reasons' | 'sums' | 'total' | 'open'> {
  const tally = (entries: readonly (readonly [string, number])[]) => {
    const totals = new Map<string, number>()
    for (const [name, amount] of entries) totals.set(name, (totals.get(name) ?? 0) + amount)
    return Object.fromEntries([...totals].filter(([, amount]) => amount !== 0))
  }
  return {
    counts: tally(children.map(({ state }) => [state, 1])),
    reasons: tally(children.flatMap(({ reason }) => (reason === null ? [] : [[reason, 1]]))),
    sums: tally(children.flatMap(({ sums }) => Object.entries(sums ?? {}))),
    total: children.length,
    open: children.filter(({ settled }) => !settled).length,
  }
}

test('after any program the lane says what a recount says', () => {
  fc.assert(
    fc.property(program, watches, (commits, watches) => {
      const children: LaneFigure[] = []
      let lane = laneWatching(...watches)
      for (const steps of commits) {
        lane = changeLane(
          lane,
          steps.map((step) => play(children, step)).filter((change) => change !== null),
        )
        const { counts, reasons, sums, total, open } = lane
        assert.deepEqual({ counts, reasons, sums, total, open }, recount(children))
      }
    }),
  )
})

test('the wake number grows exactly when the openness changes, a watched state is new, or a child is born settled alone', () => {
  fc.assert(
    fc.property(program, watches, (commits, watches) => {
      const children: LaneFigure[] = []
      const entered = new Set<string>()
      let lane = laneWatching(...watches)
      for (const step of commits.flat()) {
        const wasOpen = recount(children).open > 0
        const change = play(children, step)
        if (!change) continue
        const isOpen = recount(children).open > 0
        const isNew = change.to !== null && watches.includes(change.to.state) && !entered.has(change.to.state)
        if (isNew) entered.add(change.to!.state)
        const isBornAlone = change.from === null && !wasOpen && !isOpen
        const { wake } = lane
        lane = changeLane(lane, [change])
        assert.equal(lane.wake - wake, Number(wasOpen !== isOpen) + Number(isNew) + Number(isBornAlone))
        assert.deepEqual(new Set(lane.entered), entered)
      }
    }),
  )
})

test('a commit of many changes is the same as the changes one by one', () => {
  fc.assert(
    fc.property(program, watches, (commits, watches) => {
      const children: LaneFigure[] = []
      const changes = commits
        .flat()
        .map((step) => play(children, step))
        .filter((change) => change !== null)
      const together = changeLane(laneWatching(...watches), changes)
      const singly = changes.reduce((lane, change) => changeLane(lane, [change]), laneWatching(...watches))
      assert.deepEqual(together, singly)
    }),
  )
})

test('so many alike changes together count like one by one, and wake whenever those would', () => {
  const change = fc.tuple(anyFigure, fc.option(anyFigure), fc.integer({ min: 1, max: 5 }))
  fc.assert(
    fc.property(change, fc.nat(3), watches, ([to, from, times], others, watches) => {
      const births: readonly LaneChange[] = [
        { from: null, to: figure('ready'), times: others },
        ...(from ? [{ from: null, to: from, times }] : []),
      ]
      const lane = changeLane(
        laneWatching(...watches),
        births.filter(({ times }) => times > 0),
      )
      const together = changeLane(lane, [{ from, to, times }])
      const singly = changeLane(
        lane,
        Array.from({ length: times }, () => ({ from, to, times: 1 })),
      )
      assert.deepEqual({ ...together, wake: 0 }, { ...singly, wake: 0 })
      assert.equal(together.wake > lane.wake, singly.wake > lane.wake)
    }),
  )
})

// ---- Reasons ----

test('a lane counts so many different reasons; the rest is counted together', () => {
  const failed = (reason: string): LaneChange => ({ from: null, to: figure('failed', reason), times: 1 })
  const lane = changeLane(laneWatching(), [failed('too big'), failed('not found')])
  assert.equal(reasonIn(lane, null, 2), null)
  assert.equal(reasonIn(lane, 'too big', 2), 'too big')
  assert.equal(reasonIn(lane, 'refused', 3), 'refused')
  assert.equal(reasonIn(lane, 'refused', 2), otherReasons)
  assert.equal(reasonIn(lane, 'constructor', 2), otherReasons)
})
