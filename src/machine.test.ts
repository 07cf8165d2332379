import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { SluiceError } from './errors.ts'
import {
  claimPlan,
  defineMachine,
  edgeNamed,
  edgesFrom,
  isFinal,
  isSettled,
  labelsOf,
  type Machine,
  type MachineDeclaration,
  policyOf,
} from './machine.ts'
import { defaultPolicy } from './policy.ts'
import type { TransitionDeclaration } from './transition.ts'

const chunk = defineMachine({
  name: 'chunked_chunk',
  version: 1,
  parent: 'chunked_job',
  initial: ['ready', 'gate_waiting', 'poll_waiting'],
  settled: ['completed', 'failed'],
  final: ['completed'],
  states: {
    ready: 'May be queued.',
    gate_waiting: { purpose: 'Its step is gated.', title: 'GATE_WAITING' },
    poll_waiting: 'Asked to be run again later.',
    queued: 'Given to a worker.',
    in_progress: 'Its step runs.',
    error: 'Failed, and will be tried again.',
    failed: 'Failed for good.',
    completed: { purpose: 'Done.', retentionMs: 1_000, holdable: false, outcome: 'success' },
  },
  transitions: {
    open_gate: { from: 'gate_waiting', to: 'ready', on: 'gate' },
    poll_again: { from: 'poll_waiting', to: 'ready', on: 'time' },
    queue: { from: 'ready', to: 'queued', on: 'claim' },
    start: { from: ['queued', 'error'], to: 'in_progress', on: 'claim' },
    complete: { from: 'in_progress', to: 'completed', on: 'done', processor: 'step' },
    try_again: { from: 'in_progress', to: 'error', on: 'retry' },
    poll_later: { from: 'in_progress', to: 'poll_waiting', on: 'poll' },
    fail: { from: 'in_progress', to: 'failed', on: 'fail' },
  },
  policies: { step: { attemptsMax: 7 } },
})

const upload = defineMachine({
  name: 'upload',
  version: 1,
  initial: ['uploaded'],
  settled: ['validated', 'failed'],
  final: ['validated'],
  states: { uploaded: 'File stored.', validated: 'File readable.', failed: 'Needs attention.' },
  transitions: {
    validate_file: {
      from: 'uploaded',
      to: 'validated',
      on: 'done',
      processor: 'readFile',
      ensure: ['valid', 'notEmpty'],
    },
    fail: { from: 'uploaded', to: 'failed', on: 'fail', assign: 'recordFailure' },
    mark_failed: { from: 'uploaded', to: 'failed', on: 'action', assign: 'recordFailure', action: 'give_up' },
    retry_batch: { from: 'failed', to: 'uploaded', on: 'action', when: 'retryable' },
  },
  data: z.object({ owner: z.string(), collection: z.number(), nested: z.object({}).optional() }),
  labels: ['owner', 'collection', 'nested', 'missing'],
})

test('a transition from several states is an edge from each', () => {
  assert.deepEqual(
    chunk.edges.filter((edge) => edge.name === 'start').map((edge) => [edge.from, edge.to]),
    [
      ['queued', 'in_progress'],
      ['error', 'in_progress'],
    ],
  )
})

test('what a declaration leaves out has its default', () => {
  assert.deepEqual(edgeNamed(chunk, 'gate_waiting', 'open_gate'), {
    name: 'open_gate',
    from: 'gate_waiting',
    to: 'ready',
    on: 'gate',
    when: [],
    ensure: [],
    inline: false,
    action: 'open_gate',
    role: 'operator',
    purpose: '',
  })
  assert.deepEqual(chunk.states.ready, {
    ...{ title: 'ready', purpose: 'May be queued.', retentionMs: null, holdable: true },
    ...{ outcome: 'neutral', outcomeDeclared: false },
  })
  assert.deepEqual(chunk.states.completed, {
    title: 'completed',
    purpose: 'Done.',
    retentionMs: 1_000,
    holdable: false,
    outcome: 'success',
    outcomeDeclared: true,
  })
  assert.equal(chunk.states.gate_waiting?.title, 'GATE_WAITING')
  assert.deepEqual([upload.parent, upload.watches, upload.respawn, chunk.schema], [null, [], null, null])
})

test('every processor has a policy: what is declared, over the default', () => {
  assert.deepEqual(policyOf(chunk, 'step'), { ...defaultPolicy, attemptsMax: 7 })
  assert.deepEqual(upload.policies, { readFile: defaultPolicy })
  assert.deepEqual(policyOf(upload, null), defaultPolicy)
})

test('edgesFrom gives the siblings of one cause in declared order', () => {
  const names = (state: string, cause: Parameters<typeof edgesFrom>[2]) =>
    edgesFrom(siblings, state, cause).map((edge) => edge.name)
  const siblings = loosely({
    third: { from: 'b', to: 'a', on: 'done' },
    first: { from: 'a', to: 'b', on: 'done', when: 'x' },
    other: { from: 'a', to: 'b', on: 'action' },
    second: { from: 'a', to: 'end', on: 'done' },
  })
  assert.deepEqual(names('a', 'done'), ['first', 'second'])
  assert.deepEqual(names('a', 'fail'), [])
  assert.deepEqual(names('nowhere', 'done'), [])
})

test('settled and final', () => {
  assert.deepEqual([isSettled(chunk, 'failed'), isFinal(chunk, 'failed')], [true, false])
  assert.deepEqual([isSettled(chunk, 'completed'), isFinal(chunk, 'completed')], [true, true])
  assert.deepEqual([isSettled(chunk, 'ready'), isSettled(chunk, 'nowhere')], [false, false])
})

test('an unknown edge is named', () => {
  assert.throws(
    () => edgeNamed(chunk, 'ready', 'complete'),
    (error) => error instanceof SluiceError && error.code === 'invalid' && /complete from ready/.test(error.message),
  )
})

// ---- Claims ----

test('a claim takes the open gate, the due timer and the claim edges in one path', () => {
  const path = (state: string) => {
    const plan = claimPlan(chunk, state)
    return (
      plan && { path: [state, ...plan.hops.map((hop) => hop.to)].join(' '), gated: plan.gated, runs: plan.processor }
    )
  }
  assert.deepEqual(path('gate_waiting'), { path: 'gate_waiting ready queued in_progress', gated: true, runs: 'step' })
  assert.deepEqual(path('poll_waiting'), { path: 'poll_waiting ready queued in_progress', gated: false, runs: 'step' })
  assert.deepEqual(path('ready'), { path: 'ready queued in_progress', gated: false, runs: 'step' })
  assert.deepEqual(path('error'), { path: 'error in_progress', gated: false, runs: 'step' })
  assert.deepEqual(path('in_progress'), { path: 'in_progress', gated: false, runs: 'step' })
  assert.deepEqual([path('completed'), path('failed'), path('nowhere')], [null, null, null])
  assert.deepEqual(claimPlan(chunk, 'error'), {
    hops: [{ transition: 'start', from: 'error', to: 'in_progress' }],
    state: 'in_progress',
    processor: 'step',
    gated: false,
  })
})

test('a gate or a timer is passed at the beginning of a claim only', () => {
  const machine = loosely({
    queue: { from: 'a', to: 'b', on: 'claim' },
    pause: { from: 'b', to: 'c', on: 'time', afterMs: 1 },
    run: { from: 'c', to: 'end', on: 'done' },
  })
  assert.equal(claimPlan(machine, 'a'), null)
  assert.equal(claimPlan(machine, 'b')?.state, 'c')
  assert.equal(claimPlan(machine, 'b')?.processor, null)
})

test('a timer that does more than lead to a claim is the engine’s to judge', () => {
  const timer = { from: 'a', to: 'b', on: 'time', afterMs: 1 } as const
  const run = { from: 'b', to: 'end', on: 'done', processor: 'p' } as const
  const runs = (timers: Readonly<Record<string, TransitionDeclaration>>) =>
    claimPlan(loosely({ ...timers, run }), 'a') !== null
  assert.equal(runs({ timer }), true)
  assert.equal(runs({ timer: { ...timer, when: 'late' } }), false)
  assert.equal(runs({ timer: { ...timer, assign: 'note' } }), false)
  assert.equal(runs({ timer: { ...timer, processor: 'p' } }), false)
  assert.equal(runs({ timer: { ...timer, children: 'rest' } }), false)
  assert.equal(runs({ timer: { ...timer, afterMs: 9 }, sooner: { ...timer, to: 'end', when: 'late' } }), false)
  assert.equal(runs({ timer, close: { from: 'a', to: 'end', on: 'children' } }), false)
})

test('claims that go round run nothing', () => {
  const machine = loosely({ there: { from: 'a', to: 'b', on: 'claim' }, back: { from: 'b', to: 'a', on: 'claim' } })
  assert.equal(claimPlan(machine, 'a'), null)
})

// ---- Labels ----

test('labels are copied from data by position, as text; what is no text or number is null', () => {
  assert.deepEqual(labelsOf(upload, { owner: 'ann', collection: 7, nested: {}, other: 1 }), ['ann', '7', null, null])
  assert.deepEqual(labelsOf(upload, null), [null, null, null, null])
  assert.deepEqual(labelsOf(upload, 'ann'), [null, null, null, null])
  assert.deepEqual(labelsOf(chunk, { owner: 'ann' }), [])
  const odd = loosely({}, { labels: ['constructor', '__proto__'] })
  assert.deepEqual(labelsOf(odd, {}), [null, null])
})

// ---- Digest ----

type Declaration = MachineDeclaration<string, Readonly<Record<string, TransitionDeclaration>>, unknown>

function loosely(transitions: Declaration['transitions'], more: Partial<Declaration> = {}): Machine {
  return defineMachine({
    name: 'loose',
    version: 1,
    initial: ['a'],
    settled: ['end'],
    final: ['end'],
    states: { a: 'A.', b: 'B.', c: 'C.', end: 'End.' },
    transitions,
    ...more,
  })
}

const edges: Declaration['transitions'] = {
  one: { from: 'a', to: 'b', on: 'done', when: 'x', processor: 'p' },
  two: { from: 'a', to: 'end', on: 'done', processor: 'p' },
  wait: { from: 'b', to: 'a', on: 'time', afterMs: 5 },
  stop: { from: ['a', 'b'], to: 'end', on: 'action', purpose: 'Ends it.', warning: 'For good.' },
}
const { one, two, ...others } = edges as { one: TransitionDeclaration; two: TransitionDeclaration }

test('words, limits and the order on the page do not change the digest', () => {
  const { digest } = loosely(edges)
  assert.match(digest, /^[0-9a-f]{64}$/)
  const same: readonly Machine[] = [
    loosely(edges),
    loosely({ ...edges, stop: { ...edges.stop!, purpose: 'Stops it.', warning: 'Really?', role: 'admin' } }),
    loosely({ ...edges, wait: { ...edges.wait!, afterMs: 9 } }),
    loosely(edges, {
      states: { end: { purpose: 'Over.', title: 'END', retentionMs: 5, outcome: 'failure' }, c: 'c', b: 'b', a: 'a' },
    }),
    loosely(edges, { policies: { p: { attemptsMax: 9 } } }),
    loosely({ ...others, one, two }),
  ]
  for (const machine of same) assert.equal(machine.digest, digest)
})

test('whatever running entities depend on changes the digest', () => {
  const different: readonly Machine[] = [
    loosely(edges),
    loosely({ ...edges, go: { from: 'b', to: 'c', on: 'action' } }),
    loosely({ one, two }),
    // Siblings are tried in order.
    loosely({ two, one, ...others }),
    loosely({ ...edges, one: { ...one, to: 'c' } }),
    loosely({ ...edges, one: { ...one, when: 'y' } }),
    loosely({ ...edges, two: { ...two, ensure: 'y' } }),
    loosely({ ...edges, two: { ...two, assign: 'y' } }),
    loosely({ ...edges, two: { ...two, inline: true } }),
    loosely({ ...edges, stop: { ...edges.stop!, children: 'stop' } }),
    loosely({ ...edges, stop: { ...edges.stop!, action: 'halt' } }),
    loosely(edges, { states: { a: '', b: '', c: '', end: '', more: '' } }),
    loosely(edges, { settled: ['c', 'end'] }),
    loosely(edges, { initial: ['a', 'b'] }),
    loosely(edges, { labels: ['owner'] }),
    loosely(edges, { watches: ['x'] }),
    loosely(edges, { respawn: 'stop' }),
    loosely(edges, { parent: 'other' }),
  ]
  assert.equal(new Set(different.map((machine) => machine.digest)).size, different.length)
})

// ---- What the compiler knows ----

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
type Names<M extends Machine> = NonNullable<M['names']>

test('the names that an implementation must bind are part of the type', () => {
  const processors: Same<Names<typeof upload>['processors'], 'readFile'> = true
  const criteria: Same<Names<typeof upload>['criteria'], 'valid' | 'notEmpty' | 'retryable'> = true
  const assigns: Same<Names<typeof upload>['assigns'], 'recordFailure'> = true
  const none: Same<Names<typeof chunk>['criteria'], never> = true
  const step: Same<Names<typeof chunk>['processors'], 'step'> = true
  type Data = typeof upload extends Machine<infer D> ? D : never
  const data: Same<Data, { owner: string; collection: number; nested?: Record<string, never> | undefined }> = true
  assert.ok(processors && criteria && assigns && none && step && data)
})

test('a wrong state name does not compile', () => {
  const words = { name: 'typed', version: 1, final: [], states: { a: 'A.', end: 'End.' } } as const
  const end = { from: 'a', to: 'end', on: 'done' } as const
  // @ts-expect-error: no such initial state.
  defineMachine({ ...words, initial: ['aa'], settled: ['end'], transitions: { end } })
  // @ts-expect-error: no such settled state.
  defineMachine({ ...words, initial: ['a'], settled: ['ends'], transitions: { end } })
  // @ts-expect-error: no such state to go to.
  defineMachine({ ...words, initial: ['a'], settled: ['end'], transitions: { end: { ...end, to: 'ends' } } })
  // @ts-expect-error: no such state to come from.
  defineMachine({ ...words, initial: ['a'], settled: ['end'], transitions: { end: { ...end, from: 'aa' } } })
  // @ts-expect-error: no such state in a list.
  defineMachine({ ...words, initial: ['a'], settled: ['end'], transitions: { end: { ...end, from: ['a', 'b'] } } })
  // @ts-expect-error: no such cause.
  defineMachine({ ...words, initial: ['a'], settled: ['end'], transitions: { end: { ...end, on: 'whim' } } })
  assert.ok(defineMachine({ ...words, initial: ['a'], settled: ['end'], transitions: { end } }))
})

test('a machine with its own types is a Machine', () => {
  const machines: readonly Machine[] = [chunk, upload]
  assert.equal(machines.length, 2)
})
