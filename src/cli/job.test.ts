import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { type Ending, removeFolders, resultIn, sluice, start, written } from './command-process.ts'
import { jobFolder } from './job/job-folder.ts'

after(removeFolders)

const module = `
import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { defineJob, done, fail } from 'sluice/chunked'
import { z } from 'zod'

const sum = (version: number) =>
  defineJob({
    id: 'sum',
    version,
    description: 'Adds up numbers',
    parameters: z.object({ n: z.int().min(1).describe('how many'), label: z.string().default('all'), kind: z.enum(['a', 'b']).optional() }),
  })
    .firstStep({
      id: 'numbers',
      output: z.number(),
      run: async ({ parameters }, sink) => {
        for (let number = 1; number <= parameters.n; number += 1) await sink.accept(number)
      },
    })
    .step({
      id: 'add',
      gated: true,
      chunkSize: 10,
      output: z.object({ sum: z.number() }),
      run: async ({ data }, sink) => {
        if (data.includes(13)) sink.warn('13 \\x1b[31mis red')
        await sink.accept({ sum: data.reduce((one, other) => one + other, 0) })
      },
    })
    .reducer({
      id: 'report',
      initial: ({ parameters }) => ({ label: parameters.label, version, total: 0 }),
      consume: (report, { sum }) => ({ ...report, total: report.total + sum }),
    })

const mend = defineJob({ id: 'mend', version: 1, parameters: z.object({}), onFailed: () => {} })
  .firstStep({
    id: 'numbers',
    output: z.number(),
    run: async (_, sink) => {
      for (let number = 0; number < 5; number += 1) await sink.accept(number)
    },
  })
  .step({
    id: 'work',
    gated: true,
    run: ({ data }) => (data === 3 && !existsSync('mended') ? fail('not mended', 'Number 3 is \\x1b[2Jbroken') : done(1)),
  })

const wait = defineJob({ id: 'wait', version: 1, parameters: z.object({}) }).firstStep({
  id: 'wait',
  run: async ({ signal }) => {
    if (existsSync('go')) return
    await sleep(60_000, undefined, { signal })
  },
})

const deaf = defineJob({ id: 'deaf', version: 1, parameters: z.object({}) }).firstStep({
  id: 'deaf',
  run: () => sleep(60_000).then(() => done()),
})

const count = defineJob({ id: 'count', version: 1, parameters: z.object({}) })
  .firstStep({
    id: 'read',
    output: z.number(),
    run: async ({ attachment }, sink) => {
      for await (const block of attachment('input')) await sink.accept(block.length)
    },
  })
  .reducer({ id: 'bytes', initial: () => 0, consume: (bytes, block) => bytes + block })

export default [sum(1), sum(2), mend, wait, deaf, count]
`

const own = ['--jobs', 'jobs.ts'] as const
const run = (cwd: string, name: string, ...words: readonly string[]) =>
  sluice(cwd, 'job', 'run', name, ...own, ...words)

describe('job run', () => {
  test('a job is completed: exit 0, its steps and its report for people', async () => {
    const cwd = jobFolder(module)
    const { status, out, err } = await run(cwd, 'sum', '--params', '{"n": 25}')
    assert.equal(status, 0, err)
    assert.match(out, /^Job 1 \(sum@2\) is completed\.\nIt took [^\n]* of memory\.\n/)
    assert.match(
      out,
      /\n {2}step +chunks +failed +records +errors +warnings\n {2}numbers +1 +0 +0 +0 +0\n {2}add +3 +0 +25 +0 +1\n/,
    )
    assert.match(out, /\nReport\n {2}label +all\n {2}version +2\n {2}total +325\n/)
    assert.match(out, /sluice job warnings 1 +to see the warnings\n/)
    assert.ok(!err.includes('\x1b'))
  })

  test('--json prints one object; a version may be named; the same key is the same job', async () => {
    const cwd = jobFolder(module)
    const words = ['--params', '{"n":25,"label":"x"}', '--job-version', '1', '--key', 'k', '--json', '--quiet']
    const first = await run(cwd, 'sum', ...words)
    assert.equal(first.err, '')
    assert.equal(first.status, 0)
    const { seconds, peakRssMiB, recordsPerSecond, ...result } = resultIn(first)
    assert.ok(Number(seconds) > 0 && Number(peakRssMiB) > 20 && Number(recordsPerSecond) > 0)
    assert.deepEqual(result, {
      jobId: 1,
      definition: 'sum',
      version: 1,
      state: 'completed',
      existing: false,
      chunks: { total: 5, settled: 5, failed: 0 },
      records: 25,
      errorCount: 0,
      warningCount: 1,
      report: { label: 'x', version: 1, total: 325 },
    })
    const again = resultIn(await run(cwd, 'sum', ...words))
    assert.deepEqual([again.jobId, again.existing, again.state], [1, true, 'completed'])
    const told = await run(cwd, 'sum', '--params', '{"n":25,"label":"x"}', '--job-version', '1', '--key', 'k')
    assert.match(told.out, /^Job 1 \(sum@1\) is completed\. It had ended before; nothing was done now\.\n/)
    const other = await run(cwd, 'sum', '--params', '{"n":26}', '--key', 'k')
    assert.equal(other.status, 2)
    assert.match(other.err, /^The key k was used for job 1, with other parameters[^\n]*\n$/)
  })

  test('parameters come from a file or standard input, too', async () => {
    const cwd = jobFolder(module)
    const file = written(cwd, 'p.json', '{"n": 3}')
    assert.deepEqual(resultIn(await run(cwd, 'sum', '--params-file', file, '--json')).report, {
      label: 'all',
      version: 2,
      total: 6,
    })
    const running = start(cwd, ['job', 'run', 'sum', ...own, '--params-file', '-', '--json'])
    running.process.stdin?.end('{"n": 4}')
    assert.deepEqual((resultIn(await running.ending).report as { total: number }).total, 10)
  })

  test('a file is attached under its name', async () => {
    const cwd = jobFolder(module)
    const file = written(cwd, 'big.bin', Buffer.alloc(300_000))
    const result = resultIn(await run(cwd, 'count', '--attach', `input=${file}`, '--json'))
    assert.equal(result.report, 300_000)
    const show = await sluice(cwd, 'job', 'show', '1')
    assert.match(show.out, /attachments +input \(293 KiB\)\n/)
    assert.equal((await sluice(cwd, 'job', 'sweep')).out, '0 sets of attachments removed.\n')
  })

  test('--no-wait only starts it; resume works on it', async () => {
    const cwd = jobFolder(module)
    const started = await run(cwd, 'sum', '--params', '{"n": 5}', '--no-wait')
    assert.equal(
      started.out,
      'Job 1 (sum@2) is queued. Whoever works on this store takes it up; or: sluice job resume 1 --jobs jobs.ts\n',
    )
    assert.equal(started.status, 0)
    assert.equal(resultIn(await sluice(cwd, 'job', 'show', '1', '--json')).state, 'queued')
    const resumed = resultIn(await sluice(cwd, 'job', 'resume', '1', ...own, '--json'))
    assert.deepEqual([resumed.state, resumed.existing], ['completed', true])
  })

  const refused: readonly [what: string, words: readonly string[], sentence: RegExp][] = [
    [
      'parameters that do not fit, all of them at once',
      ['sum', ...own, '--params', '{"n":0,"label":3,"kind":"c"}'],
      /^The parameters of job sum@2 do not fit: n: [^;]+; label: [^;]+; kind: [^;]+\.\n$/,
    ],
    ['missing parameters', ['sum', ...own], /^The parameters of job sum@2 do not fit: n: [^;]+\.\n$/],
    [
      'parameters that are no JSON',
      ['sum', ...own, '--params', '{n:1}'],
      /^The parameters of --params are not JSON: .+\n$/,
    ],
    ['parameters given twice', ['sum', '--params', '{}', '--params-file', 'x'], /not by both\.\n$/],
    [
      'a file of parameters that is not there',
      ['sum', ...own, '--params-file', 'x.json'],
      /^x\.json does not exist\.\n$/,
    ],
    ['an unknown job', ['summ', ...own], /^There is no job summ\. Known: .*count, .*sum, wait\.\n$/],
    [
      'an unknown version',
      ['sum', ...own, '--job-version', '3'],
      /^There is no version 3 of job sum\. Known: 1, 2\.\n$/,
    ],
    ['a missing attachment', ['count', ...own, '--attach', 'input=no.bin'], /^no\.bin does not exist\.\n$/],
    [
      'a folder as attachment',
      ['count', ...own, '--attach', 'node_modules'],
      /^node_modules is a folder, not a file\.\n$/,
    ],
    ['a network that is none', ['sum', ...own, '--allow', '10.0.0.0/99'], /^"10\.0\.0\.0\/99" is no network: .*\n$/],
    ['a missing module', ['sum', '--jobs', 'none.ts'], /^The module of jobs none\.ts does not exist\.\n$/],
    [
      'a module that throws',
      ['sum', '--jobs', 'broken.ts'],
      /^The module of jobs broken\.ts could not be loaded: no luck\.\n$/,
    ],
    [
      'a module without jobs',
      ['sum', '--jobs', 'empty.ts'],
      /^The module of jobs empty\.ts exports no jobs\. .*`jobs`\.\n$/,
    ],
  ]
  for (const [what, words, sentence] of refused) {
    test(`${what}: exit 2, one sentence, and nothing is left behind`, async () => {
      const cwd = jobFolder(module)
      written(cwd, 'broken.ts', "throw new Error('no luck')\n")
      written(cwd, 'empty.ts', 'export const other = 1\n')
      const ending = await sluice(cwd, 'job', 'run', ...words, '--json')
      assert.equal(ending.status, 2)
      assert.match(ending.err, sentence)
      const { jobId, state, error } = resultIn(ending)
      assert.deepEqual({ jobId, state, error }, { jobId: null, state: 'refused', error: ending.err.trim() })
      assert.equal(existsSync(join(cwd, 'sluice.db')), false)
    })
  }

  test('faults of parameters stand one by one in the object for programs', async () => {
    const ending = await run(jobFolder(module), 'sum', '--params', '{"n":0,"label":3}', '--json')
    const { faults } = resultIn(ending) as { faults: readonly string[] }
    assert.deepEqual(
      faults.map((fault) => fault.split(':')[0]),
      ['n', 'label'],
    )
  })
})

describe('a job that fails', () => {
  test('exit 2, why, the chunks that failed; rerun completes it when it is mended', async () => {
    const cwd = jobFolder(module)
    const failed = await run(cwd, 'mend')
    assert.equal(failed.status, 2, failed.err)
    assert.match(failed.out, /^Job 1 \(mend@1\) is failed\.\n/)
    assert.match(failed.out, /\nWhy it failed\n {2}1 of 5 chunks of step work failed: not mended \(chunk 6: .*\)\n/)
    assert.match(
      failed.out,
      /\nWhy chunks failed\n {2}1 {2}not mended {2}e\.g\. chunk \d+: Number 3 is \\x1b\[2Jbroken\n/,
    )
    assert.match(failed.out, /\n {2}sluice job rerun 1 --jobs jobs\.ts +to run the failed chunks again\n/)

    const chunks = await sluice(cwd, 'job', 'chunks', '1', '--state', 'failed')
    assert.match(
      chunks.out,
      /^chunk +step +state +errors +polls +data +why\n\d+ +work +failed +1 +0 +3 +not mended: Number 3 is \\x1b\[2Jbroken\n$/,
    )

    const unknown = await sluice(cwd, 'job', 'rerun', '1')
    assert.equal(
      unknown.err,
      'Job 1 is of mend@1, which is not known here. Name the module that defines it by --jobs.\n',
    )
    assert.equal(unknown.status, 2)

    const still = await sluice(cwd, 'job', 'rerun', '1', ...own, '--json')
    assert.deepEqual([still.status, resultIn(still).state], [2, 'failed'])
    written(cwd, 'mended', '')
    const mended = await sluice(cwd, 'job', 'rerun', '1', ...own)
    assert.equal(mended.status, 0, mended.err)
    assert.match(mended.out, /^Job 1 \(mend@1\) is completed\.\n/)
    assert.match(mended.out, /It was run again 2 times\./)
    const over = await sluice(cwd, 'job', 'rerun', '1', ...own)
    assert.equal(over.err, 'Job 1 is completed: there is nothing to run again.\n')
    assert.equal(over.status, 2)
  })
})

async function interruptedAt(cwd: string, name: string): Promise<Ending> {
  const running = start(cwd, ['job', 'run', name, ...own])
  assert.ok(await running.heard(/ running/))
  running.process.kill('SIGINT')
  return running.ending
}

describe('a job that runs', () => {
  test('cancelled from another process it stops: exit 1', async () => {
    const cwd = jobFolder(module)
    const running = start(cwd, ['job', 'run', 'wait', ...own, '--json'])
    assert.ok(await running.heard(/wait running/))
    const cancelled = await sluice(cwd, 'job', 'cancel', '1', '--reason', 'no \x1b time')
    assert.deepEqual(cancelled, { status: 0, out: 'Job 1 (wait@1) is cancelled.\n', err: '' })
    const ending = await running.ending
    assert.equal(ending.status, 1, ending.err)
    const { state, error } = resultIn(ending)
    assert.equal(state, 'cancelled')
    assert.match(String(error), /cancelled by \S+ while running step wait: no \\x1b time$/)
    const again = await sluice(cwd, 'job', 'cancel', '1')
    assert.equal(again.status, 5, 'it has ended already')
    const rerun = await sluice(cwd, 'job', 'rerun', '1', ...own)
    assert.equal(rerun.err, 'Job 1 is cancelled: it has ended for good; start it anew.\n')
  })

  test('Ctrl-C stops in peace and says how to go on; resume finishes it', async () => {
    const cwd = jobFolder(module)
    const ending = await interruptedAt(cwd, 'wait')
    assert.equal(ending.status, 130, ending.err)
    assert.match(ending.err, /Stopping\. Press Ctrl-C again to leave at once\.\n/)
    assert.match(
      ending.err,
      /Interrupted\. Job 1 is in progress; it goes on with: sluice job resume 1 --jobs jobs\.ts\n$/,
    )
    const shown = await sluice(cwd, 'job', 'show', '1')
    assert.match(shown.out, /sluice job resume 1 +to work on it until it has ended\n/)
    written(cwd, 'go', '')
    const resumed = await sluice(cwd, 'job', 'resume', '1', ...own, '--json')
    assert.equal(resumed.status, 0, resumed.err)
    assert.equal(resultIn(resumed).state, 'completed')
    const over = await sluice(cwd, 'job', 'resume', '1')
    assert.match(over.out, /^Job 1 \(wait@1\) is completed\. It had ended before; nothing was done now\.\n/)
    assert.equal(over.status, 0)
  })

  test('a step that does not heed its signal does not keep the process', async () => {
    const ending = await interruptedAt(jobFolder(module), 'deaf')
    assert.equal(ending.status, 130, ending.err)
  })
})

describe('looking', () => {
  test('jobs are listed newest first, filtered, page by page', async () => {
    const cwd = jobFolder(module)
    for (const words of [
      ['sum', '--params', '{"n":1}'],
      ['mend'],
      ['sum', '--params', '{"n":2}', '--job-version', '1'],
    ])
      await run(cwd, words[0]!, ...words.slice(1), '--quiet')
    const all = await sluice(cwd, 'job', 'list')
    const names = all.out.split('\n').map((line) => line.split(/ {2,}/)[1])
    assert.deepEqual(names, ['job', 'sum@1', 'mend@1', 'sum@2', undefined])
    const failed = resultIn(await sluice(cwd, 'job', 'list', '--state', 'failed,cancelled', '--json'))
    assert.deepEqual(
      (failed.jobs as { definition: string }[]).map(({ definition }) => definition),
      ['mend'],
    )
    const first = await sluice(cwd, 'job', 'list', '--definition', 'sum', '--limit', '1')
    const [, more = ''] = /^There may be more: sluice (.*)\n$/.exec(first.err) ?? []
    assert.match((await sluice(cwd, ...more.split(' '))).out, /\n1 +sum@2 +completed /)
    assert.equal((await sluice(cwd, 'job', 'list', '--definition', 'none')).out, 'There are no such jobs.\n')
    const wrong = await sluice(cwd, 'job', 'list', '--state', 'lost')
    assert.match(wrong.err, /^There is no state lost\. There are: queued, in_progress, .*\n$/)
    assert.equal(wrong.status, 2)
  })

  test('a job is shown with its steps, its chunks and its warnings', async () => {
    const cwd = jobFolder(module)
    await run(cwd, 'sum', '--params', '{"n":25}', '--quiet')
    const show = await sluice(cwd, 'job', 'show', '1')
    assert.match(show.out, /^Job 1 \(sum@2\) is completed since \d{4}-\S+Z\.(?! chunked_job)/)
    assert.match(show.out, /\nParameters\n {2}n +25\n {2}label +all\n/)
    const view = resultIn(await sluice(cwd, 'job', 'show', '1', '--json'))
    assert.deepEqual(
      (view.steps as { id: string }[]).map(({ id }) => id),
      ['numbers', 'add', 'report'],
    )

    const chunks = await sluice(cwd, 'job', 'chunks', '1', '--step', 'add', '--limit', '2')
    assert.equal(chunks.out.trim().split('\n').length, 3)
    const [, more = ''] = /^There may be more: sluice (.*)\n$/.exec(chunks.err) ?? []
    assert.match((await sluice(cwd, ...more.split(' '))).out, /^chunk .*\n\d+ +add +completed [^\n]*\n$/)
    const wrong = await sluice(cwd, 'job', 'chunks', '1', '--step', 'sub')
    assert.equal(wrong.err, 'Job 1 has no step sub. It has: numbers, add, report.\n')
    assert.equal(wrong.status, 4)

    const warnings = await sluice(cwd, 'job', 'warnings', '1')
    assert.match(warnings.out, /^chunk +step +warning\n\d+ +add +13 \\x1b\[31mis red\n$/)
    const chunk = await sluice(cwd, 'job', 'show', '2')
    assert.equal(chunk.err, 'Entity 2 is no job; it is of machine chunked_chunk.\n')
    assert.equal(chunk.status, 4)
  })

  test('without a store nothing is made', async () => {
    const cwd = jobFolder()
    for (const words of [['show', '1'], ['list'], ['cancel', '1'], ['chunks', '1'], ['warnings', '1'], ['sweep']]) {
      const { status, err } = await sluice(cwd, 'job', ...words)
      assert.equal(
        err,
        'There is no store at sluice.db. Name its folder by --folder, or the store by --store; or run a job first.\n',
      )
      assert.equal(status, 4)
    }
    assert.equal((await sluice(cwd, 'job', 'resume', '1')).status, 2)
    assert.equal(existsSync(join(cwd, 'sluice.db')), false)
  })

  test('definitions are told with their parameters and steps', async () => {
    const cwd = jobFolder(module)
    const { out, status } = await sluice(cwd, 'job', 'definitions', 'sum', ...own)
    assert.equal(status, 0)
    assert.match(out, /^sum, version 1: Adds up numbers\n[\s\S]*\n\nsum, version 2: Adds up numbers\n/)
    assert.match(
      out,
      /n +integer +required +how many\n {4}label +string +default "all"\n {4}kind +"a" \| "b" +optional\n/,
    )
    assert.match(out, /numbers\n {4}add +gated, 10 at once\n {4}report +reducer\n/)
    const { definitions } = resultIn(await sluice(cwd, 'job', 'definitions', ...own, '--json')) as {
      definitions: { id: string; parameters: { required: readonly string[] } }[]
    }
    assert.deepEqual(definitions.find(({ id }) => id === 'sum')?.parameters.required, ['n'])
    const none = await sluice(cwd, 'job', 'definitions', 'lost', ...own)
    assert.match(none.err, /^There is no job lost\. Known: .*mend.*\n$/)
    assert.equal(none.status, 4)
  })
})
