import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type Ending, removeFolders, resultIn, start } from './command-process.ts'
import { jobFolder } from './job/job-folder.ts'
import { memoryFlags, missingFlags } from './memory-flags.ts'

/** A step that holds as many MiB in objects at once as it is told to. */
const jobs = `
import { defineJob, done } from 'sluice/chunked'
import { z } from 'zod'

export default [
  defineJob({ id: 'heavy', version: 1, parameters: z.object({ mebibytes: z.number() }) }).firstStep({
    id: 'hold',
    run: ({ parameters }) => {
      const held = Array.from({ length: parameters.mebibytes }, (_, at) => new Array(131_072).fill(at + 0.5))
      return done(held.length)
    },
  }),
]
`

const cwd = jobFolder(jobs)
after(removeFolders)

function sluice(words: readonly string[], flags: readonly string[], nodeOptions: string): Promise<Ending> {
  const running = start(cwd, words, flags, { NODE_OPTIONS: nodeOptions })
  running.process.stdin?.end()
  return running.ending
}

test('a step may hold 300 MiB, whatever Sluice does to save memory', async () => {
  const words = ['job', 'run', 'heavy', '--jobs', 'jobs.ts', '--params', '{"mebibytes": 300}', '--json']
  const ended = await sluice(words, [], '')
  assert.equal(ended.status, 0, ended.err)
  assert.equal(resultIn(ended).state, 'completed')
})

test('what the user sets goes before what Sluice sets, flag by flag, and doctor tells what is in force', async () => {
  for (const [flags, nodeOptions, oldSpace, semiSpace] of [
    [[], '', 'not set', '16 MiB, set by Sluice'],
    [[], '--max-old-space-size=700', '700 MiB, set by NODE_OPTIONS', '16 MiB, set by Sluice'],
    [
      ['--max_old_space_size=800'],
      '--max-old-space-size=700 "--max-semi-space-size=8"',
      '800 MiB, set by the command line',
      '8 MiB, set by NODE_OPTIONS',
    ],
    [['--max-semi-space-size=4'], '', 'not set', '4 MiB, set by the command line'],
  ] as const) {
    const ended = await sluice(['doctor', '--json'], flags, nodeOptions)
    assert.equal(ended.status, 0, ended.err)
    const { findings } = resultIn(ended) as { findings: readonly { what: string; sentence: string }[] }
    const sentence = findings.find(({ what }) => what === 'memory')?.sentence ?? ''
    assert.ok(sentence.includes(`--max-old-space-size: ${oldSpace};`), sentence)
    assert.ok(sentence.includes(`--max-semi-space-size: ${semiSpace})`), sentence)
    const heapMiB = toMiB(/may hold ([\d.]+ [A-Za-z]+) of objects/.exec(sentence)?.[1] ?? '')
    // V8 adds a little for young objects.
    const limit = Number.parseInt(oldSpace, 10)
    if (!Number.isNaN(limit)) assert.ok(heapMiB >= limit && heapMiB < limit + 100, sentence)
  }
})

function toMiB(text: string): number {
  return Number.parseFloat(text) * (text.endsWith('GiB') ? 1_024 : 1)
}

test('a flag is known under every spelling that V8 knows', () => {
  assert.deepEqual(missingFlags(memoryFlags, [], undefined), [...memoryFlags])
  assert.deepEqual(
    missingFlags(memoryFlags, ['--max_semi_space_size=1', '--parallel-scavenge'], '"--v8-pool-size=4"'),
    ['--no-allocation-site-pretenuring'],
  )
  assert.ok(memoryFlags.every((flag) => !/old-space|heap-size/.test(flag)))
})
