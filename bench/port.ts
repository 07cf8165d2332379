/**
 * The store alone, through its port: create, claim and commit in groups, without the engine. Run it by itself:
 * `node --conditions=sluice-source bench/port.ts [count] [group]`. It prints the raw loop beside it.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Birth, ClaimRun, Entity, Move } from 'sluice'
import { sqliteStore } from 'sluice/sqlite'
import { rawLoop } from './raw.ts'

export interface PortFigures {
  readonly createPerSecond: number
  readonly itemsPerSecond: number
  /** The same, of the last tenth: it must not be slower than the whole. */
  readonly lastTenthPerSecond: number
}

const nobody = { actor: null, role: null, reason: null, requestId: null }
const hops = [{ transition: 'finish', from: 'ready', to: 'completed' }]
const run: ClaimRun = {
  machine: 'item',
  version: 1,
  state: 'ready',
  edge: null,
  hops: [],
  holdable: true,
  limit: 10_000,
  pool: null,
  poolPer: null,
}

function birthOf(n: number, now: number): Birth {
  return {
    machine: 'item',
    version: 1,
    state: 'ready',
    settled: false,
    data: `{"n":${n}}`,
    labels: [],
    priority: 5,
    wait: { for: 'run', at: now },
    reason: null,
    sums: null,
    key: null,
    createdBy: null,
  }
}

function moveOf({ id, epoch, seq }: Entity): Move {
  return {
    id,
    epoch,
    seq,
    by: 'lease',
    cause: 'done',
    hops,
    state: 'completed',
    settled: true,
    generation: 0,
    data: null,
    labels: null,
    priority: null,
    wait: { for: 'nothing' },
    keep: false,
    attempts: 'reset',
    children: [],
    staging: 'none',
    spawned: 0,
    opens: [],
    shuts: [],
    lanes: null,
    read: null,
    takes: [],
    gives: [],
    holds: [],
    holdable: true,
    actor: nobody,
  }
}

export async function portLoop(file: string, count: number, group = 1_000): Promise<PortFigures> {
  const store = sqliteStore({ file })
  await store.migrate()
  await store.define([{ name: 'item', version: 1, digest: 'bench', labels: [], declaration: '{}' }])
  const creating = performance.now()
  for (let from = 0; from < count; from += group) {
    const now = store.time()
    await store.create(
      `create-${from}`,
      Array.from({ length: group }, (_, index) => birthOf(from + index, now)),
    )
  }
  const createPerSecond = (count * 1_000) / (performance.now() - creating)
  const worker = await store.renew({
    id: null,
    identity: { name: 'bench', host: 'here', pid: 1, program: '0', roles: [], machines: ['item@1'] },
    leaseMs: 3_600_000,
  })
  const working = performance.now()
  let [done, tenth] = [0, 0]
  for (;;) {
    const { entities } = await store.claim({ worker: worker.id, runs: [run], limit: group, bytes: 2 ** 30 })
    if (entities.length === 0) break
    const verdicts = await store.commit(`commit-${done}`, entities.map(moveOf))
    done += verdicts.filter(({ kind }) => kind === 'saved').length
    if (tenth === 0 && done >= count * 0.9) tenth = performance.now()
  }
  const end = performance.now()
  await store.close()
  if (done !== count) throw new Error(`${done} of ${count} items were saved.`)
  return {
    createPerSecond,
    itemsPerSecond: (count * 1_000) / (end - working),
    lastTenthPerSecond: (count * 100) / (end - tenth),
  }
}

if (import.meta.main) {
  const [count = 200_000, group = 1_000] = process.argv.slice(2).map(Number)
  const folder = mkdtempSync(join(tmpdir(), 'sluice-port-'))
  const file = join(folder, 'port.db')
  const figures = await portLoop(file, count, group)
  const options = { count: Math.min(count, 300_000), group }
  const raw = rawLoop({ file: join(folder, 'each.db'), ...options })
  const rawSet = rawLoop({ file: join(folder, 'set.db'), ...options, style: 'set' })
  const rows = Object.entries({
    ...figures,
    raw,
    rawSet,
    ofRaw: figures.itemsPerSecond / raw,
    megabytes: statSync(file).size / 1e6,
  })
  for (const [name, figure] of rows) process.stdout.write(`${name.padEnd(20)} ${figure.toFixed(figure < 10 ? 2 : 0)}\n`)
  rmSync(folder, { recursive: true })
}
