import { defineMachine } from 'sluice'
import { z } from 'zod'

/** The batch: it packs parcels, waits for all of them, and says truthfully how it ended. */
export const delivery = defineMachine({
  name: 'delivery',
  version: 1,
  initial: ['packing'],
  settled: ['delivered', 'partly_delivered', 'failed'],
  final: ['delivered', 'partly_delivered', 'failed'],
  data: z.object({ parcels: z.number().int().positive() }),
  title: '{parcels} parcels',
  states: {
    packing: 'Parcels are being packed.',
    on_the_road: 'Parcels are on their way.',
    delivered: { purpose: 'All arrived.', outcome: 'success' },
    partly_delivered: { purpose: 'Some did not arrive.', outcome: 'attention' },
    failed: { purpose: 'Nothing was packed.', outcome: 'failure' },
  },
  transitions: {
    pack: { from: 'packing', to: 'on_the_road', on: 'done', processor: 'pack' },
    fail: { from: 'packing', to: 'failed', on: 'fail' },
    close_partly: { from: 'on_the_road', to: 'partly_delivered', on: 'children', when: 'someFailed' },
    close: { from: 'on_the_road', to: 'delivered', on: 'children' },
  },
})

export const parcel = defineMachine({
  name: 'parcel',
  version: 1,
  parent: 'delivery',
  initial: ['packed'],
  settled: ['arrived', 'lost'],
  final: ['arrived'],
  data: z.object({ number: z.number(), address: z.string().nullable() }),
  title: 'parcel {number}',
  states: {
    packed: 'Waits for a driver.',
    arrived: { purpose: 'Handed over.', outcome: 'success' },
    lost: { purpose: 'Could not be delivered.', outcome: 'failure' },
  },
  transitions: {
    drive: { from: 'packed', to: 'arrived', on: 'done', processor: 'drive' },
    lose: { from: 'packed', to: 'lost', on: 'fail' },
    look_again: { from: 'lost', to: 'packed', on: 'action' },
  },
  policies: { drive: { backoff: { firstMs: 20, factor: 2, maxMs: 100, jitter: 0.5 } } },
})
