import { setTimeout as pause } from 'node:timers/promises'
import { pino } from 'pino'
import { z } from 'zod'
import type { Detail } from '../../src/control.ts'
import type { EntityId } from '../../src/entity.ts'
import { type Context, type Implementation, implement } from '../../src/implementation.ts'
import { openSluice, type Sluice } from '../../src/index.ts'
import { defineMachine } from '../../src/machine.ts'
import { done, fail, retry } from '../../src/outcome.ts'
import type { Store } from '../../src/store.ts'

/** How long the story may take on a busy machine: only a test that fails waits for it. */
const patienceMs = 30_000
/** Long enough that it is still waited for when the store is moved; afterwards nobody wants to wait. */
const lateMs = { before: 5_000, afterwards: 50 } as const
const hasty = { leaseMs: 2_000, renewMs: 400, pollMs: 50, drainMs: 50 }

const crate = defineMachine({
  name: 'crate',
  version: 1,
  parent: 'freight',
  initial: ['ready', 'gate_waiting'],
  settled: ['stowed', 'broken'],
  final: ['stowed', 'broken'],
  states: {
    gate_waiting: 'The step before is not through.',
    ready: 'Stands on the quay.',
    weighed: 'Has its room.',
    stowed: 'Is on board.',
    broken: 'Fell.',
  },
  transitions: {
    open_gate: { from: 'gate_waiting', to: 'ready', on: 'gate' },
    weigh: { from: 'ready', to: 'weighed', on: 'done', processor: 'weigh', assign: 'take' },
    stow: { from: 'weighed', to: 'stowed', on: 'done', processor: 'stow', assign: 'give' },
    fail: { from: ['ready', 'weighed'], to: 'broken', on: 'fail', assign: 'give' },
  },
  data: z.object({ luck: z.enum(['good', 'bad', 'late', 'held']), size: z.number() }),
  labels: ['luck'],
  policies: { weigh: { concurrency: 3 }, stow: { attemptsMax: 4 } },
})

const freight = defineMachine({
  name: 'freight',
  version: 1,
  initial: ['loading'],
  settled: ['arrived', 'inspected', 'lost'],
  final: ['inspected', 'lost'],
  states: {
    loading: 'Makes its crates.',
    sailing: 'Its crates are stowed, step by step.',
    arrived: 'All are on board.',
    inspected: 'Somebody has looked.',
    lost: 'Never left.',
  },
  transitions: {
    load: { from: 'loading', to: 'sailing', on: 'done', processor: 'load' },
    advance: { from: 'sailing', to: 'sailing', on: 'children', when: 'hasNext', assign: 'openNext' },
    arrive: { from: 'sailing', to: 'arrived', on: 'children' },
    inspect: { from: 'arrived', to: 'inspected', on: 'action', processor: 'inspect' },
    refuse: { from: 'arrived', to: 'arrived', on: 'fail' },
    fail: { from: 'loading', to: 'lost', on: 'fail' },
  },
  data: z.object({ crates: z.number(), isSlow: z.boolean(), step: z.number() }),
})

/** Is removed as soon as it has ended. */
const flotsam = defineMachine({
  name: 'flotsam',
  version: 1,
  initial: ['adrift'],
  settled: ['ashore', 'sunk'],
  final: ['ashore', 'sunk'],
  states: { adrift: 'Floats.', ashore: { purpose: 'Found.', retentionMs: 1 }, sunk: 'Gone.' },
  transitions: {
    find: { from: 'adrift', to: 'ashore', on: 'done', processor: 'find' },
    sink: { from: 'adrift', to: 'sunk', on: 'fail' },
  },
})

const lucks = ['good', 'bad', 'good', 'late', 'good', 'held', 'good'] as const
const cratesByCheckpoint = 5

/** Slow ones halt behind their first checkpoint, for as long as they are let. */
interface Harbour {
  readonly isHalted: boolean
  checkpoints: number
}

function implementations(harbour: Harbour): readonly Implementation[] {
  return [
    implement(crate, {
      assigns: {
        take: ({ data }) => ({ takes: [{ pool: 'hold', amount: data.size, ceiling: 6 }] }),
        give: () => ({ gives: ['hold'] }),
      },
      processors: {
        weigh: ({ data }) => (data.luck === 'bad' ? fail('the rope tore') : done()),
        stow: ({ data, attempt }) =>
          data.luck === 'late' && attempt === 1
            ? retry('the tide is out', harbour.isHalted ? lateMs.before : lateMs.afterwards)
            : done(undefined, { crates: 1 }),
      },
    }),
    implement(freight, {
      criteria: {
        hasNext: ({ data }, { lanes }) =>
          data.step === 0 && (lanes ?? []).every(({ name, open }) => name !== 'step 0' || open === 0),
      },
      assigns: { openNext: ({ data }) => ({ data: { ...data, step: 1 }, open: ['step 1'] }) },
      processors: { load: (context) => load(context, harbour), inspect: () => done() },
    }),
    implement(flotsam, { processors: { find: () => done() } }),
  ]
}

async function load(
  context: Context<{ crates: number; isSlow: boolean; step: number }>,
  harbour: Harbour,
): Promise<void> {
  const { crates, isSlow } = context.data
  for (let ordinal = (context.cursor as number | null) ?? 0; ordinal < crates; ordinal += 1) {
    const data = { luck: lucks[ordinal % lucks.length]!, size: 1 + (ordinal % 3) }
    const isFirst = ordinal < crates / 2
    await context.spawn({
      ...{ machine: 'crate', data, lane: isFirst ? 'step 0' : 'step 1' },
      ...(isFirst ? {} : { state: 'gate_waiting' }),
    })
    if ((ordinal + 1) % cratesByCheckpoint !== 0) continue
    await context.checkpoint(ordinal + 1)
    if (!isSlow) continue
    harbour.checkpoints += 1
    if (harbour.isHalted) await new Promise((resolve) => context.signal.addEventListener('abort', resolve))
  }
}

const silent = pino({ level: 'silent' })

function open(store: Store, harbour: Harbour): Promise<Sluice> {
  return openSluice({ store, implementations: implementations(harbour), limits: hasty, log: silent })
}

/** Brings a store to where everything is half-way, and ends in order. */
export async function setOut(store: Store): Promise<void> {
  const harbour: Harbour = { isHalted: true, checkpoints: 0 }
  const sluice = await open(store, harbour)
  try {
    await sluice.hold({ label: { name: 'luck', value: 'held' } }, { reason: 'audit', owner: 'olga' })
    const past = await sluice.hold({ machine: 'crate', state: 'weighed' }, { reason: 'nothing', owner: 'otto' })
    await sluice.release(past.id)
    const { id: gone } = await sluice.submit('flotsam', null, { key: 'gone' })
    const { id: early } = await sluice.submit('freight', { crates: 0, isSlow: false, step: 1 }, { key: 'early' })
    await until(async () => (await sluice.get(gone)).purged && (await sluice.get(early)).state === 'arrived')
    // Asked for, and held: it runs when somebody lifts the hold.
    await sluice.hold({ machine: 'freight', state: 'arrived' }, { reason: 'customs', owner: 'olga' })
    await sluice.act(early, 'inspect', { actor: 'ada', reason: 'routine', input: { seals: 3 } })
    await sluice.submit('freight', { crates: 12, isSlow: true, step: 0 }, { key: 'slow' })
    const { id: half } = await sluice.submit('freight', { crates: 28, isSlow: false, step: 0 }, { key: 'half' })
    await until(async () => {
      const { entities } = await sluice.list({ parent: half, lane: 'step 0' })
      const waiting = entities.filter(
        ({ attempts, owner, wait }) => attempts > 0 && owner === null && wait.for === 'run',
      )
      const isBusy = entities.some(
        ({ settled, data, attempts }) => !settled && attempts === 0 && luckOf(data) !== 'held',
      )
      return waiting.length === 2 && !isBusy && harbour.checkpoints > 0
    })
  } finally {
    await sluice.stop()
  }
}

function luckOf(data: unknown): string {
  return (data as { readonly luck: string }).luck
}

export interface Arrival {
  readonly roots: readonly unknown[]
  readonly crates: readonly string[]
  readonly moves: number
  readonly existing: readonly boolean[]
  readonly drifts: number
  readonly workersBefore: number
}

/** Goes on with whatever is in the store until nothing is open, and tells how it ended. */
export async function arrive(store: Store): Promise<Arrival> {
  await store.migrate()
  const workersBefore = (await store.workers()).length
  const sluice = await open(store, { isHalted: false, checkpoints: 0 })
  try {
    for (const { id } of await sluice.holds()) await sluice.release(id, { actor: 'olga' })
    const keys = ['early', 'half', 'slow', 'gone']
    const submitted = await Promise.all(
      keys.map((key) =>
        key === 'gone'
          ? sluice.submit('flotsam', null, { key })
          : sluice.submit('freight', { crates: 1, isSlow: false, step: 0 }, { key }),
      ),
    )
    const roots = submitted.slice(0, 3).map(({ id }) => id)
    for (const id of roots) await sluice.settled(id, patienceMs)
    await until(async () => (await sluice.get(roots[0]!)).state === 'inspected')
    const details = await Promise.all(submitted.map(({ id }) => sluice.get(id)))
    const crates = (await Promise.all(roots.map((parent) => cratesOf(sluice, parent)))).flat()
    const all = [...roots, ...crates.map(({ id }) => id)]
    const histories = await Promise.all(all.map((id) => sluice.history(id)))
    return {
      roots: await Promise.all(details.map((detail) => figuresOf(sluice, detail))),
      crates: crates.map(({ source, lane, ordinal, state, reason }) =>
        [keys[roots.indexOf(source!)], lane, ordinal, state, reason].join(' '),
      ),
      moves: histories.reduce((sum, events) => sum + events.length, 0),
      existing: submitted.map(({ existing }) => existing),
      drifts: (await sluice.check([null, ...roots])).length,
      workersBefore,
    }
  } finally {
    await sluice.stop()
  }
}

async function cratesOf(sluice: Sluice, parent: EntityId) {
  const { entities } = await sluice.list({ parent, limit: 1_000 })
  return [...entities].sort((one, other) => one.ordinal! - other.ordinal!)
}

async function figuresOf(sluice: Sluice, { id, key, state, purged, request, data }: Detail): Promise<unknown> {
  const lanes = purged ? [] : await sluice.lanes(id)
  const figures = lanes.map(({ name, counts, total, open, reasons, sums }) => ({
    name,
    counts,
    total,
    open,
    reasons,
    sums,
  }))
  return { key, state, purged, request, data, lanes: figures }
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + patienceMs
  while (!(await isSo())) {
    if (Date.now() > end) throw new Error('It did not come to that.')
    await pause(20)
  }
}
