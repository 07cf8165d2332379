import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Bug, Catcher } from './bug.ts'
import type { Ending } from './reporter.ts'

/** What one process with tests in it came to. */
export interface Run {
  readonly endings: readonly Ending[]
  /** Whether the file of the bug was loaded, with the bug in it. */
  readonly planted: boolean
  readonly exit: number | null
  /** What it said besides, for whoever must find out why. */
  readonly output: string
}

const root = fileURLToPath(new URL('../../', import.meta.url))
const hook = new URL('./hook.ts', import.meta.url).href
const reporter = new URL('./reporter.ts', import.meta.url).href

/** No catcher takes nearly as long; a bug that hangs one is not caught by hanging. */
const runMsMax = 180_000

/** Runs these tests of one file in a process of their own, with a bug or without. */
export async function run(file: string, tests: readonly string[], bug: Bug | null): Promise<Run> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-planted-'))
  const report = join(folder, 'report')
  const planted = join(folder, 'planted')
  const flags = [
    '--conditions=sluice-source',
    `--test-reporter=${reporter}`,
    `--test-reporter-destination=${report}`,
    // A test that failed may leave a thread or a timer behind.
    '--test-force-exit',
    ...tests.map((test) => `--test-name-pattern=${patternOf(test)}`),
  ]
  // By NODE_OPTIONS the bug also reaches processes that a test starts. The runner's own mark is taken off: this is no part of its run.
  const { NODE_TEST_CONTEXT: _, ...inherited } = process.env
  const environment = bug
    ? {
        ...inherited,
        NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import=${hook}`,
        SLUICE_PLANTED: bug.name,
        SLUICE_PLANTED_REPORT: planted,
      }
    : inherited
  try {
    const { exit, output } = await finished([...flags, file], environment)
    return { endings: endingsIn(report), planted: textOf(planted).includes(`planted: ${bug?.name}\n`), exit, output }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function finished(
  argumentsGiven: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<{ readonly exit: number | null; readonly output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, argumentsGiven, {
      cwd: root,
      env: environment,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: runMsMax,
      killSignal: 'SIGKILL',
    })
    const chunks: Buffer[] = []
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    child.once('error', reject)
    child.once('close', (exit) => resolve({ exit, output: Buffer.concat(chunks).toString().slice(-4_000) }))
  })
}

/** The whole name and nothing else, so that a test is never caught by its neighbour. */
function patternOf(test: string): string {
  return `^${test.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}$`
}

function endingsIn(path: string): readonly Ending[] {
  return textOf(path)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Ending)
}

function textOf(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8') : ''
}

/** Why the bug was not caught; null: it was, by a test that found a wrong answer. */
export function complaintOf({ what, caughtBy }: Bug, { endings, planted, exit, output }: Run): string | null {
  const said = `exit ${exit}, ${endings.length} tests ended\n${output}`
  if (!planted) return `The bug was never planted: no process loaded its file, or it is stale. ${said}`
  const failures = endings.filter((ending) => !ending.passed)
  if (failures.length === 0) return `Not caught by “${caughtBy.test}”: ${what} ${said}`
  // A test that breaks on a name or a syntax proves only that the bug was badly written.
  const isJudgement = failures.some(({ error }) => error !== null && judgements.has(error.kind))
  return isJudgement ? null : `Caught by accident: ${failures.map(({ error }) => error?.message).join('; ')} ${said}`
}

/** How a test says that something is wrong, rather than broken: an assertion, or an invariant of the simulation. */
const judgements: ReadonlySet<string> = new Set(['ERR_ASSERTION', 'Violation'])

/** The tests of each file, to be run once without any bug. */
export function byFile(catchers: readonly Catcher[]): ReadonlyMap<string, readonly string[]> {
  const files = Map.groupBy(catchers, (catcher) => catcher.file)
  return new Map([...files].map(([file, group]) => [file, [...new Set(group.map((catcher) => catcher.test))]]))
}
