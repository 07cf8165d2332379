import assert from 'node:assert/strict'
import { createReadStream, mkdirSync, readFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { openSluice } from 'sluice'
import { defineJob, done, fail, openChunked, retry, retryLater } from 'sluice/chunked'
import { testKit } from 'sluice/testing'
import { z } from 'zod'
import { sluice as command, removeFolders, written } from '../command-process.ts'
import { jobFolder } from './job-folder.ts'

// The examples of docs/guides/chunked.md, word for word: the last test compares them.

after(removeFolders)

const wordCount = defineJob({
  id: 'word-count',
  version: 1,
  description: 'Counts the words of the text files in a folder',
  parameters: z.object({
    folder: z.string().describe('where the files are'),
    ending: z.string().default('.txt').describe('which files count'),
  }),
})
  .firstStep({
    id: 'files',
    output: z.string(),
    run: async ({ parameters }, sink) => {
      for (const name of await readdir(parameters.folder)) {
        if (name.endsWith(parameters.ending)) await sink.accept(join(parameters.folder, name))
      }
    },
  })
  .step({
    id: 'count',
    output: z.object({ file: z.string(), words: z.number() }),
    run: async ({ data, signal }, sink) => {
      const text = await readFile(data, { encoding: 'utf8', signal })
      const words = text.split(/\s+/).filter(Boolean).length
      if (words === 0) sink.warn(`${data} has no words`)
      await sink.accept({ file: data, words })
      return done(words)
    },
  })
  .reducer({
    id: 'report',
    initial: () => ({ files: 0, words: 0, longest: { file: '', words: 0 } }),
    consume: ({ files, words, longest }, file) => ({
      files: files + 1,
      words: words + file.words,
      longest: file.words > longest.words ? file : longest,
    }),
  })

function textsIn(cwd: string): string {
  mkdirSync(join(cwd, 'texts'))
  written(cwd, 'texts/a.txt', 'one two three\n')
  written(cwd, 'texts/b.txt', 'four\nfive')
  written(cwd, 'texts/empty.txt', '')
  written(cwd, 'texts/other.md', 'not counted')
  return join(cwd, 'texts')
}

const guide = readFileSync(new URL('../../../docs/guides/chunked.md', import.meta.url), 'utf8')
const blocks = [...guide.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, block = '']) => block)

test('the first example is a module that the command line runs', async () => {
  const cwd = jobFolder(blocks.find((block) => block.startsWith('// jobs.ts')) ?? assert.fail('no jobs.ts'))
  textsIn(cwd)
  const { status, out, err } = await command(
    ...([cwd, 'job', 'run', 'word-count', '--jobs', 'jobs.ts', '--params', '{"folder": "texts"}'] as const),
  )
  assert.equal(status, 0, err)
  assert.match(out, /\n {2}count +3 +0 +5 +0 +1\n/)
  assert.match(out, /\nReport\n {2}files +3\n {2}words +5\n {2}longest\n {4}file +texts\/a\.txt\n {4}words +3\n/)
})

test('a program', async () => {
  const cwd = jobFolder()
  const folder = textsIn(cwd)
  const said: string[] = []
  const console = { log: (line: string) => said.push(line) }
  const store = join(cwd, 'jobs.db')
  // The guide writes its files beside the program.
  const openHere = (options: Parameters<typeof openSluice>[0]) => openSluice({ ...options, store })
  await (async (openSluice: typeof openHere) => {
    const chunked = openChunked({ definitions: [wordCount], folder: './jobs' })
    const sluice = await openSluice({ store: './jobs.db', implementations: chunked.implementations })

    const { id } = await chunked.start(sluice, wordCount, { folder }, { startedBy: 'ada', key: 'first' })
    await sluice.settled(id)

    const job = await chunked.job(sluice, id)
    console.log(`Job ${id} is ${job.state}: ${job.chunks.settled} of ${job.chunks.total} chunks, ${job.records} words.`)
    for (const { id, phase, settled, total } of job.steps) console.log(`${id} is ${phase}: ${settled} of ${total}`)
    console.log(JSON.stringify(job.report))

    await sluice.stop()
  })(openHere)
  assert.deepEqual(said.slice(0, 2), ['Job 1 is completed: 5 of 5 chunks, 5 words.', 'files is complete: 1 of 1'])
})

async function* customersOf(month: string) {
  for (let customer = 0; customer < 120; customer += 1) yield Number(month.slice(0, 4)) + customer
}
async function render(customer: number, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted()
  return `${customer}.pdf`
}
const sent = new Map<string, string>()
let busy = 1
async function send(invoice: string, options: { readonly key: string; readonly signal: AbortSignal }) {
  if (invoice === '2030.pdf') return 'unknown address'
  if (invoice === '2031.pdf' && busy-- > 0) return 'busy'
  sent.set(options.key, invoice)
  return 'sent'
}
const told: string[] = []
async function tell(text: string, key: string) {
  told.push(`${text} (${key})`)
}

const invoices = defineJob({
  id: 'invoices',
  version: 1,
  parameters: z.object({ month: z.string().regex(/^\d{4}-\d{2}$/) }),
  tolerance: { percent: 1 },
  retention: { completedMs: 90 * 24 * 60 * 60_000 },
  onCompleted: ({ id, report }, { key }) => tell(`Job ${id} is done: ${JSON.stringify(report)}`, key),
  onFailed: ({ id, state, errorMessage }, { key }) => tell(`Job ${id} is ${state}: ${errorMessage}`, key),
})
  .firstStep({
    id: 'customers',
    output: z.object({ customer: z.number() }),
    run: async ({ parameters }, sink) => {
      for await (const customer of customersOf(parameters.month)) await sink.accept({ customer })
    },
  })
  .step({
    id: 'render',
    chunkSize: 50,
    concurrency: 8,
    timeoutMs: 60_000,
    output: z.object({ invoice: z.string() }),
    run: async ({ data, signal }, sink) => {
      for (const { customer } of data) await sink.accept({ invoice: await render(customer, signal) })
    },
  })
  .step({
    id: 'send',
    gated: true,
    retry: { attemptsMax: 6, backoff: { firstMs: 500 } },
    output: z.object({ sent: z.string() }),
    run: async ({ data, idempotencyKey, signal }, sink) => {
      const answer = await send(data.invoice, { key: idempotencyKey, signal })
      if (answer === 'busy') return retry('The mail server is busy.', 5_000)
      if (answer === 'unknown address') return fail('unknown address', `${data.invoice} has nobody to go to.`)
      await sink.accept({ sent: data.invoice })
      return done(1)
    },
  })
  .reducer({ id: 'total', initial: () => ({ sent: 0 }), consume: ({ sent }) => ({ sent: sent + 1 }) })

test('lists, gates, retries, failures, handlers', async () => {
  const kit = testKit({ implementations: () => openChunked({ definitions: [invoices] }).implementations })
  const chunked = openChunked({ definitions: [invoices], clock: kit.clock })
  const { id } = await chunked.start(kit.control, 'invoices', { month: '2000-05' })
  await kit.drain()
  const job = await chunked.job(kit.control, id)
  assert.equal(job.state, 'completed', job.errorMessage ?? '')
  assert.deepEqual(
    job.steps.map(({ id, total, failed, records }) => [id, total, failed, records]),
    [
      ['customers', 1, 0, 0],
      ['render', 3, 0, 120],
      ['send', 120, 1, 119],
      ['total', 1, 0, 119],
    ],
  )
  assert.deepEqual(job.reasons, { 'unknown address': 1 })
  assert.equal(sent.size, 119)
  assert.deepEqual(told, [`Job ${id} is done: {"sent":119} (${id}:0:notify_completed)`])
  await kit.stop()
})

let looks = 0
async function orderExport(url: string, key: string): Promise<string> {
  return `${url}#${key}`
}
async function exportStatus(ticket: string) {
  looks += 1
  return looks < 100 ? { file: null, retryAfterMs: 90_000 } : { file: `${ticket}.zip` }
}

const exported = defineJob({ id: 'export', version: 1, parameters: z.object({ url: z.url() }) })
  .firstStep({
    id: 'order',
    output: z.object({ ticket: z.string() }),
    run: async ({ parameters, idempotencyKey }, sink) => {
      await sink.accept({ ticket: await orderExport(parameters.url, idempotencyKey) })
    },
  })
  .step({
    id: 'wait',
    polling: { everyMs: 30_000, firstAfterMs: 5_000, deadlineMs: 6 * 60 * 60_000 },
    output: z.object({ file: z.string() }),
    run: async ({ data }, sink) => {
      const { file, retryAfterMs } = await exportStatus(data.ticket)
      if (file === null) return retryLater(retryAfterMs)
      await sink.accept({ file })
      return done()
    },
  })
  .reducer({ id: 'files', initial: () => [] as string[], consume: (files, { file }) => [...files, file] })

test('an export that takes hours is waited for', async () => {
  const kit = testKit({ implementations: () => openChunked({ definitions: [exported] }).implementations })
  const chunked = openChunked({ definitions: [exported], clock: kit.clock })
  const { id } = await chunked.start(kit.control, exported, { url: 'https://example.org/data' })
  await kit.drain()
  const { state, errorCount, report } = await chunked.job(kit.control, id)
  assert.deepEqual([state, errorCount], ['completed', 0])
  assert.match(String(report), /\.zip$/)
  await kit.stop()
})

const lines = defineJob({ id: 'lines', version: 1, parameters: z.object({ every: z.int().min(1) }) })
  .firstStep({
    id: 'split',
    output: z.string(),
    run: async ({ attachment, cursor, checkpoint, parameters }, sink) => {
      let [rest, read] = ['', 0]
      for await (const block of attachment('input.txt')) {
        const parts = (rest + Buffer.from(block).toString('latin1')).split('\n')
        rest = parts.pop() ?? ''
        for (const line of parts) {
          read += 1
          // What was given out before the last checkpoint is not given out again.
          if (read > Number(cursor)) await sink.accept(line)
          if (read > Number(cursor) && read % parameters.every === 0) await checkpoint(read)
        }
      }
    },
  })
  .step({ id: 'work', chunkSize: 100, run: ({ data }) => done(data.length) })

test('an attachment is read, and a checkpoint says where to go on', async () => {
  const cwd = jobFolder()
  const file = join(cwd, written(cwd, 'big.txt', 'line\n'.repeat(1_050)))
  const chunked = openChunked({ definitions: [lines], folder: cwd })
  const sluice = await openSluice({ store: join(cwd, 's.db'), implementations: chunked.implementations })
  const { id } = await chunked.start(
    sluice,
    lines,
    { every: 500 },
    {
      attachments: [{ name: 'input.txt', contentType: 'text/plain', source: createReadStream(file) }],
    },
  )
  await sluice.settled(id)
  const { state, records, steps } = await chunked.job(sluice, id)
  await sluice.stop()
  assert.deepEqual([state, records], ['completed', 1_050])
  // A checkpoint hands over the lists as they are: 5 + 5 + 1.
  assert.equal(steps[1]?.total, 11)
})

test('what the guide shows is what is tested here', () => {
  const trimmed = (text: string) =>
    text
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '' && !/^(import |export default|\/\/ \S+\.ts$)/.test(line))
      .join('\n')
  const here = trimmed(readFileSync(new URL(import.meta.url), 'utf8'))
  assert.ok(blocks.length > 0)
  for (const block of blocks) assert.ok(here.includes(trimmed(block)), block)
})
