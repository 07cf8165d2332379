import { z } from 'zod'
import { defineMachine, done, fail, type Implementation, implement } from '../../src/index.ts'

/** A machine of a user: crates with parcels, of a collection. */
export const parcel = defineMachine({
  name: 'parcel',
  version: 1,
  parent: 'crate',
  initial: ['ready'],
  settled: ['sent', 'lost'],
  final: ['sent'],
  states: { ready: 'Packed.', sent: 'On its way.', lost: 'Gone.' },
  transitions: {
    send: { from: 'ready', to: 'sent', on: 'done', processor: 'send' },
    lose: { from: 'ready', to: 'lost', on: 'fail' },
    search: { from: 'lost', to: 'ready', on: 'action' },
  },
  data: z.strictObject({ to: z.string(), broken: z.boolean().optional() }),
})

export const crate = defineMachine({
  name: 'crate',
  version: 1,
  initial: ['draft', 'packed'],
  settled: ['sent', 'burnt'],
  final: ['burnt'],
  states: {
    draft: 'Somebody is packing.',
    packed: { purpose: 'Ready to go.', title: 'PACKED' },
    going: 'Its parcels are on their way.',
    sent: 'All gone.',
    burnt: 'Burnt.',
  },
  transitions: {
    pack: { from: 'draft', to: 'packed', on: 'action' },
    open: { from: 'packed', to: 'going', on: 'done', processor: 'open' },
    stay: { from: 'packed', to: 'burnt', on: 'fail' },
    arrive: { from: 'going', to: 'sent', on: 'children', when: 'allSettled' },
    reopen: { from: 'sent', to: 'draft', on: 'action', role: 'admin' },
    burn: {
      from: ['draft', 'packed', 'going', 'sent'],
      to: 'burnt',
      on: 'action',
      children: 'stop',
      warning: 'What is burnt does not come back.',
    },
    look: { from: 'draft', to: 'draft', on: 'action', role: 'submitter' },
  },
  data: z.strictObject({
    collection: z.string().nullable().optional(),
    parcels: z.array(z.strictObject({ to: z.string(), broken: z.boolean().optional() })).default([]),
    note: z.unknown().optional(),
  }),
  labels: ['collection'],
})

/** Sends whatever it gets, except what is broken. */
export function depot(): readonly Implementation[] {
  return [
    implement(crate, {
      processors: {
        open: async (context) => {
          await context.spawn(context.data.parcels.map((data) => ({ machine: 'parcel', lane: 'parcels', data })))
          return done()
        },
      },
      criteria: { allSettled: (_entity, { lanes }) => lanes?.every(({ open }) => open === 0) ?? false },
    }),
    implement(parcel, {
      processors: { send: async (context) => (context.data.broken ? fail('broken') : done()) },
    }),
  ]
}
