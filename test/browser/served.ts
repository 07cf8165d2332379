import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'

const launcher = fileURLToPath(new URL('../../bin/sluice.mjs', import.meta.url))
const jobs = fileURLToPath(new URL('./jobs.ts', import.meta.url))

export interface Served {
  readonly url: string
  readonly folder: string
  /** SIGSTOP and SIGCONT: the server hangs, and goes on. */
  signal(signal: NodeJS.Signals): void
  /** As by kill -9; resolves when the process is gone. */
  kill(): Promise<void>
  /** The same server at the same address, after kill(). */
  restart(): Promise<void>
  stop(): Promise<void>
}

export interface ServedOptions {
  /** Given the folder before the server starts. */
  readonly prepare?: (folder: string) => Promise<void>
  /** More words of `sluice serve`. */
  readonly words?: readonly string[]
}

/** `sluice serve`, as a user starts it, on a folder of its own. */
export async function openServed({ prepare, words = [] }: ServedOptions = {}): Promise<Served> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-browser-'))
  await prepare?.(folder)
  const common = ['--folder', folder, '--jobs', jobs, '--log', 'error', ...words]
  let running = await start(['--listen', '127.0.0.1:0', ...common])
  const { url } = running
  return {
    url,
    folder,
    signal: (signal) => void running.child.kill(signal),
    async kill() {
      running.child.kill('SIGKILL')
      await running.ended
    },
    async restart() {
      running = await start(['--listen', new URL(url).host, ...common])
    },
    async stop() {
      running.child.kill('SIGCONT')
      running.child.kill('SIGTERM')
      await running.ended
      await rm(folder, { recursive: true, force: true })
    },
  }
}

interface Running {
  readonly child: ChildProcessByStdio<null, Readable, null>
  readonly ended: Promise<unknown>
  readonly url: string
}

async function start(words: readonly string[]): Promise<Running> {
  const child = spawn(process.execPath, ['--conditions=sluice-source', launcher, 'serve', '--json', ...words], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'close')
  const line = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line').then(([text]) => String(text)),
    ended.then(() => null),
  ])
  if (line === null) throw new Error('The server ended before it was ready.')
  const { url } = JSON.parse(line) as { readonly url: string }
  return { child, ended, url }
}
