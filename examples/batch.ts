/**
 * npm start [-- --store FILE --parcels N]: a batch of parcels on the embedded store. Some have no address and fail; the batch closes with
 * a truthful count all the same. Kill it with Ctrl-C and start it again: it goes on where it was.
 */
import { parseArgs } from 'node:util'
import { defineMachine, done, fail, implement, openSluice, retry } from 'sluice'
import { z } from 'zod'

const delivery = defineMachine({
  name: 'delivery',
  version: 1,
  initial: ['packing'],
  settled: ['delivered', 'partly_delivered', 'failed'],
  final: ['delivered', 'partly_delivered', 'failed'],
  data: z.object({ parcels: z.number().int().positive() }),
  states: {
    packing: 'Parcels are being packed.',
    on_the_road: 'Parcels are on their way.',
    delivered: 'All arrived.',
    partly_delivered: 'Some did not arrive.',
    failed: 'Nothing was packed.',
  },
  transitions: {
    pack: { from: 'packing', to: 'on_the_road', on: 'done', processor: 'pack' },
    fail: { from: 'packing', to: 'failed', on: 'fail' },
    close_partly: { from: 'on_the_road', to: 'partly_delivered', on: 'children', when: 'someFailed' },
    close: { from: 'on_the_road', to: 'delivered', on: 'children' },
  },
})

const parcel = defineMachine({
  name: 'parcel',
  version: 1,
  parent: 'delivery',
  initial: ['packed'],
  settled: ['arrived', 'lost'],
  final: ['arrived'],
  data: z.object({ number: z.number(), address: z.string().nullable() }),
  states: { packed: 'Waits for a driver.', arrived: 'Handed over.', lost: 'Could not be delivered.' },
  transitions: {
    drive: { from: 'packed', to: 'arrived', on: 'done', processor: 'drive' },
    lose: { from: 'packed', to: 'lost', on: 'fail' },
    look_again: { from: 'lost', to: 'packed', on: 'action' },
  },
  policies: { drive: { backoff: { firstMs: 20, factor: 2, maxMs: 100, jitter: 0.5 } } },
})

const implementations = [
  implement(delivery, {
    criteria: {
      someFailed: (_delivery, { lanes }) =>
        (lanes ?? []).every((lane) => lane.open === 0) && (lanes ?? []).some((lane) => lane.counts.lost),
    },
    processors: {
      async pack(context) {
        const group = 1_000
        for (let from = (context.cursor as number | null) ?? 0; from < context.data.parcels; from += group) {
          const size = Math.min(group, context.data.parcels - from)
          const numbers = Array.from({ length: size }, (_, index) => from + index)
          await context.spawn(
            numbers.map((number) => ({ machine: 'parcel', data: { number, address: addressOf(number) } })),
          )
          await context.checkpoint(from + size)
        }
      },
    },
  }),
  implement(parcel, {
    processors: {
      drive({ data, attempt }) {
        if (data.address === null) return fail('no address')
        // Every hundredth driver has a flat tyre, once.
        if (data.number % 100 === 50 && attempt === 1) return retry('flat tyre')
        return done()
      },
    },
  }),
]

const { values } = parseArgs({
  options: { store: { type: 'string', default: './sluice.db' }, parcels: { type: 'string', default: '20000' } },
})
const sluice = await openSluice({ store: values.store, implementations })
const { id } = await sluice.submit('delivery', { parcels: Number(values.parcels) })
console.log(`Delivery ${id} of ${values.parcels} parcels, stored in ${values.store}.`)
while (!(await sluice.settled(id, 200))) {
  const { state, percent, ratePerSecond, etaMs } = await sluice.progress(id)
  const rate = ratePerSecond === null ? '' : `, ${Math.round(ratePerSecond).toLocaleString('en')} parcels/s`
  const eta = etaMs === null ? '' : `, ${(etaMs / 1_000).toFixed(1)} s to go`
  console.log(`  ${state}: ${percent.toFixed(0).padStart(3)} %${rate}${eta}`)
}
const { state, counts, reasons } = await sluice.progress(id)
console.log(`It is ${state}:`, counts, 'because of', reasons)
for (const event of await sluice.history(id))
  console.log(`  ${new Date(event.at).toISOString()}  ${event.from ?? '·'} → ${event.to}  (${event.transition})`)
console.log((await sluice.explain(id)).sentence)
await sluice.stop()

function addressOf(number: number): string | null {
  return number % 500 === 499 ? null : `${number} Canal Street`
}
