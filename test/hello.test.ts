import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const hello = fileURLToPath(new URL('../examples/hello.ts', import.meta.url))

test('the first example has fewer than 20 lines', async () => {
  const lines = (await readFile(hello, 'utf8')).trimEnd().split('\n')
  assert.ok(lines.length < 20, `${lines.length} lines`)
})

test('the first example runs a batch to its end, and again on the same file', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-hello-'))
  t.after(() => rm(folder, { recursive: true }))
  const store = join(folder, 'hello.db')
  const flags = ['--conditions=sluice-source', hello, '--store', store]
  for (const _run of ['first', 'second']) {
    const { stdout } = await promisify(execFile)(process.execPath, flags, { timeout: 30_000 })
    for (const name of ['Ada', 'Grace', 'Edsger']) assert.match(stdout, new RegExp(`Hello, ${name}!`))
    assert.match(stdout, /Batch \d+ is done: { done: 3 }/)
  }
})
