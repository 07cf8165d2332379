import { defineMachine, done, fail, implement } from 'sluice'

/** Machines whose failures have names of their own, and one that calls a success `failed`. */
const letter = defineMachine({
  name: 'letter',
  version: 1,
  initial: ['written'],
  settled: ['delivered', 'rejected', 'expired'],
  final: ['delivered', 'expired'],
  states: {
    written: 'Waits for the postman.',
    delivered: { purpose: 'Read.', outcome: 'success' },
    rejected: { purpose: 'Came back.', outcome: 'failure' },
    expired: 'Too old.',
  },
  transitions: {
    deliver: { from: 'written', to: 'delivered', on: 'done', processor: 'deliver' },
    reject: { from: 'written', to: 'rejected', on: 'fail' },
    expire: { from: ['written', 'rejected'], to: 'expired', on: 'action' },
  },
})

const alarm = defineMachine({
  name: 'alarm',
  version: 1,
  initial: ['armed'],
  settled: ['failed', 'rejected'],
  final: ['failed', 'rejected'],
  states: {
    armed: 'Waits.',
    failed: { purpose: 'The burglar failed.', outcome: 'success' },
    rejected: { purpose: 'Nobody came.', outcome: 'attention' },
  },
  transitions: {
    ring: { from: 'armed', to: 'failed', on: 'done', processor: 'ring' },
    reject: { from: 'armed', to: 'rejected', on: 'fail' },
  },
})

export const implementations = [
  implement(letter, { processors: { deliver: ({ data }) => (data === 'bad' ? fail('unknown address') : done()) } }),
  implement(alarm, { processors: { ring: ({ data }) => (data === 'bad' ? fail('silent') : done()) } }),
]
