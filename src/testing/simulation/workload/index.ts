import type { Implementation } from '../../../implementation.ts'
import type { Machine } from '../../../machine.ts'
import type { WorkloadRules } from '../facts.ts'
import type { Random } from '../random.ts'
import { answer, batch, batches, piece, survey } from './batches.ts'
import { alarm, diskPool, flaky, guarded, innocent, poison, poller, pooled, relay, singles } from './singles.ts'
import type { Stage } from './stage.ts'
import { train, trains, wagon } from './trains.ts'
import { submitWish, type Wish, type Workload } from './workload.ts'

export type { Stage } from './stage.ts'
export type { OpenWorkload, Wish, Workload, WorkloadParts } from './workload.ts'

const machines: readonly Machine[] = [
  innocent,
  poison,
  relay,
  flaky,
  poller,
  alarm,
  guarded,
  pooled,
  piece,
  batch,
  answer,
  survey,
  wagon,
  train,
] as readonly Machine[]

/** Machines that together use everything the engine has, and what one may expect of them. */
function implementations(stage: Stage): readonly Implementation[] {
  return [...singles(stage), ...batches(stage), ...trains(stage)]
}

const countOf = (data: unknown): number => (data as { count: number }).count

const rules: WorkloadRules = {
  fanOuts: {
    'batch expand': countOf,
    'survey ask': countOf,
    'train load': (data) => (data as { wagons: number }).wagons,
  },
  joins: new Set(['batch join', 'survey evaluate', 'train unload', 'train arrive']),
  never: new Set(['innocent fail', 'poison finish']),
  pools: {
    [diskPool.pool]: diskPool.ceiling,
    'run:pooled/download': 2,
    'run:pooled/store/x': 1,
    'run:pooled/store/y': 1,
  },
  shares: [
    {
      pool: diskPool.pool,
      machine: 'pooled',
      states: ['downloading', 'storing'],
      amount: (data) => (data as { size: number }).size,
    },
  ],
}

const collections = ['a', 'b', 'c'] as const

function drawWish(random: Random): Wish {
  const machine = random.weighted({
    innocent: 8,
    relay: 5,
    flaky: 5,
    poller: 3,
    alarm: 2,
    guarded: 3,
    pooled: 4,
    poison: 1,
    batch: 3,
    survey: 2,
    train: 2,
  })
  const priority = random.chance(0.2) ? random.between(-2, 2) : 0
  return { machine, priority, ...drawData(machine, random) }
}

function drawData(machine: string, random: Random): Pick<Wish, 'data' | 'state'> {
  const collection = random.pick(collections)
  switch (machine) {
    case 'poller':
      return { data: { asks: random.below(4) }, state: random.pick(['ready', 'waiting']) }
    case 'pooled':
      return { data: { owner: random.pick(['x', 'y']), size: random.between(1, 6) } }
    case 'batch':
      return {
        data: {
          collection,
          count: random.pick([0, 1, 3, 7, 12]),
          checkpointEvery: random.pick([0, 1, 3]),
          strict: random.chance(0.4),
        },
      }
    case 'survey':
      return { data: { count: random.pick([0, 1, 3, 6]) } }
    case 'train':
      return { data: { step: 0, wagons: random.below(4) } }
    case 'alarm':
    case 'poison':
      return { data: null }
    default:
      return { data: { collection } }
  }
}

/** What a simulation runs unless it is told otherwise. */
export function engineWorkload(): Workload {
  return {
    name: 'engine',
    machines,
    rules,
    invariants: [],
    submitChance: 1 / 60,
    bustle: 1,
    implementations,
    drawWish,
    send: submitWish,
    favourite: () => undefined,
    actionForAll: ({ machine }) => machine.edges.find(({ on }) => on === 'action')?.action,
    check() {},
  }
}
