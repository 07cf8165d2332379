import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Entity } from '../entity.ts'
import { implement } from '../implementation.ts'
import { emptyLane, type Lane } from '../lane.ts'
import type { Worker } from '../lease.ts'
import { defineMachine } from '../machine.ts'
import { done } from '../outcome.ts'
import { nobody } from '../store.ts'
import { explain, type Situation } from './explain.ts'
import { Registry } from './registry.ts'

const chunk = defineMachine({
  name: 'chunk',
  version: 2,
  parent: 'job',
  initial: ['ready', 'gate_waiting'],
  settled: ['completed', 'failed'],
  final: ['completed'],
  states: {
    ready: 'May run.',
    gate_waiting: 'Its step is gated.',
    completed: 'Done.',
    failed: 'Needs attention.',
  },
  transitions: {
    open_gate: { from: 'gate_waiting', to: 'ready', on: 'gate' },
    complete: { from: 'ready', to: 'completed', on: 'done', processor: 'step' },
    fail: { from: 'ready', to: 'failed', on: 'fail' },
    resume: { from: 'failed', to: 'ready', on: 'action' },
  },
  labels: ['collection'],
  policies: {
    step: { attemptsMax: 3, concurrency: 2, concurrencyPer: { label: 'collection', max: 1 }, role: 'heavy' },
  },
})

const now = 1_000_000
const registry = new Registry([implement(chunk, { processors: { step: () => done() } })])
const run = registry.runs.find(({ state }) => state === 'ready') ?? null

const ready: Entity = {
  ...{ id: 42, machine: 'chunk', version: 2, state: 'ready', born: 'ready' },
  ...{ seq: 0, epoch: 0, generation: 0, settled: false, attempts: 0, suspect: 0, parent: 7, lane: 'step 10' },
  ...{ source: 7, ordinal: 0, labels: ['maps'], priority: 0, data: '{}', request: null, owner: null, stopped: false },
  ...{ spawned: 0, checkpoint: null, progress: null, reason: null, sums: null, error: null, key: null },
  ...{ createdAt: now - 60_000, createdBy: null, changedAt: now - 60_000 },
  wait: { for: 'run', at: now - 5_000 },
}

const job: Entity = { ...ready, id: 7, machine: 'job', state: 'in_progress', parent: null, wait: { for: 'nothing' } }

const worker: Worker = {
  ...{ id: 3, name: 'night-shift', host: 'node-a', pid: 99, program: '', roles: [], machines: ['chunk@2'] },
  ...{ startedAt: now - 9_000, renewedAt: now - 4_000, expiresAt: now + 26_000, leases: 1 },
}

function lane(name: string, changes: Partial<Lane> = {}): Lane {
  return { ...emptyLane(7, name, 'chunk', 2, []), total: 4, ...changes }
}

/** A chunk that is ready and served, unless the test says otherwise. */
function situation(entity: Partial<Entity>, changes: Partial<Situation> = {}): Situation {
  return {
    ...{ entity: { ...ready, ...entity }, now, machine: chunk, needs: null, run, lanes: [], parent: job },
    ...{
      parentLanes: [lane('step 10')],
      holds: [],
      pools: [],
      workers: [worker],
      blocking: [],
      actions: [],
      trouble: null,
    },
    ...{ holders: [], children: [] },
    ...changes,
  }
}

function says(situation: Situation, kind: string, sentence: RegExp): Readonly<Record<string, unknown>> {
  const explanation = explain(situation)
  assert.equal(explanation.kind, kind, explanation.sentence)
  assert.match(explanation.sentence, sentence)
  assert.match(explanation.sentence, /\.$/)
  return explanation.facts
}

const completed = { state: 'completed', settled: true, wait: { for: 'nothing' } } as const

test('a final entity is final', () => {
  says(situation(completed), 'final', /chunk 42 is completed since .* nothing more happens/)
})

test('a settled one quotes its error beside its reason, and nothing that nobody gave', () => {
  const failed = { state: 'failed', settled: true, wait: { for: 'nothing' } } as const
  const told = (more: Partial<Entity>) => explain(situation({ ...failed, ...more })).sentence
  assert.match(
    told({ reason: 'bad item', error: 'item 7: id is missing.' }),
    /, because: bad item: item 7: id is missing\. No/,
  )
  assert.match(told({ reason: 'same', error: 'same.' }), /, because: same\. No/)
  assert.doesNotMatch(told({}), /because/)
})

test('a pool whose holders run on a silent worker says so', () => {
  const silent = { ...worker, id: 9, name: 'gone', renewedAt: now - 20_000, expiresAt: now + 10_000 }
  const pool = {
    name: 'run:chunk/step',
    ceiling: 2,
    taken: 2,
    holders: [8, 9].map((entity) => ({ entity, amount: 1 })),
  }
  const holders = [{ ...ready, id: 8, owner: 9 }]
  says(
    situation({}, { pools: [pool], holders, workers: [worker, silent] }),
    'full',
    /2 of 2 are taken \(8, 9\)\. Nothing was heard of worker gone, which holds 1 of them, for 20 s; they are given back in 10 s\.$/,
  )
  says(
    situation({ owner: 9, attempts: 1 }, { workers: [silent] }),
    'running',
    /nothing was heard of it for 20 s; its lease ends in 10 s/,
  )
})

test('a settled one says why, and how it is reopened', () => {
  const edge = chunk.edges.find(({ name }) => name === 'resume')
  assert.ok(edge)
  const failed = { state: 'failed', settled: true, reason: 'bad digest', wait: { for: 'nothing' } } as const
  const actions = [{ action: 'resume', edge, refusal: null }]
  says(situation(failed, { actions }), 'settled', /failed since .*, because: bad digest. A person may ask for: resume/)
  says(situation(failed), 'settled', /No action reopens it now/)
})

test('one that has ended, and of which something is still asked, says both', () => {
  const request = { edge: 'tell', actor: null, role: null, reason: null, requestId: null, input: null, read: null }
  const failed = { state: 'failed', settled: true, reason: 'bad digest', request } as const
  const facts = says(
    situation(failed),
    'ready',
    /^chunk 42 is failed since .*, because: bad digest\. tell was asked for: chunk 42 is ready and waits in line/,
  )
  assert.deepEqual(facts.ended, { state: 'failed', since: ready.changedAt, reason: 'bad digest' })
  const tried = { ...failed, attempts: 2, error: 'nobody answers', wait: { for: 'run', at: now + 9_000 } } as const
  says(situation(tried), 'retrying', /, because: bad digest\. tell was asked for: .* ended with: nobody answers\.$/)
})

test('one whose time of keeping is over is being removed', () => {
  says(situation({ ...completed, wait: { for: 'purge', at: now - 1 } }), 'purging', /is being removed/)
  assert.equal(
    says(situation({ ...completed, wait: { for: 'purge', at: now + 9 } }), 'final', /final/).purgeAt,
    now + 9,
  )
})

test('one that runs says where, how often, and how fresh its lease is', () => {
  const facts = says(
    situation({ owner: 3, attempts: 2 }),
    'running',
    /runs step on node-a .*pid 99.*attempt 2 of 3; the lease was renewed 4 s ago/,
  )
  assert.equal(facts.expiresAt, now + 26_000)
  says(situation({ owner: 3, attempts: 1, stopped: true }), 'running', /it is being stopped/)
  says(situation({ owner: 9, attempts: 1 }), 'running', /worker 9, whose lease has run out/)
})

test('children of an ended parent are at rest', () => {
  const parent = { ...job, state: 'failed', settled: true }
  const resting = { parent, parentLanes: [lane('step 10', { status: 'resting' })] }
  says(situation({}, resting), 'parent_ended', /at rest: job 7 is failed, and its lane step 10 rests/)
  says(situation({}, { parent, parentLanes: [lane('step 10', { status: 'stopped' })] }), 'parent_ended', /was stopped/)
})

test('one that is held says by whom, why and until when', () => {
  const hold = {
    id: 5,
    scope: { label: { name: 'collection', value: 'maps' } },
    reason: 'audit',
    owner: 'ada',
    until: null,
    since: now - 1,
    by: nobody,
    ended: null,
  }
  says(situation({}, { holds: [hold] }), 'held', /held by ada since .*, until it is released: audit \(hold 5\)/)
  const more = { ...hold, id: 6, until: now + 1_000 }
  says(situation({}, { holds: [more, hold] }), 'held', /until 1970-.*1 more hold stops it/)
  says(situation({ labels: ['books'] }, { holds: [hold] }), 'ready', /in line/)
  says(situation({}, { holds: [{ ...hold, until: now }] }), 'ready', /in line/)
})

test('one behind a gate says which gate in the order of steps, and who is still open before it', () => {
  const gated = { state: 'gate_waiting', wait: { for: 'run', at: now, gated: true } } as const
  const parentLanes = [lane('list'), lane('fetch', { open: 2 }), lane('step 10', { open: 4 }), lane('aaa', { open: 1 })]
  const facts = says(
    situation(gated, { parentLanes, blocking: [11, 12] }),
    'gated',
    /gate 3 of 4 \(step 10\) is shut; 2 of the step before \(fetch\) are open \(11, 12\)/,
  )
  assert.deepEqual([facts.gate, facts.gates, facts.open, facts.blocking], [3, 4, 2, [11, 12]])
  says(situation(gated, { parentLanes: [lane('step 10'), lane('step 2')] }), 'gated', /its parent 7 has yet to open it/)
  says(situation(gated, { parentLanes: [lane('step 10', { gate: 'open' })] }), 'ready', /in line/)
})

test('one that waits for a pool says which, and who has it', () => {
  const holders = [{ entity: 8, amount: 2 }]
  const disk = { name: 'disk', ceiling: 10, taken: 10, holders }
  const forDisk = { wait: { for: 'run', at: now, pool: 'disk' } } as const
  says(situation(forDisk, { pools: [disk] }), 'full', /room in disk: 10 of 10 are taken \(8\)/)
  says(situation(forDisk, { pools: [{ ...disk, taken: 9 }] }), 'ready', /in line/)
  says(
    situation({}, { pools: [{ ...disk, name: 'run:chunk/step', ceiling: 2, taken: 2 }] }),
    'full',
    /run:chunk\/step: 2 of 2/,
  )
  says(
    situation({}, { pools: [{ ...disk, name: 'run:chunk/step/maps', ceiling: 1, taken: 1 }] }),
    'full',
    /step\/maps: 1 of 1/,
  )
})

test('one that runs later says when; one that failed before, also which attempt and why', () => {
  const wait = { for: 'run', at: now + 90_000 } as const
  says(situation({ wait }), 'scheduled', /scheduled to run at 1970-.* \(in 90 s\)/)
  const retrying = { wait, attempts: 1, error: 'the server is busy' }
  says(situation(retrying), 'retrying', /tried again at .*attempt 2 of 3. The last one ended with: the server is busy/)
})

test('a suspect says what it is suspected of', () => {
  says(situation({ suspect: 8 }), 'suspect', /held by a worker that died.*one of 8/)
  says(situation({ suspect: 1 }), 'suspect', /held alone/)
})

test('without a worker for its machine, version or role, it says which is missing', () => {
  says(situation({}, { workers: [] }), 'no_worker', /no worker is alive/)
  says(
    situation({}, { workers: [{ ...worker, machines: ['chunk@1'] }] }),
    'no_worker',
    /none of the 1 live workers serves chunk@2/,
  )
  says(situation({}, { workers: [{ ...worker, roles: ['light'] }] }), 'no_worker', /has the role heavy/)
  says(situation({}, { workers: [{ ...worker, roles: ['heavy'] }] }), 'ready', /1 live worker serves chunk@2/)
  const dueTimer = { wait: { for: 'time', at: now } } as const
  says(situation(dueTimer, { workers: [] }), 'no_worker', /could go on now, but no worker is alive/)
})

test('one that is ready waits in line', () => {
  says(situation({ priority: 4 }), 'ready', /waits in line since 5 s with priority 4/)
})

test('a parent says how many children are open', () => {
  const lanes = [lane('step 1', { open: 0, total: 3 }), lane('step 2', { open: 2, total: 4 })]
  const parent = { wait: { for: 'children', at: null } } as const
  const facts = says(situation(parent, { lanes, blocking: [50, 51] }), 'children', /5 of 7 are settled, 2 are open\.$/)
  assert.deepEqual([facts.total, facts.open, facts.due], [7, 2, false])
  const woken = [lane('step 1', { wake: 2, seen: 1 })]
  says(situation(parent, { lanes: woken }), 'children', /It is due to be judged/)
  says(situation(parent, { lanes: woken, workers: [] }), 'no_worker', /no worker/)
})

test('a timer says when', () => {
  says(situation({ wait: { for: 'time', at: now + 60_000 } }), 'timer', /its timer, at .* \(in 60 s\)/)
})

test('what waits for a person says what that person may ask for', () => {
  const edge = chunk.edges.find(({ name }) => name === 'resume')
  assert.ok(edge)
  const actions = [
    { action: 'release', edge, refusal: null },
    { action: 'resume', edge, refusal: 'its files are gone' },
  ]
  says(
    situation({ wait: { for: 'nothing' } }, { actions }),
    'person',
    /open now: release. Not open: resume \(its files are gone\)/,
  )
  says(situation({ wait: { for: 'nothing' } }), 'person', /no action is open now/)
})

test('of a machine that is not known here, as much is said as can be', () => {
  says(situation({}, { machine: null, run: null }), 'ready', /in line/)
  says(situation(completed, { machine: null }), 'settled', /completed/)
  says(situation({ owner: 3 }, { machine: null, run: null }), 'running', /runs on node-a/)
})

test('of a machine that is not known here nothing is told that only its declaration says', () => {
  const unknown = { machine: null, run: null, workers: [] }
  const sentence =
    /chunk 42 .* This process does not know machine chunk@2, so it cannot tell what may be asked of it\.$/
  says(situation({ ...completed, state: 'failed' }, unknown), 'settled', sentence)
  says(situation({ wait: { for: 'nothing' } }, unknown), 'person', sentence)
})
