import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { defineMachine, done, type ErrorCode, implement, isSluiceError, openSluice, poll, type Sluice } from 'sluice'

const job = defineMachine({
  name: 'job',
  version: 1,
  initial: ['open'],
  settled: ['done', 'failed'],
  final: ['done'],
  states: { open: 'To be done.', done: 'Done.', failed: 'Not done.' },
  transitions: {
    finish: { from: 'open', to: 'done', on: 'done', processor: 'work' },
    fail: { from: 'open', to: 'failed', on: 'fail' },
    redo: { from: 'failed', to: 'open', on: 'action', processor: 'look' },
    stay_failed: { from: 'failed', to: 'failed', on: 'fail' },
    erase: { from: 'failed', to: 'done', on: 'action', role: 'admin' },
  },
})
const implementations = [
  implement(job, {
    processors: {
      look: () => undefined,
      work: async (context) => {
        const { how } = context.data as { how: string }
        if (how === 'big number') return done({ how: 10n })
        if (how === 'poll for ever') return poll(1e300)
        if (how === 'huge checkpoint') await context.checkpoint('x'.repeat(300_000))
        return done()
      },
    },
  }),
]

/** One clear error with this code. */
const says = (code: ErrorCode, words: RegExp) => (error: unknown) => {
  assert.ok(isSluiceError(error, code), `${code} expected: ${error}`)
  assert.match(error.message, words)
  return true
}

describe('bad input gets one clear error, and loses nothing', () => {
  let folder: string
  let sluice: Sluice
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-bad-input-'))
    sluice = await openSluice({ store: join(folder, 'a.db'), implementations })
  })
  after(async () => {
    await sluice.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  test('times beyond the calendar are refused, or cut to its end', async () => {
    for (const at of [1e18, -1, 1.5, Number.NaN]) {
      await assert.rejects(
        sluice.submit('job', { how: 'well' }, { at }),
        says('invalid', /A time must be a whole number/),
      )
    }
    const { id } = await sluice.submit('job', { how: 'poll for ever' })
    while ((await sluice.explain(id)).kind !== 'scheduled') await sluice.settled(id, 20)
    assert.equal((await sluice.get(id)).wait.for, 'run', 'it can be read')
    const until = 1e18
    await assert.rejects(
      sluice.hold({ machine: 'job' }, { reason: 'r', owner: 'o', until }),
      says('invalid', /in the future/),
    )
  })

  test('what is no JSON is refused at submit and at an action, and fails a run with its reason', async () => {
    await assert.rejects(sluice.submit('job', { how: 10n }), says('invalid', /cannot be written as JSON/))
    const circle: { self?: unknown } = {}
    circle.self = circle
    await assert.rejects(sluice.submit('job', circle), says('invalid', /cannot be written as JSON/))
    const { id } = await sluice.submit('job', { how: 'big number' })
    assert.equal((await sluice.settled(id, 10_000))?.state, 'failed')
    assert.match(String((await sluice.get(id)).error), /cannot be written as JSON/)
    await assert.rejects(sluice.act(id, 'redo', { input: 10n }), says('invalid', /The input cannot be written as JSON/))
    await assert.rejects(
      sluice.act(id, 'redo', { input: 'x'.repeat(300_000) }),
      says('invalid', /The input has 300002 bytes/),
    )
  })

  test('a checkpoint has a limit', async () => {
    const { id } = await sluice.submit('job', { how: 'huge checkpoint' })
    while ((await sluice.get(id)).error === null) await sluice.settled(id, 20)
    assert.match(String((await sluice.get(id)).error), /A checkpoint has \d+ bytes; at most/)
  })

  test('whoever has not the role is told so', async () => {
    const { entities } = await sluice.list({ machine: 'job', states: ['failed'] })
    const asked = sluice.act(entities[0]!.id, 'erase', { role: 'operator' })
    await assert.rejects(asked, says('forbidden', /for the role admin; operator may not/))
  })

  test('a position, a key, an actor and a store that are none', async () => {
    for (const position of [Number.NaN, -5])
      assert.throws(() => sluice.watch({ after: position }), says('invalid', /after must be/))
    await assert.rejects(sluice.submit('job', {}, { key: 5 as never }), says('invalid', /A key is a text/))
    await assert.rejects(sluice.submit('job', {}, { actor: 5 as never }), says('invalid', /actor/))
    await assert.rejects(openSluice({ store: '', implementations }), says('invalid', /needs an address/))
    await assert.rejects(
      openSluice({ store: join(folder, 'x.db') } as never),
      says('invalid', /needs its implementations/),
    )
  })

  test('limits that make no sense are refused before anything starts', async () => {
    const limits = { leaseMs: 100, renewMs: 1_000 }
    await assert.rejects(
      openSluice({ store: join(folder, 'b.db'), implementations, limits }),
      says('invalid', /renewMs/),
    )
  })

  test('an opening that fails leaves no file open', async () => {
    const file = join(folder, 'c.db')
    const twice = [...implementations, ...implementations]
    for (let round = 0; round < 3; round++) {
      await assert.rejects(openSluice({ store: file, implementations: twice }), says('invalid', /given twice/))
    }
    // Where the system can tell.
    if (process.platform === 'linux')
      assert.deepEqual(
        openFiles().filter((name) => name.startsWith(file)),
        [],
      )
  })

  test('a watch ends when its engine is stopped', async () => {
    const other = await openSluice({ store: join(folder, 'd.db'), implementations })
    const watched = (async () => {
      for await (const _change of other.watch());
    })()
    await other.submit('job', { how: 'well' })
    await other.stop()
    await watched
  })
})

function openFiles(): readonly string[] {
  return readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      return [readlinkSync(`/proc/self/fd/${descriptor}`)]
    } catch {
      return []
    }
  })
}
