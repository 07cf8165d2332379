/**
 * Sluice on PostgreSQL beside its peers: one server, one run, durable settings on all sides, each contender in its fastest
 * configuration and in databases of its own. Rounds go around all contenders, so that a slow minute of the machine hits
 * everyone; the medians count. By itself: `node --conditions=sluice-source bench/postgres.ts [--quick] [--only sluice,pg_boss]`.
 */
import { parseArgs } from 'node:util'
import { type ContenderName, contenders } from './postgres/contenders.ts'
import { type Drained, drain, fanIn, type Idling, idle, raw } from './postgres/measure.ts'
import { installWords, missingPeers } from './postgres/peer.ts'
import { type Server, startPostgres, startRedis } from './postgres/server.ts'
import { type Figures, median } from './scenario.ts'

const { values } = parseArgs({ options: { quick: { type: 'boolean' }, only: { type: 'string' } } })
const missing = missingPeers()
if (missing.length > 0) {
  console.error(`The peers are not installed (${missing.join(', ')}). Run: ${installWords}`)
  // Whoever runs all scenarios gets the figures of the others.
  console.log('{}')
  process.exit(0)
}

const quick = values.quick ?? false
const names = Object.keys(contenders).filter(
  (name) => values.only?.split(',').includes(name) ?? true,
) as readonly ContenderName[]
const plan = quick
  ? { count: 50_000, rounds: 1, processes: [1, 2], children: 10_000, singles: 100, waiting: 100_000 }
  : // In a second or two the compiler is still at work on all sides: several seconds are measured.
    { count: 300_000, rounds: 3, processes: [1, 2, 4], children: 100_000, singles: 500, waiting: 1_000_000 }
/** It commits each job by itself, and its flows lock the parent for each child: a part of the work takes it as long as all of it takes the others. */
const countOf = (name: ContenderName) => {
  if (name === 'bullmq_postgres') return quick ? 2_000 : 10_000
  if (name === 'bullmq_redis') return quick ? 20_000 : 100_000
  return plan.count
}
const childrenOf = (name: ContenderName) => (name === 'bullmq_postgres' ? (quick ? 500 : 2_000) : plan.children)
/** They are well behind in every round, and take most of the time: once will do. */
const roundsOf = (name: ContenderName) => (name.startsWith('bullmq') ? 1 : plan.rounds)
/** Filling a queue with a million takes the others minutes. */
const filled: readonly ContenderName[] = quick ? ['sluice'] : ['sluice', 'graphile_worker', 'pg_boss']

const server = await startPostgres()
try {
  await describe(server)
  const figures = { ...(await throughput()), ...(await parents()), ...(await singles()), ...(await full()) }
  print(figures)
  const shares = sharesOf(figures)
  for (const [name, { share, goal }] of Object.entries(shares)) note(`${name.padEnd(24)} ${words(share)}   ${goal}`)
  const all = Object.entries(shares).map(([name, { share }]) => [name, share] as const)
  console.log(JSON.stringify({ ...figures, ...Object.fromEntries(all) }))
} finally {
  await server.stop()
}

async function throughput(): Promise<Figures> {
  const all = new Map<string, Drained[]>()
  const limits: { plain: number; history: number }[] = []
  for (let round = 0; round < plan.rounds; round += 1) {
    limits.push({ plain: await raw(server, plan.count, false), history: await raw(server, plan.count, true) })
    for (const name of names) {
      if (round >= roundsOf(name)) continue
      for (const processes of plan.processes) {
        const drained = await drain(server, name, countOf(name), processes)
        note(
          `${name}, ${processes} processes: ${words(drained.itemsPerSecond)} items/s, submit ${words(drained.submitPerSecond)}/s`,
        )
        const key = `${name}_${processes}`
        all.set(key, [...(all.get(key) ?? []), drained])
      }
    }
  }
  const figures: Record<string, number> = {
    raw_per_s: median(limits.map(({ plain }) => plain)),
    raw_history_per_s: median(limits.map(({ history }) => history)),
  }
  for (const [key, drained] of all)
    figures[`${key}_per_s`] = median(drained.map(({ itemsPerSecond }) => itemsPerSecond))
  for (const name of names) {
    const mine = plan.processes.flatMap((processes) => all.get(`${name}_${processes}`) ?? [])
    figures[`${name}_submit_per_s`] = median(mine.map(({ submitPerSecond }) => submitPerSecond))
    // Beside what is measured with a full queue, which is never finished.
    figures[`${name}_handled_per_s`] = median(
      (all.get(`${name}_1`) ?? []).map(({ handledPerSecond }) => handledPerSecond),
    )
  }
  return figures
}

async function parents(): Promise<Figures> {
  const figures: Record<string, number> = {}
  for (const name of names) {
    const children = childrenOf(name)
    const took = await fanIn(server, name, children)
    if (took === null) continue
    note(`${name}, ${words(children)} children: ${words(took)} s`)
    // As if all had been there, for who was given fewer: its time per child grows with their number, if at all.
    figures[`${name}_fanin_s`] = (took * plan.children) / children
  }
  return figures
}

async function singles(): Promise<Figures> {
  const all = new Map<ContenderName, Idling[]>()
  for (let round = 0; round < plan.rounds; round += 1) {
    for (const name of names) {
      const idling = await idle(server, name, plan.singles)
      note(`${name}, idle: p50 ${idling.p50.toFixed(1)} ms, p99 ${idling.p99.toFixed(1)} ms`)
      all.set(name, [...(all.get(name) ?? []), idling])
    }
  }
  const figures: Record<string, number> = {}
  for (const [name, idlings] of all) {
    figures[`${name}_idle_p50_ms`] = median(idlings.map(({ p50 }) => p50))
    figures[`${name}_idle_p99_ms`] = median(idlings.map(({ p99 }) => p99))
  }
  return figures
}

async function full(): Promise<Figures> {
  const figures: Record<string, number> = {}
  for (const name of filled) {
    if (!names.includes(name)) continue
    const { handledPerSecond } = await drain(server, name, plan.count, 1, plan.waiting)
    note(`${name} with ${words(plan.waiting)} more waiting: ${words(handledPerSecond)} items/s`)
    figures[`${name}_full_per_s`] = handledPerSecond
  }
  return figures
}

async function describe(server: Server): Promise<void> {
  const redis = await startRedis()
  note(server.settings)
  note(redis.settings)
  await redis.stop()
  for (const name of names) {
    const { title, version, settings } = await contenders[name]()
    note(`${title} ${version}: ${settings}`)
  }
}

function print(figures: Figures): void {
  const columns = [
    ...plan.processes.map((processes) => ({
      head: `${processes} process${processes > 1 ? 'es' : ''}/s`,
      key: `${processes}_per_s`,
    })),
    { head: 'submit/s', key: 'submit_per_s' },
    { head: `${words(plan.children)} children s`, key: 'fanin_s' },
    { head: 'idle p50 ms', key: 'idle_p50_ms' },
    { head: 'p99 ms', key: 'idle_p99_ms' },
    { head: `1 process, ${words(plan.waiting)} more /s`, key: 'full_per_s' },
  ]
  const rows = names.map((name) => [name, ...columns.map(({ key }) => words(figures[`${name}_${key}`]))])
  const table = [
    ['', ...columns.map(({ head }) => head)],
    ...rows,
    ['raw', words(figures.raw_per_s)],
    ['raw with history', words(figures.raw_history_per_s)],
  ]
  for (const [first = '', ...rest] of table) {
    note(
      `${first.padEnd(18)}${rest.map((word, index) => word.padStart((columns[index]?.head.length ?? 8) + 2)).join('')}`,
    )
  }
}

/** Sluice against the best of its peers, and against itself. */
function sharesOf(figures: Figures): Readonly<Record<string, { readonly share: number; readonly goal: string }>> {
  const shares: Record<string, { share: number; goal: string }> = {}
  const tell = (name: string, share: number, goal: string) => {
    if (Number.isFinite(share)) shares[name] = { share, goal }
  }
  const of = (name: ContenderName, key: string) => figures[`${name}_${key}`] ?? Number.NaN
  const peers = names.filter((name) => name !== 'sluice')
  for (const processes of plan.processes) {
    const best = Math.max(...peers.map((name) => of(name, `${processes}_per_s`)))
    tell(`of_best_peer_${processes}`, of('sluice', `${processes}_per_s`) / best, '≥ 1')
  }
  tell('of_raw_history', of('sluice', '1_per_s') / (figures.raw_history_per_s ?? Number.NaN), '')
  for (const name of peers) tell(`fanin_of_${name}`, of('sluice', 'fanin_s') / of(name, 'fanin_s'), '≤ 0.5')
  for (const name of filled) tell(`${name}_full_of_empty`, of(name, 'full_per_s') / of(name, 'handled_per_s'), '≥ 0.8')
  tell('sluice_submit_per_s', of('sluice', 'submit_per_s'), '≥ 60,000')
  tell('sluice_idle_p99_ms', of('sluice', 'idle_p99_ms'), '≤ 8')
  return shares
}

function words(figure: number | undefined): string {
  if (figure === undefined) return '–'
  return figure >= 100 ? Math.round(figure).toLocaleString('en') : figure.toFixed(figure < 2 ? 2 : 1)
}

/** Not on standard output: that is for the figures. */
function note(line: string): void {
  process.stderr.write(`  ${line}\n`)
}
