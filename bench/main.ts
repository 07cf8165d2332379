/**
 * npm run bench [-- NAME… [--quick] [--json FILE]]: each scenario in a process of its own, on a file of its own.
 * Speed is read beside the raw limit of the same run; the machine's mood moves both.
 */
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import type { Figures } from './scenario.ts'

const scenarios = {
  throughput: 'no-op items through claim and completion, beside the raw loop',
  latency: 'idle submit to completed',
  'fan-in': 'one parent, many children',
  recovery: 'a killed worker’s entity runs again',
  flatness: 'cost per item as the store grows',
  upload: 'a file of a million items, beside plain inserts',
  chunked: 'gated jobs of three steps and a reducer, beside the raw loop',
  api: 'single submits over HTTP, and many listeners, beside the engine alone',
  paint: 'the first paint of every page over a million entities',
  postgres: 'the same on PostgreSQL, beside its peers',
  'postgres-drivers': 'the two drivers for PostgreSQL: speed, and what becomes of lost connections',
} as const

const goals: Readonly<Record<string, string>> = {
  items_per_s: '≥ 70,000',
  of_raw: '≥ 0.60',
  submit_per_s: '≥ 120,000',
  fanin_rss_mib: '≤ 300',
  fanin_small_s: '≤ 4',
  flatness: '≤ 1.25',
  idle_p99_ms: '≤ 5',
  recovery_leases: '≤ 2',
  upload_per_s: '≥ 40,000',
  upload_rss_mib: '≤ 200',
  upload_text_per_s: '≥ 15,000',
  upload_text_rss_mib: '≤ 200',
  upload_flatness: '≤ 1.25',
  chunked_per_s: '≥ 40,000',
  gate_1000_ms: '≤ 10',
  gate_million_ms: '≤ 10',
  chunked_flatness: '≤ 1.25',
  api_submit_per_s: '≥ 5,000',
  api_submit_p99_ms: '≤ 50',
  paint_slowest_ms: '≤ 300',
}

/**
 * What `sluice worker` gives itself, and docs/operating/embedded.md recommends for a process of one's own: by default V8 lets the young
 * generation grow to a hundred MiB, and has helpers collect it that take the cores of those who work. For the peers it is the same.
 */
const runtime = [
  '--max-semi-space-size=16',
  '--no-allocation-site-pretenuring',
  '--no-parallel-scavenge',
  '--v8-pool-size=2',
]

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean' }, json: { type: 'string' } },
})
const unknown = positionals.filter((name) => !(name in scenarios))
if (unknown.length > 0) {
  console.error(`There is no scenario ${unknown.join(', ')}. There are: ${Object.keys(scenarios).join(', ')}.`)
  process.exit(2)
}

const all: Record<string, number> = {}
for (const [name, title] of Object.entries(scenarios)) {
  if (positionals.length > 0 && !positionals.includes(name)) continue
  console.log(`\n${name}: ${title}`)
  for (const [figure, value] of Object.entries(await run(name))) {
    all[`embedded.${figure}`] = round(value)
    console.log(`  ${figure.padEnd(28)} ${round(value).toLocaleString('en').padStart(14)}   ${goals[figure] ?? ''}`)
  }
}
if (values.json) writeFileSync(values.json, `${JSON.stringify(all, null, 2)}\n`)

function run(name: string): Promise<Figures> {
  return new Promise((resolve, reject) => {
    const script = new URL(`./${name}.js`, import.meta.url).pathname
    const child = spawn(process.execPath, [...runtime, script, ...(values.quick ? ['--quick'] : [])], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let output = ''
    child.stdout.on('data', (chunk) => {
      output += chunk
    })
    child.on('close', (code) => {
      const last = output.trim().split('\n').at(-1) ?? ''
      if (code === 0) resolve(JSON.parse(last))
      else reject(new Error(`${name} ended with status ${code}.`))
    })
  })
}

function round(value: number): number {
  return value >= 100 ? Math.round(value) : Number(value.toPrecision(3))
}
