import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { after, before, test } from 'node:test'
import { pino } from 'pino'
import { sleep, systemClock } from '../clock.ts'
import { implement, inGroups } from '../implementation.ts'
import { defineMachine } from '../machine.ts'
import { done, fail, retry } from '../outcome.ts'
import { memoryStore } from '../store/memory/index.ts'
import { Engine } from './engine.ts'
import { RunReport } from './run-report.ts'

const clock = systemClock()

const errand = defineMachine({
  ...{ name: 'errand', version: 1 },
  ...{ initial: ['open'], settled: ['run', 'failed'], final: ['run', 'failed'] },
  states: {
    open: 'May run.',
    run: { purpose: 'Done.', outcome: 'success' },
    failed: { purpose: 'Gave up.', outcome: 'failure' },
  },
  transitions: {
    go: { from: 'open', to: 'run', on: 'done', processor: 'go' },
    fail: { from: 'open', to: 'failed', on: 'fail' },
  },
  policies: { go: { attemptsMax: 2, timeoutMs: 100, backoff: { firstMs: 1, maxMs: 1, factor: 1, jitter: 0 } } },
})

const heap = defineMachine({
  ...{ name: 'heap', version: 1 },
  ...{ initial: ['open'], settled: ['run', 'failed'], final: ['run', 'failed'] },
  states: { open: 'May run.', run: 'Done.', failed: 'Gave up.' },
  transitions: {
    lift: { from: 'open', to: 'run', on: 'done', processor: 'lift' },
    fail: { from: 'open', to: 'failed', on: 'fail' },
  },
})

const lines: Readonly<Record<string, unknown>>[] = []
const sink = new Writable({
  write(line, _encoding, next) {
    lines.push(JSON.parse(String(line)))
    next()
  },
})
const store = memoryStore({ clock })
const engine = new Engine({
  store,
  log: pino({ level: 'debug' }, sink),
  implementations: [
    implement(errand, {
      processors: {
        async go({ data, attempt, signal }) {
          const says = data as string
          if (attempt === 1 && says === 'throw') throw new TypeError('no route to host')
          if (attempt === 1 && says === 'retry') return retry('busy')
          if (attempt === 1 && says === 'late') await sleep(clock, 60_000, signal)
          return says === 'fail' ? fail('unwanted') : done()
        },
      },
    }),
    implement(heap, { processors: { lift: inGroups((group) => group.map(() => done())) } }),
  ],
})
before(() => engine.start())
after(async () => {
  await engine.stop()
  await store.close()
})

async function run(data: string): Promise<number> {
  const { id } = await engine.control.submit('errand', data)
  assert.ok(await engine.control.settled(id, 10_000))
  return id
}

function linesOf(id: number): readonly (readonly [level: number, message: unknown])[] {
  return lines
    .filter(({ entity, level }) => entity === id && level !== debug)
    .map(({ level, msg }) => [level as number, msg])
}

const [debug, info, warn] = [20, 30, 40]

test('throws, timeouts, retries, failures and settled roots are logged, each with entity, machine, processor and attempt', async () => {
  const started = lines.find(({ msg }) => msg === 'the engine started')
  assert.deepEqual([started?.level, started?.machines], [info, ['errand@1', 'heap@1', 'walk@1']])
  const thrown = await run('throw')
  const starts = lines.filter(({ entity, msg }) => entity === thrown && msg === 'a run starts')
  assert.deepEqual(
    starts.map(({ level, machine, processor, attempt }) => [level, machine, processor, attempt]),
    [1, 2].map((attempt) => [debug, 'errand', 'go', attempt]),
  )
  const [first] = lines.filter(({ entity, level }) => entity === thrown && level !== debug)
  assert.deepEqual(
    [first?.msg, first?.machine, first?.processor, first?.attempt],
    ['a processor threw', 'errand', 'go', 1],
  )
  const { stack = '' } = (first?.err ?? {}) as { stack?: string }
  assert.match(stack, /TypeError: no route to host\n +at /)
  assert.deepEqual(linesOf(thrown), [
    [warn, 'a processor threw'],
    [info, 'a run ended in an error and is tried again'],
    [info, 'settled as run'],
  ])
  assert.deepEqual(linesOf(await run('late')), [
    [warn, 'go took longer than 100 ms.'],
    [info, 'a run ended in an error and is tried again'],
    [info, 'settled as run'],
  ])
  assert.deepEqual(linesOf(await run('retry')).slice(0, 1), [[info, 'a run ended in an error and is tried again']])
  const failed = await run('fail')
  assert.deepEqual(linesOf(failed), [[warn, 'settled as failed']])
  const [failure] = lines.filter(({ entity, level }) => entity === failed && level !== debug)
  assert.deepEqual([failure?.reason, failure?.processor, failure?.attempt], ['unwanted', 'go', 1])
  const retried = lines.filter(({ msg }) => msg === 'a run ended in an error and is tried again')
  assert.deepEqual(new Set(retried.map(({ processor, attempt }) => `${processor} ${attempt}`)), new Set(['go 1']))
})

test('runs are counted by machine, processor and end, in groups too, and so is what settled', async () => {
  const before = figures()
  for (const says of ['throw', 'late', 'retry', 'fail', 'plain']) await run(says)
  const many = await engine.control.submitMany(
    'heap',
    Array.from({ length: 50 }, (_, data) => ({ data })),
  )
  for (const { id } of many) assert.ok(await engine.control.settled(id, 10_000))
  const after = figures()
  const grown = Object.entries(after).map(([name, count]) => [name, count - (before[name] ?? 0)])
  assert.deepEqual(Object.fromEntries(grown), {
    'errand go done': 4,
    'errand go retry': 2,
    'errand go timeout': 1,
    'errand go fail': 1,
    'heap lift done': 50,
    'errand run success': 4,
    'errand failed failure': 1,
    'heap run neutral': 50,
    // Each retry is a move too.
    moves: 4 + 1 + 50 + 3,
  })
})

function figures(): Readonly<Record<string, number>> {
  const { runs, settled, moves } = engine.figures()
  return Object.fromEntries([
    ...runs.map(({ machine, processor, end, count }) => [`${machine} ${processor} ${end}`, count]),
    ...settled.map(({ machine, state, outcome, count }) => [`${machine} ${state} ${outcome}`, count]),
    ['moves', moves],
  ])
}

test('lines of one kind are bounded, and the next one says how many were left out', () => {
  const said: Readonly<Record<string, unknown>>[] = []
  const stream = new Writable({
    write(line, _encoding, next) {
      said.push(JSON.parse(String(line)))
      next()
    },
  })
  let now = 0
  const report = new RunReport({ ...clock, now: () => now }, pino({ level: 'info' }, stream))
  for (let number = 0; number < 1_000; number += 1)
    report.write('warn', 'throw errand', { number }, 'a processor threw')
  report.write('warn', 'timeout errand', {}, 'another kind')
  assert.deepEqual([said.length, said.at(-1)?.msg], [21, 'another kind'])
  now = 10_000
  report.write('warn', 'throw errand', {}, 'a processor threw')
  assert.equal(said.at(-1)?.leftOut, 980)
})
