/**
 * npm run demo [-- --store FILE --parcels N]: a batch of parcels on the embedded store. Some have no address and fail; the batch closes with
 * a truthful count all the same. Kill it in the middle and start it again: the old delivery is finished, and a new one begins.
 */
import { parseArgs } from 'node:util'
import { done, errorStatus, fail, implement, isSluiceError, messageOf, openSluice, retry, type Sluice } from 'sluice'
import { delivery, parcel } from './machines.ts'

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

try {
  await run()
} catch (error) {
  // Whoever mistyped an option, or named a file that cannot be opened, reads one sentence and no stack trace.
  console.error(messageOf(error))
  process.exitCode = isSluiceError(error) ? errorStatus[error.code].exit : 2
}

async function run(): Promise<void> {
  const { values } = parseArgs({
    options: { store: { type: 'string', default: './sluice.db' }, parcels: { type: 'string', default: '20000' } },
  })
  const sluice = await openSluice({ store: values.store, implementations })
  try {
    await deliver(sluice, Number(values.parcels), values.store)
  } finally {
    await sluice.stop()
  }
}

async function deliver(sluice: Sluice, parcels: number, file: string): Promise<void> {
  const { id } = await sluice.submit('delivery', { parcels })
  console.log(`Delivery ${id} of ${parcels} parcels, stored in ${file}.`)
  while (!(await sluice.settled(id, 200))) {
    const { state, percent, ratePerSecond, etaMs } = await sluice.progress(id)
    const rate = ratePerSecond === null ? '' : `, ${Math.round(ratePerSecond).toLocaleString('en')} parcels/s`
    const eta = etaMs === null ? '' : `, ${(etaMs / 1_000).toFixed(1)} s to go`
    console.log(`  ${state}: ${percent.toFixed(0).padStart(3)} %${rate}${eta}`)
  }
  const { state, counts, reasons } = await sluice.progress(id)
  console.log(`It is ${state}:`, counts, 'because of', reasons)
  for (const { at, from, to, transition } of await sluice.history(id)) {
    console.log(`  ${new Date(at).toISOString()}  ${from ?? '·'} → ${to}  (${transition})`)
  }
  console.log((await sluice.explain(id)).sentence)
}

function addressOf(number: number): string | null {
  return number % 500 === 499 ? null : `${number} Canal Street`
}
