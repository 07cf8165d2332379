import { defineMachine } from 'sluice'
import { chunkData } from './chunk-data.ts'

/** The life of one chunk. A claim takes open_gate, poll_again, queue and start in one write, as far as they apply. */
export const chunkedChunk = defineMachine({
  name: 'chunked_chunk',
  version: 1,
  initial: ['ready', 'gate_waiting', 'poll_waiting'],
  settled: ['completed', 'failed'],
  final: ['completed'],
  parent: 'chunked_job',
  respawn: 'rerun',
  data: chunkData,
  labels: ['limit', 'warned'],
  states: {
    ready: { title: 'READY', purpose: 'May be queued.' },
    gate_waiting: { title: 'GATE_WAITING', purpose: 'Its step is gated, and a step before it is not complete.' },
    poll_waiting: { title: 'POLL_WAITING', purpose: 'Is looked at again at its nextPollTimestamp.' },
    queued: { title: 'QUEUED', purpose: 'Handed to a worker.' },
    in_progress: { title: 'IN_PROGRESS', purpose: 'Its step runs.' },
    error: { title: 'ERROR', outcome: 'attention', purpose: 'An attempt ended in an error; it is tried again.' },
    completed: { title: 'COMPLETED', outcome: 'success', purpose: 'Its step is done, and what it gave out exists.' },
    failed: { title: 'FAILED', outcome: 'failure', purpose: 'Unrecoverable, or too many errors.' },
  },
  transitions: {
    open_gate: { from: 'gate_waiting', to: 'ready', on: 'gate', purpose: 'On prior step completion' },
    poll_again: { from: 'poll_waiting', to: 'ready', on: 'time', purpose: 'On time expired' },
    queue: { from: 'ready', to: 'queued', on: 'claim', purpose: 'Handed to a worker' },
    start: { from: ['queued', 'error'], to: 'in_progress', on: 'claim', purpose: 'Start execution' },
    complete: { from: 'in_progress', to: 'completed', on: 'done', processor: 'step', purpose: 'Success' },
    try_again: {
      from: 'in_progress',
      to: 'error',
      on: 'retry',
      assign: 'recordError',
      purpose: 'On retriable error',
    },
    poll_later: { from: 'in_progress', to: 'poll_waiting', on: 'poll', purpose: 'On poll retry' },
    fail: {
      from: 'in_progress',
      to: 'failed',
      on: 'fail',
      assign: 'recordFailure',
      purpose: 'On unrecoverable or too many errors',
    },
    rerun_gated: {
      from: 'failed',
      to: 'gate_waiting',
      on: 'action',
      action: 'rerun',
      when: ['MayBeRerun', 'IsGated'],
      assign: 'forgetFailure',
      purpose: 'Try a failed chunk of a gated step again, when the steps before it are complete again',
    },
    rerun: {
      from: 'failed',
      to: 'ready',
      on: 'action',
      when: 'MayBeRerun',
      assign: 'forgetFailure',
      purpose: 'Try a failed chunk again, with its job',
    },
  },
  purposes: {
    step: 'Run the step that the chunk is for, or the reducer',
    recordError: 'Count the error and keep its message',
    recordFailure: 'Count the error and keep why it failed',
    forgetFailure: 'Begin anew, with the errors so far counted',
    IsGated: 'Its step is gated',
    MayBeRerun: 'Only its job runs a chunk again; a reducer when all chunks before it are complete',
  },
  policies: {
    // How many run at once over all processes is a step's own affair.
    step: { parallel: 100, timeoutMs: 60 * 60_000, concurrencyPer: { label: 'limit', max: 1_000_000 } },
  },
})
