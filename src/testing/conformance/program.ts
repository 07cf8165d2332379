import fc from 'fast-check'
import { systemClock } from '../../clock.ts'

/**
 * Random programs of store verbs. A step names entities, workers and holds by position among those that are known when it
 * is played, so that any part of a program is a program: a failure shrinks to the few steps that matter.
 */
export type Step =
  | { readonly do: 'create'; readonly births: readonly BirthPlan[] }
  | { readonly do: 'register'; readonly leaseMs: number }
  | { readonly do: 'renew'; readonly worker: number }
  | {
      readonly do: 'claim'
      readonly worker: number
      readonly limit: number
      readonly pooled: 'none' | 'one' | 'label'
      /** Only what waits to be begun, without beginning it. */
      readonly isNarrow: boolean
    }
  | { readonly do: 'commit'; readonly moves: readonly MovePlan[]; readonly repeat: boolean }
  | { readonly do: 'release'; readonly kind: ReleaseKind; readonly worker: number; readonly entity: number }
  | { readonly do: 'advance'; readonly durationMs: number }
  /** Every worker dies, the sweeper finds them, and a new one comes. */
  | { readonly do: 'crash' }
  | { readonly do: 'hold'; readonly scope: HoldPlan; readonly entity: number; readonly durationMs: number | null }
  | { readonly do: 'lift'; readonly hold: number }
  | { readonly do: 'purge'; readonly entity: number; readonly limit: number }
  /** Two processes at once. Which of them comes first is anybody's guess, so no two stores need to agree on it. */
  | { readonly do: 'together'; readonly steps: readonly [Step, Step] }

export interface BirthPlan {
  readonly state: 'ready' | 'parked' | 'timed' | 'done'
  readonly collection: 'maps' | 'books'
  readonly priority: number
  readonly key: string | null
  readonly delayMs: number
  readonly pool: boolean
  /** Without labels, sums and key, as most are: stores may write such rows together. */
  readonly plain: boolean
}

export interface MovePlan {
  readonly act: Act
  readonly entity: number
  /** Among whom the entity is picked: those that were leased when last seen, or have children, if there are any. */
  readonly whom: 'anyone' | 'leased' | 'parent'
  /** Whose proof: 0 is the row as it is now, n the one that was seen n changes before. */
  readonly age: number
  /** By the lease, if there is one, or from outside. */
  readonly outside: boolean
  readonly lane: 'a' | 'b'
  readonly ordinal: number
  readonly count: number
  readonly gated: boolean
  readonly forParent: boolean
  readonly amount: number
  readonly delayMs: number
  /** The decision knew the holds of the moment, none, or did not ask. */
  readonly holds: 'known' | 'none' | 'unasked'
  /** Neither it nor its children have sums or labels: stores may write such moves and rows together. */
  readonly plain: boolean
  /** The new data. Null: unchanged. */
  readonly data: string | null
  /** Some of its children differ from the others, and some have the same ordinal. */
  readonly mixed: boolean
}

/** What a move is about. The last three are impossible and must be refused. */
export const acts = [
  'done',
  'fail',
  'retry',
  'poll',
  'onward',
  'checkpoint',
  'rank',
  'relabel',
  'reopen',
  'park',
  'await',
  'look',
  'close',
  'spawn',
  'stage',
  'publish',
  'rest',
  'stop',
  'go',
  'open',
  'shut',
  'take',
  'give',
  'request',
  'oversized',
  'keep_settled',
  'twice',
] as const

export type Act = (typeof acts)[number]

export type ReleaseKind = 'give_back' | 'all_but' | 'timed_out' | 'retire' | 'dead'

export type HoldPlan = 'label' | 'state' | 'entity' | 'parent'

const position = fc.nat({ max: 1_000 })

const work: BirthPlan = {
  state: 'ready',
  collection: 'maps',
  priority: 0,
  key: null,
  delayMs: 0,
  pool: false,
  plain: false,
}
const plainWork: BirthPlan = { ...work, plain: true }

const birth: fc.Arbitrary<BirthPlan> = fc.record({
  state: fc.constantFrom('ready', 'ready', 'ready', 'parked', 'timed', 'done'),
  collection: fc.constantFrom('maps', 'books'),
  priority: fc.integer({ min: -1, max: 2 }),
  key: fc.option(fc.constantFrom('k1', 'k2', 'k3'), { freq: 4 }),
  delayMs: fc.constantFrom(0, 0, 0, 50),
  pool: fc.boolean(),
  plain: fc.boolean(),
})

/** Work and its ends come up more often than the rest: without them programs would only pile up. */
const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 1,
    arbitrary: fc.constantFrom<Act>(
      'done',
      'fail',
      'retry',
      'poll',
      'onward',
      'spawn',
      'stage',
      'publish',
      'take',
      'await',
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom(...acts) },
)

const move: fc.Arbitrary<MovePlan> = fc.record({
  act,
  entity: position,
  whom: fc.constantFrom('anyone', 'leased', 'leased', 'parent'),
  age: fc.constantFrom(0, 0, 0, 0, 0, 1, 2),
  outside: fc.constantFrom(false, false, true),
  lane: fc.constantFrom('a', 'b'),
  ordinal: fc.nat({ max: 4 }),
  // Now and then more than a store writes at once.
  count: fc.constantFrom(1, 1, 2, 2, 3, 3, 5, 23),
  gated: fc.constantFrom(false, false, true),
  forParent: fc.boolean(),
  amount: fc.integer({ min: 1, max: 3 }),
  delayMs: fc.constantFrom(0, 0, 30),
  holds: fc.constantFrom('known', 'none', 'unasked'),
  plain: fc.boolean(),
  data: fc.constantFrom(null, null, '1', '{"size":2}', '"books"'),
  mixed: fc.constantFrom(false, false, true),
})

/** Several entities, one after another, that do the same: with the same data as before, with new data, or some of both. */
const flow: fc.Arbitrary<readonly MovePlan[]> = fc
  .record({
    move,
    act: fc.constantFrom<Act>('done', 'done', 'fail', 'onward', 'park', 'reopen', 'relabel', 'retry'),
    data: fc.array(fc.constantFrom(null, null, null, '1', '2'), { minLength: 4, maxLength: 9 }),
    isUniform: fc.boolean(),
    stray: fc.option(fc.tuple(fc.nat({ max: 8 }), move), { freq: 3 }),
  })
  .map(({ move, act, data, isUniform, stray }) => {
    const alike = { ...move, act, whom: 'leased', age: 0, plain: true } as const
    const moves: MovePlan[] = data.map((text, index) => ({
      ...alike,
      entity: move.entity + index,
      data: isUniform ? null : text,
    }))
    if (stray) moves.splice(stray[0], 0, stray[1])
    return moves
  })

const create: fc.Arbitrary<Step> = fc.record({
  do: fc.constant('create'),
  births: fc.oneof(
    { weight: 3, arbitrary: fc.array(birth, { minLength: 1, maxLength: 3 }) },
    {
      weight: 1,
      arbitrary: fc.integer({ min: 4, max: 8 }).map((count) => Array.from({ length: count }, () => plainWork)),
    },
  ),
})

const claim: fc.Arbitrary<Step> = fc.record({
  do: fc.constant('claim'),
  worker: position,
  limit: fc.constantFrom(1, 2, 3, 100),
  pooled: fc.constantFrom('none', 'none', 'one', 'label'),
  isNarrow: fc.constantFrom(false, true),
})

const commit: fc.Arbitrary<Step> = fc.record({
  do: fc.constant('commit'),
  moves: fc.oneof(fc.tuple(move), fc.array(move, { minLength: 1, maxLength: 4 }), flow),
  repeat: fc.constantFrom(false, false, false, true),
})

const release: fc.Arbitrary<Step> = fc.record({
  do: fc.constant('release'),
  kind: fc.constantFrom<ReleaseKind>('give_back', 'all_but', 'timed_out', 'retire', 'dead', 'dead'),
  worker: position,
  entity: position,
})

const hold: fc.Arbitrary<Step> = fc.record({
  do: fc.constant('hold'),
  scope: fc.constantFrom<HoldPlan>('label', 'state', 'entity', 'parent'),
  entity: position,
  durationMs: fc.constantFrom<number | null>(null, 40, 100),
})

const purge: fc.Arbitrary<Step> = fc.record({
  do: fc.constant('purge'),
  entity: position,
  limit: fc.constantFrom(1, 2, 100),
})

const register: fc.Arbitrary<Step> = fc.record({ do: fc.constant('register'), leaseMs: fc.constantFrom(100, 1_000) })
const renew: fc.Arbitrary<Step> = fc.record({ do: fc.constant('renew'), worker: position })
const crash: fc.Arbitrary<Step> = fc.record({ do: fc.constant('crash') })
const lift: fc.Arbitrary<Step> = fc.record({ do: fc.constant('lift'), hold: position })
const advance: fc.Arbitrary<Step> = fc.record({
  do: fc.constant('advance'),
  durationMs: fc.constantFrom(1, 30, 100, -50),
})

const rival = fc.oneof(claim, commit, commit, create, release)
const together: fc.Arbitrary<Step> = fc.record({ do: fc.constant('together'), steps: fc.tuple(rival, rival) })

/** What most work is, over and over: roots that wait for nothing but a worker. And, seldom, what stands in their way. */
const plainSteps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 10, arbitrary: claim.map((step) => ({ ...step, isNarrow: true })) },
  {
    weight: 6,
    arbitrary: fc
      .array(
        fc.record({
          isPlain: fc.constantFrom(true, true, false),
          collection: fc.constantFrom('maps' as const, 'books' as const),
          priority: fc.integer({ min: -1, max: 2 }),
          delayMs: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 50),
        }),
        { minLength: 1, maxLength: 3 },
      )
      .map(
        (births): Step => ({
          do: 'create',
          births: births.map(({ isPlain, ...rest }) => (isPlain ? plainWork : { ...work, ...rest })),
        }),
      ),
  },
  { weight: 6, arbitrary: flow.map((moves): Step => ({ do: 'commit', moves, repeat: false })) },
  { weight: 3, arbitrary: advance },
  { weight: 1, arbitrary: fc.oneof(release, crash, register, renew) },
  { weight: 1, arbitrary: hold },
  { weight: 1, arbitrary: lift },
  { weight: 1, arbitrary: fc.oneof(create, commit, purge) },
)

/** `rivals`: two processes at once are part of it. */
function steps({ rivals = false, work = 'all' }: RunOptions): fc.Arbitrary<Step> {
  if (work === 'plain') return plainSteps
  return fc.oneof(
    { weight: 12, arbitrary: commit },
    { weight: 6, arbitrary: claim },
    { weight: 3, arbitrary: create },
    { weight: 3, arbitrary: advance },
    { weight: 2, arbitrary: release },
    { weight: 1, arbitrary: fc.oneof(register, renew) },
    { weight: 1, arbitrary: crash },
    { weight: 1, arbitrary: hold },
    { weight: 1, arbitrary: lift },
    { weight: 1, arbitrary: purge },
    { weight: rivals ? 4 : 0, arbitrary: together },
  )
}

/** A worker and some work to begin with: a program that starts from nothing spends half its steps on nothing. */
const opening: readonly Step[] = [
  { do: 'register', leaseMs: 1_000 },
  { do: 'create', births: [work, { ...work, collection: 'books' }, work, { ...work, priority: 1 }, work] },
  { do: 'create', births: [plainWork, plainWork, plainWork, plainWork, plainWork] },
]

function programs(options: RunOptions): fc.Arbitrary<readonly Step[]> {
  const length = { minLength: 1, maxLength: options.stepsMax ?? 60, size: 'max' } as const
  return fc.array(steps(options), length).map((program) => [...opening, ...program])
}

export interface RunOptions {
  /** How many programs are played at most. */
  readonly programs?: number
  /** Steps of the longest program. */
  readonly stepsMax?: number
  /** All that there is, or mostly what is done again and again, for which stores have shorter ways. */
  readonly work?: 'all' | 'plain'
  /** Two processes act at once, now and then. */
  readonly rivals?: boolean
  /** No new program is begun after this time. */
  readonly budgetMs?: number
  /** Replays what a failure printed. */
  readonly seed?: number
  readonly path?: string
}

/** Once a program failed, this much time is spent on finding a smaller one that does. */
const shrinkMs = 20_000

/** Plays programs until one fails, then the smallest one that still does. The failure tells seed and path. */
export async function playPrograms(
  options: RunOptions,
  play: (program: readonly Step[]) => Promise<void>,
): Promise<void> {
  const { programs: numRuns = 400, budgetMs = 8_000, seed, path } = options
  const { now } = systemClock()
  let end = now() + budgetMs
  let failed = false
  const property = fc.asyncProperty(programs(options), async (program) => {
    if (now() > end) return
    try {
      await play(program)
    } catch (error) {
      if (!failed) end = now() + shrinkMs
      failed = true
      throw error
    }
  })
  await fc.assert(property, {
    numRuns,
    // Test runners cut the cause of an error short; what went wrong matters as much as the seed.
    includeErrorInReport: true,
    ...(seed === undefined ? {} : { seed }),
    ...(path === undefined ? {} : { path }),
  })
}
