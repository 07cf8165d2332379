// biome-ignore-all format: a whole durable batch fits on one screen.
import { parseArgs } from 'node:util'
import { defineMachine, implement, openSluice } from 'sluice'

const ends = { version: 1, settled: ['done', 'failed'], final: ['done', 'failed'] } as const
const batch = defineMachine({ ...ends, name: 'batch', initial: ['splitting'],
  states: { splitting: 'Makes a greeting for each name.', waiting: 'Greetings run.', done: 'All are sent.', failed: 'Gave up.' },
  transitions: { split: { from: 'splitting', to: 'waiting', on: 'done', processor: 'split' },
    fail: { from: 'splitting', to: 'failed', on: 'fail' }, close: { from: 'waiting', to: 'done', on: 'children' } } })
const greeting = defineMachine({ ...ends, name: 'greeting', parent: 'batch', initial: ['ready'],
  states: { ready: 'Waits for a worker.', done: 'Sent.', failed: 'Gave up.' },
  transitions: { greet: { from: 'ready', to: 'done', on: 'done', processor: 'greet' }, fail: { from: 'ready', to: 'failed', on: 'fail' } } })
const split = implement(batch, { processors: { split: (context) =>
  context.spawn((context.data as string[]).map((name) => ({ machine: 'greeting', data: name }))) } })
const greet = implement(greeting, { processors: { greet: ({ data }) => console.log(`Hello, ${data}!`) } })
const sluice = await openSluice({ ...parseArgs({ options: { store: { type: 'string' } } }).values, implementations: [split, greet] })
const { id } = await sluice.submit('batch', ['Ada', 'Grace', 'Edsger'])
console.log(`Batch ${id} is ${(await sluice.settled(id))?.state}:`, (await sluice.progress(id)).counts)
await sluice.stop()
