import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ProgressBlock } from './progress-block.ts'
import type { Terminal } from './terminal.ts'

const tokens = /\p{Cc}\[\d*[AJK]|\r|\n|\P{Cc}+/gu

/** A terminal that understands what the block says. */
class Screen implements Terminal {
  readonly isTty = true
  readonly isRead = true
  columns = 20
  lines: string[] = ['before', '']
  writes = 0

  out(): void {
    assert.fail('progress goes to the error stream')
  }

  err(text: string): void {
    this.writes += 1
    for (const [token] of text.matchAll(tokens)) this.#take(token)
  }

  #take(token: string): void {
    const last = this.#row
    const [, count = '', letter] = /^.\[(\d*)([AJK])$/.exec(token) ?? []
    if (letter === 'A') this.#row -= Number(count)
    else if (letter === 'K') this.lines[last] = ''
    else if (letter === 'J') this.lines = [...this.lines.slice(0, last), '']
    else if (token === '\n') {
      this.#row += 1
      if (this.#row === this.lines.length) this.lines.push('')
    } else if (token !== '\r') this.lines[last] = token
  }

  #row = 1
}

test('lines are painted over together, however many there were before, and are gone in the end', () => {
  const screen = new Screen()
  let now = 0
  const block = new ProgressBlock(screen, () => now)
  const show = (...lines: readonly string[]) => {
    now += 100
    block.show(() => lines)
  }
  show('one', 'two')
  assert.deepEqual(screen.lines, ['before', 'one', 'two', ''])
  show('1', '2', '3')
  assert.deepEqual(screen.lines, ['before', '1', '2', '3', ''])
  show('single')
  assert.deepEqual(screen.lines, ['before', 'single', ''])
  block.clear()
  assert.deepEqual(screen.lines, ['before', ''])
  const { writes } = screen
  block.clear()
  assert.equal(screen.writes, writes, 'what is clear stays so')
})

test('no line is as wide as the terminal: it would break, and never be cleared', () => {
  const screen = new Screen()
  const block = new ProgressBlock(screen, () => 0)
  block.show((columns) => ['x'.repeat(columns + 10)])
  assert.equal(screen.lines[1]?.length, 19)
})

test('it is painted at most ten times a second', () => {
  const screen = new Screen()
  let now = 0
  const block = new ProgressBlock(screen, () => now)
  for (; now < 1_000; now += 1) block.show(() => [String(now)])
  assert.equal(screen.writes, 10)
})
