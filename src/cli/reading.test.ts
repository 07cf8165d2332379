import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { newFolder, removeFolders, sluice, written } from './command-process.ts'
import { jobFolder } from './job/job-folder.ts'
import { painted, widthOf } from './paint.ts'
import { commandLine } from './text.ts'

const launcher = fileURLToPath(new URL('../../bin/sluice.mjs', import.meta.url))
const cwd = newFolder()
before(async () => {
  const long = 'x'.repeat(300)
  written(
    cwd,
    'items.json',
    JSON.stringify([
      { id: 1, type: 'story' },
      { id: 2, type: `song ${long}` },
    ]),
  )
  assert.equal((await sluice(cwd, 'upload', 'run', 'items.json', '--quiet')).status, 1)
})
after(removeFolders)

/** What a person sees: the command on a real terminal of 60 columns. */
async function seen(words: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<string> {
  const node = commandLine([process.execPath, '--conditions=sluice-source', launcher, ...words])
  const { NO_COLOR, FORCE_COLOR, ...rest } = process.env
  const env = { ...rest, TERM: 'xterm', TZ: 'Asia/Tokyo', ...environment }
  const child = spawn('script', ['-qec', `stty cols 60 rows 40; ${node}`, '/dev/null'], { cwd, env })
  child.stdin.end()
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (said) => {
    text += said
  })
  await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve))
  return text.replaceAll('\r\n', '\n')
}

describe('on a terminal', () => {
  for (const words of [
    ['status'],
    ['list', '--all'],
    ['show', '1'],
    ['explain', '1'],
    ['report', '1'],
    ['history', '1'],
    ['upload', 'errors', '1'],
    ['doctor'],
    ['act', '--help'],
  ]) {
    test(`sluice ${words.join(' ')} fits, and nothing of a message is cut`, async () => {
      const text = await seen(words)
      assert.ok(text.length > 20, text)
      for (const line of text.split('\n')) assert.ok(widthOf(line) <= 60, line)
    })
  }

  test('states have the colour of their outcome, times are local and relative', async () => {
    const listed = await seen(['list', '--all'])
    assert.ok(listed.includes(painted('completed', 'success')), listed)
    assert.ok(listed.includes(painted('failed', 'failure')), listed)
    assert.match(listed, / (\d+ (s|min) ago|now)/)
    const shown = await seen(['show', '1'])
    const [, local = ''] = /changed +(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) \((?:\d+ (?:s|min) ago|now)\)/.exec(shown) ?? []
    const { entity } = JSON.parse((await sluice(cwd, 'show', '1', '--json')).out) as { entity: { changedAt: number } }
    const tokyo = new Date(entity.changedAt + 9 * 3_600_000).toISOString().slice(0, 19).replace('T', ' ')
    assert.equal(local, tokyo)
  })

  test('--no-color and NO_COLOR take colours out, wherever the word stands', async () => {
    for (const text of [
      await seen(['list', '--all', '--no-color']),
      await seen(['--no-color', 'list', '--all']),
      await seen(['list', '--all'], { NO_COLOR: '1' }),
    ]) {
      assert.match(text, /completed/)
      assert.ok(!text.includes('\x1b['), text)
    }
  })

  test('JSON is one line, whatever the width', async () => {
    const text = await seen(['show', '1', '--json'])
    assert.equal((JSON.parse(text) as { entity: { id: number } }).entity.id, 1)
  })
})

test('what is piped has no colours unless they are forced, and whole lines', async () => {
  const listed = await sluice(cwd, 'list', '--all')
  assert.ok(!listed.out.includes('\x1b['))
  assert.match(listed.out, /^\d+ .*Z/m)
})

test('a message is told to its end', async () => {
  const words = 'the disk of the mail relay is full, and nobody has looked after it for a year; '.repeat(4).trim()
  const folder = jobFolder(`
import { defineJob, fail } from 'sluice/chunked'
import { z } from 'zod'
export default [
  defineJob({ id: 'long', version: 1, parameters: z.object({}) }).firstStep({ id: 'only', run: () => fail('full', ${JSON.stringify(words)}) }),
]`)
  const ended = await sluice(folder, 'job', 'run', 'long', '--jobs', 'jobs.ts')
  assert.equal(ended.status, 2, ended.err)
  assert.ok(words.length > 300 && ended.out.includes(words), ended.out)
  const chunks = await sluice(folder, 'job', 'chunks', '1', '--state', 'failed')
  assert.ok(chunks.out.includes(words), chunks.out)
  assert.ok((await sluice(folder, 'list', '--all', '--state', 'failed')).out.includes('full'))
})
