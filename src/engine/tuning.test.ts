import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { sleep } from '../clock.ts'
import { implement, type Processor } from '../implementation.ts'
import { defineMachine } from '../machine.ts'
import { testKit } from '../testing/kit/index.ts'

interface Job {
  readonly kind: string
}

const machine = defineMachine({
  name: 'job',
  version: 1,
  initial: ['ready'],
  settled: ['done', 'failed'],
  final: ['done'],
  labels: ['kind'],
  states: { ready: 'r', done: { purpose: 'd', retentionMs: 600_000 }, failed: 'f' },
  transitions: {
    work: { from: 'ready', to: 'done', on: 'done', processor: 'work' },
    fail: { from: 'ready', to: 'failed', on: 'fail' },
    again: { from: 'failed', to: 'ready', on: 'action' },
  },
  policies: {
    work: {
      attemptsMax: 2,
      backoff: { firstMs: 1_000, factor: 1, maxMs: 1_000, jitter: 0 },
      timeoutMs: 60_000,
      concurrencyPer: { label: 'kind', max: 1 },
    },
  },
})

type Tuned = Parameters<typeof implement>[1] extends { tuning?: infer T } ? T : never

const kitOf = (work: Processor, tuning: Tuned, engines = 1) =>
  testKit({ implementations: [implement(machine, { processors: { work }, tuning })], engines })

suite('what a machine leaves open', () => {
  test('attempts and pauses of each entity', async () => {
    const times: number[] = []
    const work: Processor = ({ now }) => {
      times.push(now())
      throw new Error('no')
    }
    await using kit = kitOf(work, {
      policy: ({ data }, processor) => {
        assert.equal(processor, 'work')
        if ((data as Job).kind !== 'patient') return null
        return { attemptsMax: 4, backoff: { firstMs: 10, factor: 1, maxMs: 10, jitter: 0 } }
      },
    })
    const usual = await kit.control.submit('job', { kind: 'usual' })
    await kit.drain()
    assert.deepEqual([(await kit.control.get(usual.id)).state, times.length], ['failed', 2])
    times.length = 0
    const patient = await kit.control.submit('job', { kind: 'patient' })
    await kit.drain()
    assert.deepEqual([(await kit.control.get(patient.id)).state, times.length], ['failed', 4])
    assert.ok(times[3]! - times[0]! < 1_000, 'its own pauses are short')
  })

  test('the time of each entity: one that takes longer is dropped, and the attempt counts', async () => {
    let runs = 0
    const work: Processor = async () => {
      runs += 1
      await sleep(kit.clock, 3_000)
    }
    await using kit = kitOf(work, { policy: () => ({ attemptsMax: 2, timeoutMs: 500 }) })
    const { id } = await kit.control.submit('job', { kind: 'slow' })
    await kit.drain()
    const { state, error } = await kit.control.get(id)
    assert.equal(state, 'failed')
    assert.match(error ?? '', /took longer than 500 ms/)
    assert.equal(runs, 2)
  })

  test('how long each root is kept; what it does not say is as the machine says', async () => {
    const keep: Record<string, number | null | undefined> = { brief: 60_000, ever: null, plain: undefined }
    await using kit = kitOf(() => {}, {
      retentionMs: ({ data, state }) => (state === 'done' ? keep[(data as Job).kind] : null),
    })
    const ids = await Promise.all(
      ['brief', 'ever', 'plain'].map(async (kind) => (await kit.control.submit('job', { kind })).id),
    )
    await kit.drain()
    const purged = () => Promise.all(ids.map(async (id) => (await kit.control.get(id)).purged))
    await kit.advance('2m')
    assert.deepEqual(await purged(), [true, false, false])
    await kit.advance('20m')
    assert.deepEqual(await purged(), [true, false, true])
  })

  test('how many of a label’s value run at once', async () => {
    const running = new Map<string, number>()
    const most = new Map<string, number>()
    const work: Processor = async ({ data, now, signal }) => {
      const { kind } = data as Job
      const count = (running.get(kind) ?? 0) + 1
      running.set(kind, count)
      most.set(kind, Math.max(most.get(kind) ?? 0, count))
      assert.ok(now() > 0 && !signal.aborted)
      for (let turn = 0; turn < 20; turn += 1) await Promise.resolve()
      running.set(kind, (running.get(kind) ?? 0) - 1)
    }
    await using kit = kitOf(work, { ceilings: { work: { wide: 3 } } }, 2)
    const kinds = ['wide', 'wide', 'wide', 'wide', 'wide', 'narrow', 'narrow', 'narrow']
    await kit.control.submitMany(
      'job',
      kinds.map((kind) => ({ data: { kind } })),
    )
    await kit.drain()
    assert.deepEqual(most.get('narrow'), 1)
    assert.ok((most.get('wide') ?? 0) > 1 && (most.get('wide') ?? 0) <= 3, `${most.get('wide')} at once`)
  })
})
