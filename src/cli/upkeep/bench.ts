import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { SluiceError } from '../../errors.ts'
import { implement } from '../../implementation.ts'
import { openSluice, type Sluice } from '../../index.ts'
import { defineMachine } from '../../machine.ts'
import { done } from '../../outcome.ts'
import { countOf, durationOf } from '../figures.ts'
import type { Host } from '../host.ts'
import { ProgressBar } from '../progress-bar.ts'
import { table } from '../text.ts'

export interface BenchOptions {
  readonly entities: number
  readonly folder?: string
  readonly json?: boolean
}

/** Two processors, one after the other: what the smallest real work looks like. */
const parcel = defineMachine({
  name: 'bench_parcel',
  version: 1,
  initial: ['packed'],
  settled: ['arrived', 'lost'],
  final: ['arrived', 'lost'],
  data: z.object({ number: z.number() }),
  states: {
    packed: 'Waits for a driver.',
    on_the_road: 'Under way.',
    arrived: { purpose: 'Handed over.', outcome: 'success' },
    lost: { purpose: 'Gone.', outcome: 'failure' },
  },
  transitions: {
    load: { from: 'packed', to: 'on_the_road', on: 'done', processor: 'load' },
    drive: { from: 'on_the_road', to: 'arrived', on: 'done', processor: 'drive' },
    lose: { from: ['packed', 'on_the_road'], to: 'lost', on: 'fail' },
  },
})
const implementation = implement(parcel, { processors: { load: () => done(), drive: () => done() } })

const entitiesMax = 1_000_000
const groupMax = 1_000
const singles = 200

interface Figures {
  readonly entities: number
  readonly submittedPerSecond: number
  readonly settledPerSecond: number
  readonly movesPerSecond: number
  /** From submit to settled, one at a time on an idle engine. */
  readonly medianMs: number
  readonly p99Ms: number
  readonly peakRssMiB: number
}

/** A quick figure of this machine and its disk, on a store of its own that is removed afterwards. */
export async function bench({ entities, folder, json }: BenchOptions, host: Host): Promise<number> {
  if (entities < 1 || entities > entitiesMax) {
    throw new SluiceError('invalid', `--entities must be 1 to ${countOf(entitiesMax)}; it was ${countOf(entities)}.`)
  }
  const place = await mkdtemp(join(folder ?? tmpdir(), 'sluice-bench-'))
  try {
    const sluice = await openSluice({ store: join(place, 'bench.db'), implementations: [implementation] })
    try {
      const figures = await measured(sluice, entities, host)
      host.terminal.out(json ? `${JSON.stringify(figures)}\n` : `${linesOf(figures).join('\n')}\n`)
      return 0
    } finally {
      await sluice.stop()
    }
  } finally {
    await rm(place, { recursive: true, force: true })
  }
}

async function measured(sluice: Sluice, entities: number, host: Host): Promise<Figures> {
  const { clock, terminal } = host
  const bar = new ProgressBar(terminal, () => clock.now())
  const latencies = await latenciesOf(sluice, host)
  const startedAt = clock.now()
  for (let from = 0; from < entities; from += groupMax) {
    const size = Math.min(groupMax, entities - from)
    await sluice.submitMany(
      parcel.name,
      Array.from({ length: size }, (_, index) => ({ data: { number: from + index } })),
    )
  }
  const submittedMs = Math.max(1, clock.now() - startedAt)
  const total = entities + singles
  for await (const _change of counted(sluice)) {
    const [lane] = await sluice.totals()
    const settled = (lane?.total ?? 0) - (lane?.open ?? 0)
    bar.show({ phase: 'working', done: settled, total, unit: 'items' })
    if (settled >= total) break
  }
  bar.clear()
  const workedMs = Math.max(1, clock.now() - startedAt)
  return {
    entities,
    submittedPerSecond: Math.round((entities / submittedMs) * 1_000),
    settledPerSecond: Math.round((entities / workedMs) * 1_000),
    movesPerSecond: Math.round(((entities * 2) / workedMs) * 1_000),
    medianMs: latencies[Math.floor(latencies.length / 2)] ?? 0,
    p99Ms: latencies[Math.floor(latencies.length * 0.99)] ?? 0,
    peakRssMiB: host.peakRssMiB(),
  }
}

/** Once at the beginning, for what is done already, then at every change. */
async function* counted(sluice: Sluice): AsyncGenerator<void, void, undefined> {
  const changes = sluice.watch()
  yield
  for await (const _change of changes) yield
}

/** Sorted. */
async function latenciesOf(sluice: Sluice, { clock }: Host): Promise<readonly number[]> {
  const latencies: number[] = []
  for (let number = 0; number < singles; number += 1) {
    const startedAt = clock.now()
    const { id } = await sluice.submit(parcel.name, { number })
    await sluice.settled(id)
    latencies.push(clock.now() - startedAt)
  }
  return latencies.sort((one, other) => one - other)
}

function linesOf(figures: Figures): readonly string[] {
  return [
    `${countOf(figures.entities)} entities of two processors each, on a durable store:`,
    '',
    ...table([
      ['submitted', figures.submittedPerSecond, 'per second'],
      ['settled', figures.settledPerSecond, 'per second, submitting included'],
      ['moves', figures.movesPerSecond, 'per second'],
      ['from submit to settled', durationOf(figures.medianMs), `99 of 100 within ${durationOf(figures.p99Ms)}`],
      ['memory', figures.peakRssMiB, 'MiB at most'],
    ]),
  ]
}
