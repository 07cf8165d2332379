import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { Engine } from './engine/engine.ts'
import { implement } from './implementation.ts'
import { defineMachine } from './machine.ts'
import { machineWarnings } from './machine-warning.ts'
import { outcomeOf } from './state-outcome.ts'
import { memoryStore } from './store/memory/index.ts'

const letter = defineMachine({
  name: 'letter',
  version: 1,
  initial: ['written'],
  settled: ['sent', 'rejected', 'expired'],
  final: ['sent', 'rejected', 'expired'],
  states: {
    written: { purpose: 'On paper.', outcome: 'attention' },
    sent: { purpose: 'On its way.', outcome: 'success' },
    rejected: 'Came back.',
    expired: 'Too old.',
  },
  transitions: {
    send: { from: 'written', to: 'sent', on: 'done', processor: 'send' },
    reject: { from: 'written', to: 'rejected', on: 'fail' },
    expire: { from: 'written', to: 'expired', on: 'action' },
  },
})

test('a settled state without an outcome is neutral, whatever its name, and the checker warns', () => {
  const states = ['written', 'sent', 'rejected', 'expired', 'unknown', 'constructor']
  assert.deepEqual(
    states.map((state) => outcomeOf(letter, state)),
    ['attention', 'success', 'neutral', 'neutral', 'neutral', 'neutral'],
  )
  assert.deepEqual(machineWarnings(letter), [
    {
      code: 'undeclared_outcome',
      states: ['rejected', 'expired'],
      message:
        'In machine letter, no outcome is declared for rejected, expired, which count as neutral; ' +
        "declare outcome: 'success', 'failure', 'attention' or 'neutral'.",
    },
  ])
})

test('an engine tells the warnings of its machines once, at its start', async () => {
  const lines: { readonly level: number; readonly machine: string; readonly code: string }[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const implementations = [implement(letter, { processors: { send: () => {} } })]
  const engine = new Engine({ store: memoryStore(), log, implementations })
  await engine.start()
  await engine.stop()
  const told = lines.filter(({ code }) => code === 'undeclared_outcome')
  assert.deepEqual(
    told.map(({ level, machine }) => ({ level, machine })),
    [{ level: 40, machine: 'letter' }],
  )
})
