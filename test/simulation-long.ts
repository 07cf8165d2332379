import { parseArgs } from 'node:util'
import { type SimulationResult, simulate, summarise, summaryText, Violation } from '../src/testing/simulation/index.ts'

/** A longer run, in one command: `npm run simulate -- --seeds 1000 --from 1 --steps 5000`. `--trace` prints how a failure came about. */
const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    steps: { type: 'string', default: '5000' },
    trace: { type: 'boolean', default: false },
    'keep-going': { type: 'boolean', default: false },
  },
})

const from = wholeNumber('from', values.from)
const seeds = wholeNumber('seeds', values.seeds)
const steps = wholeNumber('steps', values.steps)
const results: SimulationResult[] = []
let failures = 0

for (let seed = from; seed < from + seeds; seed++) {
  try {
    results.push(await simulate({ seed, steps, verbose: values.trace }))
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
