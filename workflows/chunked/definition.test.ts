import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { z } from 'zod'
import { openChunked } from './chunked.ts'
import { defineJob } from './define-job.ts'
import { done, retryLater } from './outcome.ts'
import { defaultChunkedLimits } from './settings.ts'
import { refused } from './test/stage.ts'

const none = z.object({})
const head = { id: 'job', version: 1, parameters: none }
const run = () => {}
const output = z.number()
const first = { id: 'first', output, run }
const next = { id: 'next', output, run }

function faulty(message: RegExp, define: () => unknown): void {
  assert.throws(define, refused('invalid', message))
}

describe('a definition that is not sound is refused, and says what is wrong', () => {
  const heads: readonly (readonly [string, object, RegExp])[] = [
    ['no id', { ...head, id: '' }, /id must be a letter/],
    ['an id with a slash', { ...head, id: 'a/b' }, /id must be a letter/],
    ['an id that is too long', { ...head, id: 'a'.repeat(81) }, /up to 79/],
    ['version 0', { ...head, version: 0 }, /version must be a whole number from 1 on; it was 0/],
    ['version 1.5', { ...head, version: 1.5 }, /it was 1.5/],
    ['no schema', { id: 'job', version: 1 }, /parameters must be a schema/],
    ['a tolerance of nothing', { ...head, tolerance: {} }, /tolerance must be/],
    ['a tolerance of 101 per cent', { ...head, tolerance: { percent: 101 } }, /0 to 100/],
    ['a tolerance of both kinds', { ...head, tolerance: { percent: 1, failures: 1 } }, /tolerance must be/],
    ['a tolerance below 0', { ...head, tolerance: { failures: -1 } }, /tolerance must be/],
    ['a retention below 0', { ...head, retention: { failedMs: -1 } }, /retention failedMs must be milliseconds/],
    ['a retention of no outcome', { ...head, retention: { erroredMs: 1 } }, /there is no retention erroredMs/],
    ['a handler that is none', { ...head, onFailed: 'mail' }, /a handler must be a function/],
  ]
  for (const [what, given, message] of heads) test(what, () => faulty(message, () => defineJob(given as never)))

  test('all at once', () => {
    faulty(/id must be.*; version must be.*; parameters must be a schema/, () => defineJob({} as never))
    faulty(/./, () => defineJob(undefined as never))
  })

  const steps: readonly (readonly [string, object, RegExp])[] = [
    ['no id', { run }, /a step's id must be a letter/],
    ['the id of another step', { ...next, id: 'first' }, /step first is given twice/],
    ['no run function', { id: 'next' }, /step next has no run function/],
    ['an output that is no schema', { ...next, output: 'number' }, /output of step next must be a schema/],
    [
      'chunkSize 0',
      { ...next, chunkSize: 0 },
      /chunkSize of step next must be a whole number from 1 to 10000; it was 0/,
    ],
    ['chunkSize beyond its limit', { ...next, chunkSize: 10_001 }, /from 1 to 10000/],
    ['no attempts', { ...next, retry: { attemptsMax: 0 } }, /retry.attemptsMax of step next/],
    ['a backoff below 0', { ...next, retry: { backoff: { firstMs: -1 } } }, /retry.backoff.firstMs of step next/],
    ['too much jitter', { ...next, retry: { backoff: { jitter: 2 } } }, /retry.backoff.jitter of step next/],
    ['no concurrency', { ...next, concurrency: 0 }, /concurrency of step next/],
    ['no time', { ...next, timeoutMs: 0 }, /timeoutMs of step next must be milliseconds above 0/],
    ['endless time', { ...next, timeoutMs: Number.POSITIVE_INFINITY }, /timeoutMs of step next/],
    ['weight 0', { ...next, weight: 0 }, /weight of step next must be between 0 and 1; it was 0/],
    ['weight 1', { ...next, weight: 1 }, /weight of step next/],
    ['weight as text', { ...next, weight: '0.5' as never }, /weight of step next/],
    ['polling in the past', { ...next, polling: { everyMs: -1 } }, /polling.everyMs of step next/],
  ]
  for (const [what, given, message] of steps) {
    test(`a step with ${what}`, () =>
      faulty(message, () =>
        defineJob(head)
          .firstStep(first)
          .step(given as never),
      ))
  }

  test('a step that could never get anything', () => {
    faulty(/step first declares no output, so step next would never get anything/, () =>
      defineJob(head).firstStep({ id: 'first', run }).step(next),
    )
    faulty(/step first declares no output, so reducer report/, () =>
      defineJob(head)
        .firstStep({ id: 'first', run })
        .reducer({ id: 'report', initial: () => 0, consume: () => 0 }),
    )
  })

  test('a first step that is gated or takes lists', () => {
    faulty(/is the first, and so cannot be gated/, () => defineJob(head).firstStep({ ...first, gated: true }))
    faulty(/is the first, and so has no chunkSize/, () =>
      defineJob(head).firstStep({ ...first, chunkSize: 2 } as never),
    )
  })

  test('a reducer', () => {
    const steps = () => defineJob(head).firstStep(first)
    faulty(/reducer first has the name of a step/, () =>
      steps().reducer({ id: 'first', initial: () => 0, consume: () => 0 }),
    )
    faulty(/has no initial function; .*has no consume function/, () => steps().reducer({ id: 'report' } as never))
    faulty(/report of reducer report must be a function/, () =>
      steps().reducer({ id: 'report', initial: () => 0, consume: () => 0, report: 5 } as never),
    )
  })

  test('types that JSON does not carry, with their step and field', () => {
    const since = z.object({ from: z.object({ since: z.coerce.date() }) })
    faulty(/parameters, field from\.since, is a date, which does not survive as JSON; use z\.iso\.datetime\(\)/, () =>
      defineJob({ ...head, parameters: since }),
    )
    const output = z.object({ names: z.array(z.set(z.string())), ids: z.map(z.string(), z.number()).optional() })
    faulty(/output of step first, field ids, is a map.*; output of step first, field names\.\[\], is a set/, () =>
      defineJob(head).firstStep({ id: 'first', output, run: () => {} }),
    )
    faulty(/output of step first is a bigint/, () =>
      defineJob(head).firstStep({ id: 'first', output: z.bigint(), run: () => {} }),
    )
  })

  test('weights that leave a step without a share', () => {
    faulty(/leave nothing to last; give every step a weight/, () =>
      defineJob(head)
        .firstStep({ ...first, weight: 0.5 })
        .step({ ...next, weight: 0.5, output: z.number() })
        .step({ id: 'last', run: () => {} }),
    )
  })

  test('weights of more than 1 together', () => {
    faulty(/weights of its steps add up to 1.2/, () =>
      defineJob(head)
        .firstStep({ ...first, weight: 0.6 })
        .step({ ...next, weight: 0.6 }),
    )
    faulty(/add up to/, () =>
      defineJob(head)
        .firstStep({ ...first, weight: 0.6 })
        .reducer({ id: 'report', initial: () => 0, consume: () => 0, weight: 0.6 }),
    )
  })

  test('a definition without steps, or the same version twice', () => {
    faulty(/has no step; begin it with firstStep/, () =>
      openChunked({ definitions: [{ ...defineJob(head).firstStep(first), steps: [] }] }),
    )
    faulty(/has no step; begin it with firstStep/, () => openChunked({ definitions: [defineJob(head) as never] }))
    const job = defineJob(head).firstStep(first)
    faulty(/The job job@1 is given twice/, () => openChunked({ definitions: [job, job] }))
  })

  test('limits that are none', () => {
    faulty(/there is no limit warnings/, () => openChunked({ definitions: [], limits: { warnings: 5 } as never }))
    faulty(/reduceEvery must be a number above 0; it was 0/, () =>
      openChunked({ definitions: [], limits: { reduceEvery: 0 } }),
    )
    assert.ok(defaultChunkedLimits.reduceEvery > 0)
  })
})

describe('a definition', () => {
  test('is a value: going on from one leaves it as it was', () => {
    const one = defineJob(head).firstStep(first)
    const two = one.step(next)
    const other = one.step({ ...next, id: 'other' })
    const reduced = two.reducer({ id: 'report', initial: () => 0, consume: () => 0 })
    assert.deepEqual(
      [one, two, other, reduced].map(({ steps }) => steps.map(({ id }) => id).join(' ')),
      ['first', 'first next', 'first other', 'first next'],
    )
    assert.deepEqual(
      [two, reduced].map(({ reduction }) => reduction?.id),
      [undefined, 'report'],
    )
    assert.doesNotThrow(() => openChunked({ definitions: [one] }))
  })
})

/** Never called: the compiler is the test. Each line that must not compile says so. */
function typed(): void {
  const begun = defineJob({ id: 'typed', version: 1, parameters: z.object({ size: z.coerce.number() }) })
  const steps = begun.firstStep({
    id: 'first',
    output: z.object({ name: z.string() }),
    run: async ({ parameters, data }, sink) => {
      const size: number = parameters.size
      const nothing: null = data
      await sink.accept({ name: `${size}${nothing}` })
      // @ts-expect-error a name is a text
      await sink.accept({ name: 5 })
      // @ts-expect-error there is no such parameter
      return done(parameters.length)
    },
  })
  steps
    .step({
      id: 'single',
      output: z.number(),
      run: async ({ data }, sink) => {
        const name: string = data.name
        await sink.accept(name.length)
        // @ts-expect-error the output is a number
        await sink.accept(name)
        // @ts-expect-error the input is no list
        return done(data.length)
      },
    })
    .step({
      id: 'listed',
      chunkSize: 10,
      output: z.boolean(),
      run: ({ data }) => {
        const list: readonly number[] = data
        // @ts-expect-error the input is a list of numbers
        const one: number = data
        return list.length + one > 0 ? retryLater() : done(list.length)
      },
    })
    .reducer({
      id: 'report',
      initial: ({ parameters }) => ({ yes: 0, of: parameters.size }),
      consume: (accumulator, output) => {
        const isYes: boolean = output
        // @ts-expect-error the output is no text
        const text: string = output
        return { ...accumulator, yes: accumulator.yes + (isYes && text ? 1 : 0) }
      },
      report: ({ yes, of }) => `${yes} of ${of}`,
    })
  steps.step({
    id: 'silent',
    run: async (_, sink) => {
      // @ts-expect-error a step without output gives nothing out
      await sink.accept(1)
    },
  })
  // @ts-expect-error an outcome is made by done, retry, retryLater or fail
  steps.step({ id: 'wrong', run: () => 5 })
  // @ts-expect-error a definition begins with its first step
  begun.step(next)
  // @ts-expect-error what comes after the reducer is nothing
  steps.reducer({ id: 'report', initial: () => 0, consume: () => 0 }).step(next)
  const chunked = openChunked({ definitions: [steps] })
  const control = undefined as never
  void chunked.start(control, steps, { size: '5' })
  // @ts-expect-error there is no such parameter
  void chunked.start(control, steps, { length: 5 })
}

test('definitions are typed from step to step', () => assert.equal(typeof typed, 'function'))
