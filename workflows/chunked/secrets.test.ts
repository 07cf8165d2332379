import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { defineJob } from './define-job.ts'
import { redacted, redactedText } from './redaction.ts'
import { refused, Stage, soon } from './test/stage.ts'

const signed = 'https://data.example.org/a.ndjson?X-Amz-Signature=abcdef0123&part=2'
const secrets = ['s3cr3t-value', 'abcdef0123', 'hunter22', 'nested-key', 'of-a-user']

const parameters = z.object({
  url: z.string(),
  database: z.string(),
  clientCode: z.string().meta({ secret: true }),
  apiKey: z.string(),
  servers: z.array(z.object({ name: z.string(), login: z.object({ phrase: z.string() }).meta({ secret: true }) })),
  limit: z.number(),
})
const given = {
  url: signed,
  database: 'postgres://of-a-user:hunter22@db.example.org/main',
  clientCode: 's3cr3t-value',
  apiKey: 'nested-key-2',
  servers: [{ name: 'one', login: { phrase: 'nested-key' } }],
  limit: 5,
}

test('secrets of parameters and URLs are whole for steps and handlers, and in no view, message or history', async () => {
  const seen: unknown[] = []
  const job = defineJob({
    id: 'secretive',
    version: 1,
    parameters: parameters.transform((all) => ({ ...all, header: `Bearer ${all.clientCode}` })),
    onFailed: (ending) => void seen.push((ending.parameters as typeof given).clientCode),
  })
    .firstStep({
      id: 'fetch',
      output: z.object({ url: z.string() }),
      run: async ({ parameters: { clientCode, url, header }, progress }, sink) => {
        seen.push(clientCode, url, header)
        progress({ fetching: url })
        sink.warn(`slow: ${url} with ${clientCode}`)
        await sink.accept({ url })
      },
    })
    .step({
      id: 'use',
      retry: { ...soon, attemptsMax: 2 },
      run: ({ data, parameters: { clientCode } }) => {
        seen.push(data.url)
        throw new Error(`GET ${data.url} with ${clientCode} was refused`)
      },
    })
  await using stage = await Stage.open('memory', [job])
  const view = await stage.run(job, given)
  const told = await stage.until(view.id, 'the handler', ({ request }) => request === null)
  assert.deepEqual(seen, ['s3cr3t-value', signed, 'Bearer s3cr3t-value', signed, signed, 's3cr3t-value'])

  const chunks = await stage.chunks(view.id)
  const ids = [view.id, ...chunks.map(({ id }) => id)]
  const views = {
    job: await stage.view(view.id),
    told,
    chunks,
    entities: await Promise.all(ids.map((id) => stage.control.get(id))),
    list: await stage.control.list({ parent: view.id, limit: 10 }),
    history: await Promise.all(ids.map((id) => stage.control.history(id))),
    explained: await Promise.all(ids.map((id) => stage.control.explain(id))),
    warnings: await stage.chunked.warnings(stage.control, view.id),
    log: stage.warnings,
  }
  for (const [name, text] of Object.entries(views).map(([name, shown]) => [name, JSON.stringify(shown)] as const)) {
    for (const secret of secrets) assert.ok(!text.includes(secret), `${name} shows ${secret}: ${text}`)
  }
  assert.deepEqual(views.job.parameters, {
    url: 'https://data.example.org/a.ndjson?X-Amz-Signature=…&part=…',
    database: 'postgres://[hidden]@db.example.org/main',
    clientCode: '[hidden]',
    apiKey: '[hidden]',
    servers: [{ name: 'one', login: '[hidden]' }],
    limit: 5,
    header: '[hidden]',
  })
})

test('the same key with another secret is another request, though both look the same', async () => {
  const job = defineJob({ id: 'keyed', version: 1, parameters }).firstStep({ id: 'only', run: () => {} })
  await using stage = await Stage.open('memory', [job])
  const id = await stage.start(job, given, { key: 'one' })
  assert.equal(await stage.start(job, given, { key: 'one' }), id)
  const other = { ...given, clientCode: 'another-one' }
  await assert.rejects(stage.start(job, other, { key: 'one' }), refused('conflict', /was used for job/))
})

test('a refusal of parameters does not quote a secret', async () => {
  const code = z.string().refine(() => false, { error: ({ input }) => `${String(input)} is no code` })
  const job = defineJob({ id: 'refusing', version: 1, parameters: z.object({ code: code.meta({ secret: true }) }) })
  const whole = job.firstStep({ id: 'only', run: () => {} })
  await using stage = await Stage.open('memory', [whole])
  await assert.rejects(stage.start(whole, { code: 's3cr3t-value' }), refused('invalid', /code: \[hidden\] is no code/))
})

test('a secret that only its name tells is in no message either, and nothing of the server is in a view', async () => {
  const job = defineJob({
    id: 'named',
    version: 1,
    parameters: z.object({ password: z.string(), credentials: z.object({ value: z.string() }), note: z.string() }),
  }).firstStep({
    id: 'only',
    retry: { ...soon, attemptsMax: 1 },
    run: ({ parameters: { password, credentials, note } }) => {
      throw new Error(`${note}: ${password} and ${credentials.value} were refused`)
    },
  })
  await using stage = await Stage.open('memory', [job])
  const id = await stage.start(
    job,
    { password: 'open-sesame', credentials: { value: 'below-a-name' }, note: 'login' },
    { roots: ['/srv/of-the-operator'] },
  )
  await stage.settled(id)
  const chunks = await stage.chunks(id)
  const ids = [id, ...chunks.map((chunk) => chunk.id)]
  const text = JSON.stringify([
    await Promise.all(ids.map((one) => stage.control.get(one))),
    await Promise.all(ids.map((one) => stage.control.history(one))),
    await stage.view(id),
    chunks,
  ])
  assert.match(text, /login: \[hidden\] and \[hidden\] were refused/)
  for (const part of ['open-sesame', 'below-a-name', 'of-the-operator']) assert.ok(!text.includes(part), text)
})

test('a short secret hides itself, and not every text that has it somewhere', async () => {
  const job = defineJob({
    id: 'short',
    version: 1,
    parameters: z.object({ pin: z.string().meta({ secret: true }), note: z.string() }),
  }).firstStep({ id: 'only', run: () => {} })
  await using stage = await Stage.open('memory', [job])
  const { parameters: shown } = await stage.run(job, { pin: '12', note: '12 letters of 2026' })
  assert.deepEqual(shown, { pin: '[hidden]', note: '12 letters of 2026' })
})

test('a URL is hidden to its end, and so are headers that let somebody in', () => {
  assert.equal(redacted("https://h/x?sig=it's<over>`here"), 'https://h/x?sig=…')
  assert.equal(redactedText('at https://h/x#access_token=abc then'), 'at https://h/x#access_token=… then')
  const headers = { 'x-api-key': 'a', 'private-key': 'b', cookie: 'c', 'Set-Cookie': 'd', 'access-key': 'e' }
  assert.deepEqual([...new Set(Object.values(redacted(headers) as object))], ['[hidden]'])
})

test('what carries no key is shown as it is', () => {
  const plain = {
    token_count: 3,
    tokens: 'a b',
    note: 'see https://example.org/a/b#c and ://',
    at: null,
    list: [1, 'x'],
  }
  assert.deepEqual(redacted(plain), plain)
  assert.equal(redactedText('ftp://me:pw@h/x then https://h/?a=1'), 'ftp://[hidden]@h/x then https://h/?a=…')
  assert.deepEqual(redacted({ a: { accessToken: 'x', password: { set: true } } }), {
    a: { accessToken: '[hidden]', password: { set: true } },
  })
})
