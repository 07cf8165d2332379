import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { test } from 'node:test'
import { Interrupt } from './interrupt.ts'

test('the first signal asks to stop, the second leaves, and nobody listens after the close', () => {
  const source = new EventEmitter()
  const said: unknown[] = []
  const interrupt = new Interrupt(
    source,
    () => said.push('stopping'),
    (status) => said.push(status),
  )
  assert.equal(interrupt.isAsked, false)
  source.emit('SIGINT')
  assert.equal(interrupt.signal.aborted, true)
  assert.deepEqual(said, ['stopping'])
  source.emit('SIGTERM')
  assert.deepEqual(said, ['stopping', 130])
  interrupt.close()
  assert.deepEqual(source.eventNames(), [])
})
