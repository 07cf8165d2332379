import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { figuresOf, ProgressBar, progressLine, type Step } from './progress-bar.ts'
import type { Terminal } from './terminal.ts'

function screen(isTty: boolean, columns = 80): Terminal & { readonly said: string[] } {
  const said: string[] = []
  return {
    said,
    isTty,
    columns,
    isRead: isTty,
    out: () => assert.fail('progress goes to the error stream'),
    err: (text) => said.push(text),
  }
}

const items = (done: number, changes: Partial<Step> = {}): Step => ({
  phase: 'processing',
  done,
  total: 1_000,
  unit: 'items',
  ...changes,
})

test('the line shows bar, share, amount, rate and what is left', () => {
  assert.equal(
    progressLine(items(500, { ratePerSecond: 41_234, etaMs: 9_000 }), 100),
    `${'█'.repeat(15)}${'░'.repeat(15)} processing: 50 %, 500 of 1,000, 41,234/s, 9 s to go`,
  )
  assert.equal(
    figuresOf({ phase: 'receiving', done: 2 ** 20, total: 2 ** 21, unit: 'bytes' }),
    'receiving: 50 %, 1.0 MiB of 2.0 MiB',
  )
  assert.equal(figuresOf({ phase: 'validating', done: 0, total: null, unit: 'items' }), 'validating')
  assert.equal(figuresOf({ phase: 'receiving', done: 5, total: null, unit: 'bytes' }), 'receiving: 5 B')
})

test('no line is longer than the terminal is wide', () => {
  const step = fc.record({
    phase: fc.constantFrom('receiving', 'processing'),
    done: fc.nat(2e9),
    total: fc.option(fc.nat(2e9)),
    unit: fc.constantFrom('bytes' as const, 'items' as const),
    ratePerSecond: fc.option(fc.nat(1e9)),
    etaMs: fc.option(fc.nat(1e9)),
  })
  fc.assert(
    fc.property(step, fc.integer({ min: 0, max: 200 }), (one, columns) => progressLine(one, columns).length <= columns),
  )
})

test('on a terminal one line is painted over, at most ten times a second, and cleared in the end', () => {
  const terminal = screen(true)
  let now = 0
  const bar = new ProgressBar(terminal, () => now)
  for (; now < 1_000; now += 1) bar.show(items(now))
  assert.equal(terminal.said.length, 10)
  assert.ok(terminal.said.every((text) => text.startsWith('\r\x1b[2K') && !text.includes('\n')))
  assert.match(terminal.said.at(-1)!, /processing: 90 %, 900 of 1,000, 1,0\d\d\/s, 1 s to go/)
  bar.clear()
  bar.clear()
  assert.deepEqual(terminal.said.slice(10), ['\r\x1b[2K'])
})

test('elsewhere a plain line comes at each new phase, soon after it, and ever more rarely', () => {
  const terminal = screen(false)
  let now = 0
  const bar = new ProgressBar(terminal, () => now)
  for (; now < 12_000; now += 50)
    bar.show(items(now / 50, { phase: now < 6_000 ? 'extracting' : 'processing', ratePerSecond: 20 }))
  bar.clear()
  assert.deepEqual(
    terminal.said.map((text) => /^(\w+): .*\n$/.exec(text)?.[1]),
    ['extracting', 'extracting', 'extracting', 'processing', 'processing', 'processing'],
  )
  assert.ok(!terminal.said.join('').includes('\x1b'))
  // Ten hours: a line a minute.
  const before = terminal.said.length
  for (const begun = now; now < begun + 36_000_000; now += 500) bar.show(items(1))
  assert.ok(terminal.said.length - before > 400 && terminal.said.length - before < 700, String(terminal.said.length))
})

test('a store that cannot be written is told once in a line of its own, and so is its end', () => {
  const terminal = screen(true)
  let now = 0
  const bar = new ProgressBar(terminal, () => now)
  const sentence = 'The disk that holds sluice.db is full. Free some space.'
  for (; now < 1_000; now += 50) bar.show(items(400, { trouble: { sentence } }))
  bar.show(items(500))
  const said = terminal.said.join('')
  assert.equal(said.split(`${sentence}\n`).length, 2, said)
  assert.match(said, /processing: 40 %, 400 of 1,000, waits for the store/)
  assert.match(said, /can be written again; it goes on\.\n/)
})

test('share and time left are those that the source tells: no estimate where it has none, a band where the rate varies', () => {
  const terminal = screen(true, 120)
  let now = 0
  const bar = new ProgressBar(terminal, () => now)
  const said = (changes: Partial<Step>) => {
    now += 1_000
    bar.show(items(500, { ratePerSecond: 10, ...changes }))
    return String(terminal.said.at(-1)).replace('\r\x1b[2K', '')
  }
  assert.match(said({ percent: 3.8, etaMs: null }), /^█░+ processing: 3 %, 500 of 1,000, 10\/s$/)
  assert.match(said({ etaMs: 9_000, etaLowMs: 5_000, etaHighMs: 20_000 }), / between 5 s and 20 s to go$/)
  assert.match(said({ etaMs: 9_000, etaLowMs: 5_000, etaHighMs: null }), /10\/s, at least 5 s to go$/)
  assert.match(said({ etaMs: 0 }), /10\/s$/)
  assert.match(said({}), /10\/s, 50 s to go$/)
})
