/** Asks a server for what it is told to, over so many connections, from a process of its own; prints what came of it as JSON. */
import { Agent, get, request } from 'node:http'
import { percentile } from './scenario.ts'

const [kind = '', url = '', count = '0', idle = '0', ms = '0'] = process.argv.slice(2)

if (kind === 'submit') {
  const agent = new Agent({ keepAlive: true, maxSockets: Number(count) })
  const body = JSON.stringify({ machine: 'bench_item', data: { n: 1 } })
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
  const times: number[] = []
  let faults = 0
  const one = () =>
    new Promise<void>((resolve, reject) => {
      const from = performance.now()
      const asked = request(`${url}/api/entities`, { method: 'POST', agent, headers }, (answer) => {
        answer.resume().on('end', () => {
          times.push(performance.now() - from)
          if (answer.statusCode !== 201) faults += 1
          resolve()
        })
      })
      asked.on('error', reject).end(body)
    })
  const end = performance.now() + Number(ms)
  const from = performance.now()
  await Promise.all(
    Array.from({ length: Number(count) }, async () => {
      while (performance.now() < end) await one()
    }),
  )
  const perSecond = (times.length * 1_000) / (performance.now() - from)
  times.sort((one, other) => one - other)
  console.log(JSON.stringify({ perSecond, p99: percentile(times, 0.99), faults }))
  agent.destroy()
} else {
  // Listeners: the first `idle` of them never read what they are sent.
  let events = 0
  const listening = Array.from(
    { length: Number(count) },
    (_, index) =>
      new Promise<void>((resolve, reject) => {
        get(`${url}/api/events`, { agent: false }, (answer) => {
          if (answer.statusCode !== 200) reject(new Error(`status ${answer.statusCode}`))
          if (index >= Number(idle)) answer.on('data', (block: Buffer) => (events += block.length))
          resolve()
        }).on('error', reject)
      }),
  )
  await Promise.all(listening)
  console.log(JSON.stringify({ listening: listening.length }))
  process.on('SIGTERM', () => {
    console.log(JSON.stringify({ bytes: events }))
    process.exit(0)
  })
  setInterval(() => {}, 1_000)
}
