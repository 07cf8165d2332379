import { defineMachine } from '../../src/machine.ts'

/** A job as long as its data says, and a group of such jobs: for what one process does to another's work. */
export const jobMachine = defineMachine({
  name: 'partner_job',
  version: 1,
  parent: 'partner_group',
  initial: ['waiting'],
  settled: ['completed', 'failed', 'cancelled'],
  final: ['completed', 'failed', 'cancelled'],
  states: {
    waiting: 'May run.',
    running: 'Runs.',
    completed: 'Took its time.',
    failed: 'Was refused.',
    cancelled: 'A person ended it.',
  },
  transitions: {
    start: { from: 'waiting', to: 'running', on: 'claim' },
    finish: { from: 'running', to: 'completed', on: 'done', processor: 'takeTime' },
    fail: { from: 'running', to: 'failed', on: 'fail' },
    cancel: { from: ['waiting', 'running'], to: 'cancelled', on: 'action' },
  },
})

export const groupMachine = defineMachine({
  name: 'partner_group',
  version: 1,
  initial: ['received'],
  settled: ['completed', 'failed', 'cancelled'],
  final: ['completed', 'failed', 'cancelled'],
  states: {
    received: 'Waits to be split.',
    working: 'Its jobs run.',
    completed: 'All jobs are settled.',
    failed: 'Could not be split.',
    cancelled: 'A person ended it, and its jobs with it.',
  },
  transitions: {
    split: { from: 'received', to: 'working', on: 'done', processor: 'split' },
    fail: { from: 'received', to: 'failed', on: 'fail' },
    close: { from: 'working', to: 'completed', on: 'children' },
    cancel: { from: ['received', 'working'], to: 'cancelled', on: 'action', children: 'stop' },
  },
})
