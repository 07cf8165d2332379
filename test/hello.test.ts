import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const pathOf = (name: string) => fileURLToPath(new URL(`../${name}`, import.meta.url))

async function run(example: string, folder: string, ...options: string[]): Promise<string> {
  const flags = ['--conditions=sluice-source', pathOf(example), ...options]
  return (await promisify(execFile)(process.execPath, flags, { cwd: folder, timeout: 60_000 })).stdout
}

async function aFolder(t: { after(callback: () => Promise<void>): void }): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-hello-'))
  t.after(() => rm(folder, { recursive: true }))
  return folder
}

test('hello world has fewer than 25 lines, and the README shows it word for word', async () => {
  const hello = (await readFile(pathOf('examples/hello.ts'), 'utf8')).trimEnd()
  assert.ok(hello.split('\n').length < 25)
  assert.ok((await readFile(pathOf('README.md'), 'utf8')).includes(`\`\`\`ts\n${hello}\n\`\`\``))
})

test('hello world runs, and again on the same file', async (t) => {
  const folder = await aFolder(t)
  for (const id of [1, 2])
    assert.equal(await run('examples/hello.ts', folder), `Hello, world!\nGreeting ${id} is sent.\n`)
})

test('the batch that `npm run demo` runs closes with a truthful count', async (t) => {
  const folder = await aFolder(t)
  const output = await run('examples/batch.ts', folder, '--store', join(folder, 'other.db'), '--parcels', '1500')
  assert.match(output, /It is partly_delivered: { arrived: 1497, lost: 3 } because of { 'no address': 3 }/)
  assert.match(output, /packing → on_the_road {2}\(pack\)/)
})
