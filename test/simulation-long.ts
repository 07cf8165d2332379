import { parseArgs } from 'node:util'
import {
  type OpenWorkload,
  type SimulationResult,
  simulate,
  summarise,
  summaryText,
  Violation,
} from '../src/testing/simulation/index.ts'
import { chunkedWorkload } from './chunked-simulation/workload.ts'
import { uploadWorkload } from './upload-simulation/workload.ts'

/**
 * A longer run, in one command: `npm run simulate -- --seeds 1000 --from 1 --steps 5000`. `--family` runs the workload of a family instead
 * of the engine's own; `--trace` prints how a failure came about.
 */
const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    steps: { type: 'string', default: '5000' },
    family: { type: 'string', default: 'engine' },
    trace: { type: 'boolean', default: false },
    'keep-going': { type: 'boolean', default: false },
  },
})

/** Null: the engine's own. */
const workloads: Readonly<Record<string, OpenWorkload | null>> = {
  engine: null,
  chunked: (parts) => chunkedWorkload(parts),
  upload: (parts) => uploadWorkload(parts),
}

const workload = workloads[values.family]
if (workload === undefined) {
  console.error(`--family must be one of ${Object.keys(workloads).join(', ')}; it was ${values.family}.`)
  process.exit(2)
}
const from = wholeNumber('from', values.from)
const seeds = wholeNumber('seeds', values.seeds)
const steps = wholeNumber('steps', values.steps)
const results: SimulationResult[] = []
let failures = 0

for (let seed = from; seed < from + seeds; seed++) {
  try {
    results.push(await simulate({ seed, steps, verbose: values.trace, ...(workload ? { workload } : {}) }))
  } catch (error) {
    if (!(error instanceof Violation)) throw error
    failures += 1
    if (values.trace) console.log(error.trace.join('\n'))
    console.log(error.message)
    if (!values['keep-going']) break
  }
  if (process.stderr.isTTY && (seed - from) % 10 === 9) process.stderr.write(`\r${seed - from + 1} of ${seeds} seeds`)
}

if (process.stderr.isTTY) process.stderr.write('\r')
console.log(summaryText(summarise(results)))
process.exitCode = failures === 0 ? 0 : 1

function wholeNumber(name: string, text: string): number {
  const number = Number(text)
  if (Number.isSafeInteger(number) && number >= 0) return number
  console.error(`--${name} must be a whole number; it was ${text}.`)
  process.exit(2)
}
