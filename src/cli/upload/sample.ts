import { existsSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { type SampleCounts, type SampleOptions, writeSample } from 'sluice/upload'
import { SluiceError } from '../../errors.ts'
import { durationOf } from '../figures.ts'
import type { Host } from '../host.ts'
import { ProgressBar } from '../progress-bar.ts'
import { sizeOf } from '../size.ts'
import { commandLine, plain, table } from '../text.ts'

export interface SampleCommandOptions extends Omit<SampleOptions, 'path' | 'onProgress'> {
  readonly force?: boolean
  readonly json?: boolean
  readonly quiet?: boolean
}

/** What is done within a second needs no bar. */
const patienceMs = 1_000

/** Writes a file to try things with, and tells what a run over it must come to. */
export async function sample(path: string, given: SampleCommandOptions, { terminal, clock }: Host): Promise<number> {
  const { force, json, quiet, ...content } = given
  if (!force && existsSync(path)) {
    throw new SluiceError('conflict', `${path} exists. Take another name, or --force to write over it.`)
  }
  const bar = quiet ? null : new ProgressBar(terminal, () => clock.now())
  const startedAt = clock.now()
  const onProgress = (done: number) => {
    if (clock.now() - startedAt < patienceMs) return
    bar?.show({ phase: 'writing', done, total: content.items, unit: 'items' })
  }
  try {
    const counts = await writeSample({ ...content, path, onProgress })
    bar?.clear()
    const expected = expectationOf(counts)
    if (json) terminal.out(`${JSON.stringify({ path, ...counts, expected })}\n`)
    else if (!quiet) {
      const { size } = await stat(path)
      terminal.out(`${told(path, size, counts, expected, clock.now() - startedAt)}\n`)
    }
    return 0
  } finally {
    bar?.clear()
  }
}

/** Newer copies are merged and so completed; copies that are not newer are skipped. */
function expectationOf({ total, bad, duplicatesSame }: SampleCounts) {
  return { total, completed: total - bad - duplicatesSame, failed: bad, skipped: duplicatesSame }
}

function told(
  path: string,
  size: number,
  counts: SampleCounts,
  expected: ReturnType<typeof expectationOf>,
  tookMs: number,
): string {
  const reasons = Object.entries(counts.byReason).sort(([, a], [, b]) => b - a)
  return [
    `${plain(path, 200)}: ${sizeOf(size)}, written in ${durationOf(tookMs)}. On an empty store a run must come to:`,
    '',
    ...table([
      ['total', expected.total],
      ['completed', expected.completed],
      ['failed', expected.failed],
      ['skipped', expected.skipped],
    ]),
    ...(reasons.length === 0 ? [] : ['', 'Bad items', ...table(reasons.map(([reason, count]) => [count, reason]))]),
    '',
    `Try it: ${commandLine(['sluice', 'upload', 'run', path])}`,
  ].join('\n')
}
