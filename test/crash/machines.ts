import { defineMachine } from '../../src/machine.ts'

/** Chance decides when a process dies, so attempts must not run out for whoever was held at the wrong moment. */
const patient = { attemptsMax: 1_000, backoff: { firstMs: 10, factor: 1, maxMs: 10, jitter: 0.5 } }

/** One processor, one hop. What its data says decides how it goes: at once, at the second attempt, after polls, never. */
export const itemMachine = defineMachine({
  name: 'crash_item',
  version: 1,
  initial: ['ready'],
  settled: ['completed', 'failed'],
  final: ['completed', 'failed'],
  states: { ready: 'May run.', completed: 'Worked.', failed: 'Refused.' },
  transitions: {
    work: { from: 'ready', to: 'completed', on: 'done', processor: 'work' },
    fail: { from: 'ready', to: 'failed', on: 'fail' },
  },
  policies: { work: { ...patient, concurrency: 40 } },
})

/** Throws whenever it runs: its attempts run out. */
export const doomedMachine = defineMachine({
  name: 'crash_doomed',
  version: 1,
  initial: ['ready'],
  settled: ['completed', 'failed'],
  final: ['completed', 'failed'],
  states: { ready: 'May run.', completed: 'Never reached.', failed: 'All attempts spent.' },
  transitions: {
    work: { from: 'ready', to: 'completed', on: 'done', processor: 'throwAlways' },
    fail: { from: 'ready', to: 'failed', on: 'fail' },
  },
  policies: { throwAlways: { ...patient, attemptsMax: 3 } },
})

/** Several states under one lease: a claim with a hop, an inline edge, and a lease that is kept. */
export const routeMachine = defineMachine({
  name: 'crash_route',
  version: 1,
  initial: ['queued'],
  settled: ['completed', 'failed'],
  final: ['completed', 'failed'],
  states: {
    queued: 'Waits.',
    loading: 'Is read.',
    checking: 'Is checked, in memory.',
    storing: 'Is written.',
    completed: 'All three were done.',
    failed: 'One of them failed for good.',
  },
  transitions: {
    start: { from: 'queued', to: 'loading', on: 'claim' },
    load: { from: 'loading', to: 'checking', on: 'done', processor: 'load' },
    check: { from: 'checking', to: 'storing', on: 'done', processor: 'check', inline: true },
    store: { from: 'storing', to: 'completed', on: 'done', processor: 'store' },
    fail: { from: ['loading', 'checking', 'storing'], to: 'failed', on: 'fail' },
  },
  policies: { load: patient, check: patient, store: patient },
})

/** Fans out in checkpoints, opens the gate of its second lane when the first is through, closes over both, and reports. */
export const batchMachine = defineMachine({
  name: 'crash_batch',
  version: 1,
  initial: ['received'],
  settled: ['completed', 'failed', 'cancelled'],
  final: ['failed', 'cancelled'],
  states: {
    received: 'Waits to be split.',
    first: 'The first lane works.',
    second: 'The second lane works.',
    reporting: 'Every piece is settled.',
    completed: 'Reported.',
    failed: 'Could not be split or reported.',
    cancelled: 'A person ended it.',
  },
  transitions: {
    split: { from: 'received', to: 'first', on: 'done', processor: 'split' },
    open: { from: 'first', to: 'second', on: 'children', when: 'firstSettled', assign: 'openSecond' },
    close: { from: 'second', to: 'reporting', on: 'children' },
    report: { from: 'reporting', to: 'completed', on: 'done', processor: 'report' },
    fail: { from: ['received', 'reporting'], to: 'failed', on: 'fail' },
    cancel: { from: ['received', 'first', 'second', 'reporting'], to: 'cancelled', on: 'action', children: 'stop' },
    again: { from: 'completed', to: 'received', on: 'action', assign: 'shutSecond' },
  },
  policies: { split: patient, report: patient },
})

export const pieceMachine = defineMachine({
  name: 'crash_piece',
  version: 1,
  parent: 'crash_batch',
  initial: ['ready', 'gated'],
  settled: ['completed', 'failed'],
  final: ['failed'],
  respawn: 'rerun',
  states: {
    ready: 'May run.',
    gated: 'Its lane is not open yet.',
    running: 'Runs.',
    completed: 'Worked.',
    failed: 'Refused.',
  },
  transitions: {
    open: { from: 'gated', to: 'ready', on: 'gate' },
    start: { from: 'ready', to: 'running', on: 'claim' },
    finish: { from: 'running', to: 'completed', on: 'done', processor: 'finish' },
    fail: { from: 'running', to: 'failed', on: 'fail' },
    rerun: { from: 'completed', to: 'ready', on: 'action' },
  },
  policies: { finish: patient },
})

/** A small tree that retention removes as soon as it is done. */
export const briefMachine = defineMachine({
  name: 'crash_brief',
  version: 1,
  initial: ['received'],
  settled: ['completed', 'failed'],
  final: ['completed', 'failed'],
  states: {
    received: 'Waits to be split.',
    working: 'Its parts work.',
    completed: { purpose: 'Goes soon.', retentionMs: 20 },
    failed: 'Could not be split.',
  },
  transitions: {
    split: { from: 'received', to: 'working', on: 'done', processor: 'splitBrief' },
    close: { from: 'working', to: 'completed', on: 'children' },
    fail: { from: 'received', to: 'failed', on: 'fail' },
  },
  policies: { splitBrief: patient },
})

export const partMachine = defineMachine({
  name: 'crash_part',
  version: 1,
  parent: 'crash_brief',
  initial: ['ready'],
  settled: ['completed', 'failed'],
  final: ['completed', 'failed'],
  states: { ready: 'May run.', completed: 'Worked.', failed: 'Refused.' },
  transitions: {
    finish: { from: 'ready', to: 'completed', on: 'done', processor: 'finishPart' },
    fail: { from: 'ready', to: 'failed', on: 'fail' },
  },
  policies: { finishPart: patient },
})

export const crashMachines = [
  itemMachine,
  doomedMachine,
  routeMachine,
  batchMachine,
  pieceMachine,
  briefMachine,
  partMachine,
] as const
