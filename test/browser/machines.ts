import { defineMachine, done, fail, implement } from 'sluice'
import { z } from 'zod'

/** Written by hand, sent by an action, and then delivered or lost; a person may write it off on the very same arrow. */
const letter = defineMachine({
  name: 'letter',
  version: 1,
  data: z.object({ address: z.string().nullable() }),
  initial: ['written', 'sent'],
  settled: ['delivered', 'lost'],
  final: ['delivered'],
  states: {
    written: { purpose: 'Waits for somebody to send it.', outcome: 'neutral' },
    sent: 'On its way.',
    delivered: { purpose: 'Read.', outcome: 'success' },
    lost: { purpose: 'Gone.', outcome: 'failure' },
  },
  transitions: {
    send: { from: 'written', to: 'sent', on: 'action' },
    deliver: { from: 'sent', to: 'delivered', on: 'done', processor: 'carry' },
    write_off: { from: 'sent', to: 'lost', on: 'action' },
    lose: { from: 'sent', to: 'lost', on: 'fail' },
    search_again: { from: 'lost', to: 'sent', on: 'action' },
  },
})

export const implementations = [
  implement(letter, {
    processors: { carry: ({ data }) => (data.address === null ? fail('no address') : done()) },
    criteria: {},
    assigns: {},
  }),
]
