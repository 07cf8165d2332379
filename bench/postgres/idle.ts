/** One job at a time through one contender that has nothing else to do, in a process of its own; prints the times as JSON. */
import { percentile } from '../scenario.ts'
import { type Place, pause } from './contender.ts'
import { type ContenderName, contenders } from './contenders.ts'

const [name = '', place = '{}', rounds = '0'] = process.argv.slice(2)
/** The first are not counted: until then the compiler is at work, on all sides. */
const warmUp = 1_000
const contender = await contenders[name as ContenderName]()
const idle = await contender.idle(JSON.parse(place) as Place)
const times: number[] = []
for (let round = 0; round < Number(rounds) + warmUp; round += 1) {
  await pause(10)
  const from = performance.now()
  await idle.one(round)
  if (round >= warmUp) times.push(performance.now() - from)
}
times.sort((one, other) => one - other)
console.log(JSON.stringify({ p50: percentile(times, 0.5), p99: percentile(times, 0.99) }))
await idle.close()
process.exit(0)
