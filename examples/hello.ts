import { defineMachine, implement, openSluice } from 'sluice'

const greeting = defineMachine({
  name: 'greeting',
  version: 1,
  initial: ['ready'],
  settled: ['sent', 'failed'],
  final: ['sent', 'failed'],
  states: {
    ready: 'Waits for a worker.',
    sent: { purpose: 'Delivered.', outcome: 'success' },
    failed: { purpose: 'Gave up.', outcome: 'failure' },
  },
  transitions: {
    send: { from: 'ready', to: 'sent', on: 'done', processor: 'greet' },
    fail: { from: 'ready', to: 'failed', on: 'fail' },
  },
})
const greet = ({ data }: { data: unknown }) => console.log(`Hello, ${data}!`)
const sluice = await openSluice({ implementations: [implement(greeting, { processors: { greet } })] })
const { id } = await sluice.submit('greeting', 'world')
console.log(`Greeting ${id} is ${(await sluice.settled(id))?.state}.`)
await sluice.stop()
