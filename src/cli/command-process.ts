import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** For tests: the real command, in processes of its own. */
const launcher = fileURLToPath(new URL('../../bin/sluice.mjs', import.meta.url))
const root = mkdtempSync(join(tmpdir(), 'sluice-cli-'))

let folders = 0
export function newFolder(): string {
  folders += 1
  return mkdtempSync(join(root, `${folders}-`))
}

export function removeFolders(): void {
  rmSync(root, { recursive: true, force: true })
}

export interface Ending {
  readonly status: number | null
  readonly out: string
  readonly err: string
}

export interface Running {
  readonly process: ChildProcess
  /** Resolves when the error stream has said this; null: the process ended first. */
  heard(pattern: RegExp): Promise<string | null>
  /** The same of standard output. */
  told(pattern: RegExp): Promise<string | null>
  readonly ending: Promise<Ending>
}

export function start(
  cwd: string,
  words: readonly string[],
  flags: readonly string[] = [],
  environment: Readonly<Record<string, string>> = {},
): Running {
  const child = spawn(process.execPath, ['--conditions=sluice-source', ...flags, launcher, ...words], {
    cwd,
    // Types are stripped once; every later process starts in half the time.
    env: { ...process.env, NODE_COMPILE_CACHE: join(root, 'cache'), USER: 'tester', ...environment },
  })
  let [out, err, isOver] = ['', '', false]
  const listeners = new Set<() => void>()
  const tell = () => {
    for (const listener of listeners) listener()
  }
  child.stdout.setEncoding('utf8').on('data', (said) => {
    out += said
    tell()
  })
  child.stderr.setEncoding('utf8').on('data', (said) => {
    err += said
    tell()
  })
  child.stdin.on('error', () => {})
  const ending = new Promise<Ending>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (status) => {
      isOver = true
      tell()
      resolve({ status, out, err })
    })
  })
  const waiting = (pattern: RegExp, stream: () => string) =>
    new Promise<string | null>((resolve) => {
      const look = () => {
        const found = pattern.exec(stream())?.[0] ?? null
        if (found === null && !isOver) return
        listeners.delete(look)
        resolve(found)
      }
      listeners.add(look)
      look()
    })
  const heard = (pattern: RegExp) => waiting(pattern, () => err)
  const told = (pattern: RegExp) => waiting(pattern, () => out)
  return { process: child, heard, told, ending }
}

export function sluice(cwd: string, ...words: readonly string[]): Promise<Ending> {
  const running = start(cwd, words)
  running.process.stdin?.end()
  return running.ending
}

export function written(cwd: string, name: string, content: string | Buffer): string {
  writeFileSync(join(cwd, name), content)
  return name
}

/** The one line on standard output. */
export function resultIn({ out }: Ending): Record<string, unknown> {
  assert.match(out, /^\{[^\n]*\}\n$/)
  return JSON.parse(out)
}
