import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Detail } from '../../control.ts'
import { isOver } from './batch.ts'

const asked = (edge: string) => ({ edge }) as NonNullable<Detail['request']>

test('a batch is over when it is settled, unless its retry was asked for', () => {
  assert.equal(isOver({ settled: true, request: null }), true)
  assert.equal(isOver({ settled: true, request: asked('notify_partially_completed') }), true)
  assert.equal(isOver({ settled: true, request: asked('retry_failed_items') }), false)
  assert.equal(isOver({ settled: false, request: null }), false)
})
