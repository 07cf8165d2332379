import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const launcher = fileURLToPath(new URL('../../bin/sluice.mjs', import.meta.url))
const jobs = fileURLToPath(new URL('./jobs.ts', import.meta.url))

export interface Served {
  readonly url: string
  readonly folder: string
  stop(): Promise<void>
}

/** `sluice serve`, as anybody would start it, on a folder of its own. `prepare` is given the folder before it starts. */
export async function openServed(prepare: (folder: string) => Promise<void> = async () => {}): Promise<Served> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-browser-'))
  await prepare(folder)
  const words = ['serve', '--json', '--listen', '127.0.0.1:0', '--folder', folder, '--jobs', jobs, '--log', 'error']
  const child = spawn(process.execPath, ['--conditions=sluice-source', launcher, ...words], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'close')
  const line = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line').then(([text]) => String(text)),
    ended.then(() => null),
  ])
  if (line === null) throw new Error('The server ended before it was ready.')
  const { url } = JSON.parse(line) as { readonly url: string }
  return {
    url,
    folder,
    async stop() {
      child.kill('SIGTERM')
      await ended
      await rm(folder, { recursive: true, force: true })
    },
  }
}
