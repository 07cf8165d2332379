import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertMachine, checkMachine } from './check-machine.ts'
import { SluiceError } from './errors.ts'
import { defineMachine, type Machine, type MachineDeclaration } from './machine.ts'
import { type MachineFaultCode, machineFaultCodes } from './machine-fault.ts'
import type { TransitionDeclaration } from './transition.ts'

// One broken machine for each fault, and more where a rule has several sides.

type Declaration = MachineDeclaration<string, Readonly<Record<string, TransitionDeclaration>>, unknown>

const parcel: Declaration = {
  name: 'parcel',
  version: 1,
  initial: ['ready'],
  settled: ['sent', 'failed'],
  final: ['sent'],
  states: { ready: 'Packed.', sent: 'On its way.', failed: 'Came back.' },
  transitions: {
    send: { from: 'ready', to: 'sent', on: 'done', processor: 'send' },
    fail: { from: 'ready', to: 'failed', on: 'fail' },
    retry: { from: 'failed', to: 'ready', on: 'action' },
  },
}

/** The sound parcel with other words, other states, or other transitions; `undefined` takes a transition away. */
function parcelWith(
  change: Partial<Omit<Declaration, 'states' | 'transitions'>> & {
    readonly states?: Declaration['states']
    readonly transitions?: Readonly<Record<string, TransitionDeclaration | undefined>>
  },
): Machine {
  const transitions = Object.entries({ ...parcel.transitions, ...change.transitions }).filter(([, edge]) => edge)
  return defineMachine({
    ...parcel,
    ...change,
    states: { ...parcel.states, ...change.states },
    transitions: Object.fromEntries(transitions) as Declaration['transitions'],
  })
}

const waiting = (transitions: Readonly<Record<string, TransitionDeclaration>>, more: Partial<Declaration> = {}) =>
  parcelWith({ initial: ['ready', 'waiting'], states: { waiting: 'Not yet.' }, transitions, ...more } as Parameters<
    typeof parcelWith
  >[0])

const policy = (send: NonNullable<Declaration['policies']>[string]) => parcelWith({ policies: { send } })

const broken: Readonly<Record<MachineFaultCode, readonly Machine[]>> = {
  bad_name: [
    parcelWith({ name: 'Parcel' }),
    parcelWith({ name: 'p'.repeat(201) }),
    parcelWith({ parent: 'the Batch' }),
    waiting(
      { go: { from: ['waiting', 'Odd'], to: 'ready', on: 'action' } },
      {
        initial: ['ready', 'waiting', 'Odd'],
        states: { waiting: 'Not yet.', Odd: 'Odd.' },
      },
    ),
    parcelWith({ transitions: { 'mark-failed': { from: 'ready', to: 'failed', on: 'action', action: 'mark' } } }),
    parcelWith({ transitions: { mark: { from: 'ready', to: 'failed', on: 'action', action: 'Mark it' } } }),
    parcelWith({ transitions: { mark: { from: 'ready', to: 'failed', on: 'action', when: '' } } }),
  ],
  bad_version: [parcelWith({ version: 0 }), parcelWith({ version: 1.5 }), parcelWith({ version: Number.NaN })],
  bad_labels: [
    parcelWith({ labels: ['a', 'b', 'c', 'd', 'e'] }),
    parcelWith({ labels: ['owner', 'owner'] }),
    parcelWith({ labels: [''] }),
    parcelWith({ labels: [4 as never] }),
  ],
  bad_retention: [
    parcelWith({ states: { ready: { purpose: 'Packed.', retentionMs: 1 } } }),
    parcelWith({ states: { sent: { purpose: 'Sent.', retentionMs: -1 } } }),
  ],
  bad_outcome: [
    parcelWith({ states: { ready: { purpose: 'Packed.', outcome: 'success' } } }),
    parcelWith({ states: { ready: { purpose: 'Packed.', outcome: 'failure' } } }),
  ],
  bad_policy: [
    policy({ attemptsMax: 0 }),
    policy({ timeoutMs: 0 }),
    policy({ timeoutMs: Number.POSITIVE_INFINITY }),
    policy({ backoff: { firstMs: -1, factor: 2, maxMs: 1, jitter: 0 } }),
    policy({ backoff: { firstMs: 1, factor: Number.NaN, maxMs: 1, jitter: 0 } }),
    policy({ backoff: { firstMs: 1, factor: 2, maxMs: -1, jitter: 0 } }),
    policy({ backoff: { firstMs: 1, factor: 2, maxMs: 1, jitter: 1.5 } }),
    policy({ concurrency: 0 }),
    policy({ concurrencyPer: { label: 'owner', max: 1 } }),
    policy({ parallel: 0 }),
    policy({ role: '' }),
  ],
  unknown_purpose: [parcelWith({ purposes: { sned: 'Sends it.' } })],
  unknown_processor: [parcelWith({ policies: { sned: { attemptsMax: 2 } } })],
  no_initial: [parcelWith({ initial: [] })],
  no_settled: [parcelWith({ settled: [], final: [] })],
  unknown_state: [
    parcelWith({ initial: ['raedy'] }),
    parcelWith({ settled: ['sent', 'failed', 'constructor'] }),
    parcelWith({ transitions: { send: { from: 'ready', to: 'snet', on: 'done', processor: 'send' } } }),
    parcelWith({ transitions: { mark: { from: 'raedy', to: 'sent', on: 'action' } } }),
  ],
  unknown_cause: [parcelWith({ transitions: { mark: { from: 'ready', to: 'failed', on: 'whim' as never } } })],
  duplicate_edge: [
    parcelWith({ transitions: { mark: { from: ['ready', 'ready'], to: 'failed', on: 'action', when: 'late' } } }),
  ],
  final_not_settled: [parcelWith({ settled: ['failed'] })],
  final_left: [parcelWith({ transitions: { resend: { from: 'sent', to: 'ready', on: 'action' } } })],
  settled_left: [
    parcelWith({ transitions: { wake: { from: 'failed', to: 'ready', on: 'time', afterMs: 1 } } }),
    parcelWith({
      transitions: {
        mend: { from: 'failed', to: 'ready', on: 'action', processor: 'mend' },
        give_up: { from: 'failed', to: 'sent', on: 'fail' },
      },
    }),
  ],
  unreachable: [waiting({ go: { from: 'waiting', to: 'ready', on: 'action' } }, { initial: ['ready'] })],
  no_way_out: [waiting({})],
  two_waits: [
    parcelWith({ transitions: { expire: { from: 'ready', to: 'failed', on: 'time', afterMs: 1 } } }),
    parcelWith({ transitions: { close: { from: 'ready', to: 'failed', on: 'children' } } }),
    waiting({
      queue: { from: 'waiting', to: 'ready', on: 'claim' },
      close: { from: 'waiting', to: 'failed', on: 'children' },
    }),
    waiting({
      hurry: { from: 'waiting', to: 'sent', on: 'done', when: 'urgent' },
      queue: { from: 'waiting', to: 'ready', on: 'claim' },
      drop: { from: 'waiting', to: 'failed', on: 'action' },
    }),
  ],
  mixed_processors: [
    parcelWith({
      transitions: {
        send: { from: 'ready', to: 'sent', on: 'done', processor: 'send', when: 'light' },
        ship: { from: 'ready', to: 'sent', on: 'done', processor: 'ship' },
      },
    }),
  ],
  no_fail: [
    parcelWith({ initial: ['ready', 'failed'], transitions: { fail: undefined } }),
    parcelWith({ transitions: { retry: { from: 'failed', to: 'ready', on: 'action', processor: 'mend' } } }),
    waiting({ close: { from: 'waiting', to: 'sent', on: 'children', processor: 'count' } }),
    waiting({ close: { from: 'waiting', to: 'sent', on: 'time', afterMs: 1, processor: 'count' } }),
    waiting({ close: { from: 'waiting', to: 'sent', on: 'action', processor: 'count' } }),
    waiting({
      send: { from: 'ready', to: 'waiting', on: 'done', processor: 'send' },
      close: { from: 'waiting', to: 'sent', on: 'done', ensure: 'allSent', inline: true },
    }),
  ],
  not_total: [
    waiting({ close: { from: 'waiting', to: 'sent', on: 'children', when: 'allSent' } }),
    waiting({ close: { from: 'waiting', to: 'sent', on: 'time', afterMs: 1, when: 'allSent' } }),
    parcelWith({ transitions: { send: { from: 'ready', to: 'sent', on: 'done', processor: 'send', when: 'light' } } }),
    parcelWith({ transitions: { fail: { from: 'ready', to: 'failed', on: 'fail', when: 'late' } } }),
  ],
  shadowed: [
    parcelWith({
      transitions: { ship: { from: 'ready', to: 'failed', on: 'done', processor: 'send', when: 'heavy' } },
    }),
    parcelWith({
      transitions: { mend: { from: 'failed', to: 'ready', on: 'action', action: 'retry', when: 'mendable' } },
    }),
    waiting({
      go: { from: 'waiting', to: 'ready', on: 'claim' },
      go_too: { from: 'waiting', to: 'ready', on: 'claim' },
    }),
    waiting({
      remind: { from: 'waiting', to: 'ready', on: 'time', afterMs: 9, when: 'late' },
      expire: { from: 'waiting', to: 'failed', on: 'time', afterMs: 3 },
    }),
  ],
  free_cycle: [
    waiting({
      turn: { from: 'waiting', to: 'waiting', on: 'time', afterMs: 1 },
      go: { from: 'waiting', to: 'ready', on: 'action' },
    }),
    waiting(
      {
        there: { from: 'waiting', to: 'resting', on: 'done', inline: true },
        back: { from: 'resting', to: 'waiting', on: 'children' },
        go: { from: 'resting', to: 'ready', on: 'action' },
      },
      { states: { waiting: 'Not yet.', resting: 'Nor yet.' } },
    ),
  ],
  not_bare: [
    waiting({ queue: { from: 'waiting', to: 'ready', on: 'claim', when: 'light' } }),
    waiting({ queue: { from: 'waiting', to: 'ready', on: 'claim', ensure: 'light' } }),
    waiting({ queue: { from: 'waiting', to: 'ready', on: 'claim', processor: 'send' } }),
    waiting({ queue: { from: 'waiting', to: 'ready', on: 'gate', assign: 'note' } }, { parent: 'batch' }),
    waiting({ queue: { from: 'waiting', to: 'ready', on: 'gate', children: 'go' } }, { parent: 'batch' }),
  ],
  no_opener: [waiting({ open_gate: { from: 'waiting', to: 'ready', on: 'gate' } })],
  claim_without_run: [
    waiting(
      { queue: { from: 'waiting', to: 'resting', on: 'claim' }, go: { from: 'resting', to: 'ready', on: 'action' } },
      { states: { waiting: 'Not yet.', resting: 'Nor yet.' } },
    ),
  ],
  processor_on_outcome: [
    parcelWith({ transitions: { fail: { from: 'ready', to: 'failed', on: 'fail', processor: 'mop' } } }),
  ],
  outcome_without_processor: [
    waiting({
      go: { from: 'waiting', to: 'ready', on: 'action' },
      again: { from: 'waiting', to: 'ready', on: 'retry' },
    }),
    waiting({
      go: { from: 'waiting', to: 'ready', on: 'action' },
      lose: { from: 'waiting', to: 'failed', on: 'fail' },
    }),
  ],
  outcome_without_run: [
    waiting({
      again: { from: 'ready', to: 'waiting', on: 'poll' },
      go: { from: 'waiting', to: 'ready', on: 'action' },
    }),
  ],
  ensure_without_processor: [
    parcelWith({ transitions: { retry: { from: 'failed', to: 'ready', on: 'action', ensure: 'mendable' } } }),
  ],
  after_missing: [
    waiting({
      pause: { from: 'ready', to: 'waiting', on: 'action' },
      go: { from: 'waiting', to: 'ready', on: 'time' },
    }),
    waiting({ expire: { from: 'waiting', to: 'failed', on: 'time' } }),
  ],
  bad_after: [
    waiting({ go: { from: 'waiting', to: 'ready', on: 'time', afterMs: -1 } }),
    waiting({ go: { from: 'waiting', to: 'ready', on: 'time', afterMs: Number.POSITIVE_INFINITY } }),
    parcelWith({ transitions: { retry: { from: 'failed', to: 'ready', on: 'action', afterMs: 5 } } }),
  ],
  bad_children: [
    parcelWith({ transitions: { retry: { from: 'failed', to: 'ready', on: 'action', children: 'dance' as never } } }),
  ],
  bad_respawn: [
    parcelWith({ respawn: 'reopen' }),
    parcelWith({ respawn: 'send' }),
    parcelWith({ transitions: { mark: { from: 'ready', to: 'failed', on: 'action' } }, respawn: 'mark' }),
  ],
}

test('the parcel that is broken below is sound by itself', () => assert.deepEqual(checkMachine(parcelWith({})), []))

for (const code of machineFaultCodes) {
  test(`${code} is found, alone, and said in one sentence`, () => {
    for (const machine of broken[code]) {
      const faults = checkMachine(machine)
      assert.deepEqual(
        faults.map((fault) => fault.code),
        [code],
        faults.map((fault) => fault.message).join('\n'),
      )
      const { message, state, edge } = faults[0]!
      assert.match(message, /^In machine [^\n]+\.$/)
      assert.match(message, /expected|needs/)
      assert.match(message, /;/, 'says what to do')
      assert.doesNotMatch(message, /\. |undefined|,,/)
      for (const named of [machine.name, state, edge])
        if (named !== undefined) assert.ok(message.includes(named), message)
    }
  })
}

test('what looks like a fault and is none', () => {
  const sound: readonly Machine[] = [
    // What remains when no `when` holds is waited for: there is no run that would need a due time of its own.
    waiting({
      go: { from: 'waiting', to: 'ready', on: 'done', when: 'light' },
      expire: { from: 'waiting', to: 'failed', on: 'time', afterMs: 1 },
    }),
    // The longer timer is declared first, and the shorter one still goes off before it.
    waiting({
      expire: { from: 'waiting', to: 'failed', on: 'time', afterMs: 9 },
      remind: { from: 'waiting', to: 'ready', on: 'time', afterMs: 3, when: 'late' },
    }),
    // Without an edge that holds, retry keeps the state.
    parcelWith({ transitions: { again: { from: 'ready', to: 'ready', on: 'retry', when: 'late' } } }),
    // A circle in which something changes ends by itself, or is the author's intent.
    waiting({
      turn: { from: 'waiting', to: 'waiting', on: 'time', afterMs: 1, assign: 'count' },
      go: { from: 'waiting', to: 'ready', on: 'action' },
    }),
    waiting({
      close: { from: 'waiting', to: 'sent', on: 'children', when: 'allSent' },
      expire: { from: 'waiting', to: 'failed', on: 'time', afterMs: 1 },
    }),
    parcelWith({ respawn: 'retry' }),
  ]
  for (const machine of sound) assert.deepEqual(checkMachine(machine), [])
})

test('the limit of names is the one that is passed', () => {
  assert.deepEqual(checkMachine(parcelWith({}), { nameMax: 6 }), [])
  assert.equal(checkMachine(parcelWith({}), { nameMax: 5 })[0]?.code, 'bad_name')
})

test('assertMachine throws one error with every fault, a line each', () => {
  const machine = parcelWith({
    version: 0,
    labels: [''],
    transitions: { resend: { from: 'sent', to: 'ready', on: 'action' } },
  })
  assert.throws(
    () => assertMachine(machine),
    (error) => {
      assert.ok(error instanceof SluiceError)
      assert.equal(error.code, 'invalid')
      assert.equal(error.message.split('\n').length, 3)
      assert.deepEqual(error.detail.faults, checkMachine(machine))
      return true
    },
  )
})
