/**
 * Sluice on PostgreSQL beside its peers: one server, one run, durable settings on all sides, each contender in its fastest
 * configuration and in databases of its own. Rounds go around all contenders, so that a slow minute of the machine hits
 * everyone; the medians count. By itself: `node --conditions=sluice-source bench/postgres.ts [--quick] [--only sluice,boss]`.
 */
import { parseArgs } from 'node:util'
import { type ContenderName, contenders } from './postgres/contenders.ts'
import { type Drained, drain, fanIn, idle, raw } from './postgres/measure.ts'
import { installWords, missingPeers } from './postgres/peer.ts'
import { type Server, startPostgres, startRedis } from './postgres/server.ts'
import { type Figures, median } from './scenario.ts'

const { values } = parseArgs({ options: { quick: { type: 'boolean' }, only: { type: 'string' } } })
const missing = missingPeers()
if (missing.length > 0) {
  console.error(`The peers are not installed (${missing.join(', ')}). Run: ${installWords}`)
  process.exit(1)
}

const quick = values.quick ?? false
const names = Object.keys(contenders).filter(
  (name) => values.only?.split(',').includes(name) ?? true,
) as readonly ContenderName[]
const plan = quick
  ? { count: 50_000, rounds: 1, processes: [1, 2], children: 10_000, singles: 100, waiting: 100_000 }
  : { count: 100_000, rounds: 3, processes: [1, 2, 4], children: 100_000, singles: 500, waiting: 1_000_000 }
/** Commits each job by itself: a fifth of the jobs takes it longer than all of them take the others. */
const slow = new Set<ContenderName>(['bullPostgres', ...(quick ? (['bullRedis'] as const) : [])])
const countOf = (name: ContenderName) => (slow.has(name) ? plan.count / 5 : plan.count)
/** They are well behind in every round, and take most of the time: once will do. */
const roundsOf = (name: ContenderName) => (name.startsWith('bull') ? 1 : plan.rounds)
/** Filling a queue with a million takes the others minutes. */
const filled: readonly ContenderName[] = quick ? ['sluice'] : ['sluice', 'graphile', 'boss']

const server = await startPostgres()
try {
  await describe(server)
  const figures = { ...(await throughput()), ...(await parents()), ...(await singles()), ...(await full()) }
  print(figures)
  console.log(JSON.stringify(figures))
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
    const children = slow.has(name) ? plan.children / 5 : plan.children
    const took = await fanIn(server, name, children)
    if (took === null) continue
    note(`${name}, ${words(children)} children: ${took.toFixed(1)} s`)
    // As if all had been there, for who was given fewer: in favour of who is slow, if anything.
    figures[`${name}_fanin_s`] = (took * plan.children) / children
  }
  return figures
}

async function singles(): Promise<Figures> {
  const figures: Record<string, number> = {}
  for (const name of names) {
    const { p50, p99 } = await idle(server, name, plan.singles)
    note(`${name}, idle: p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`)
    figures[`${name}_idle_p50_ms`] = p50
    figures[`${name}_idle_p99_ms`] = p99
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

function words(figure: number | undefined): string {
  if (figure === undefined) return '–'
  return figure >= 100 ? Math.round(figure).toLocaleString('en') : figure.toFixed(1)
}

/** Not on standard output: that is for the figures. */
function note(line: string): void {
  process.stderr.write(`  ${line}\n`)
}
