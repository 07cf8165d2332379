import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { newFolder, type Running, removeFolders, resultIn, sluice, start, written } from '../command-process.ts'

const started: Running[] = []
after(async () => {
  for (const running of started) running.process.kill('SIGKILL')
  await Promise.all(started.map(({ ending }) => ending))
  removeFolders()
})

const secretLine = 'root:x:0:0:a line that is no JSON'
const patient = `${JSON.stringify({ resourceType: 'Patient', id: 'one' })}\n`

interface Answer {
  readonly status: number
  readonly body: { readonly id: number; readonly message: string; readonly detail: string }
  readonly text: string
}

/** A server with a submitter's token of one collection: what somebody has who may start jobs and no more. */
async function server(cwd: string, ...words: readonly string[]) {
  const running = start(cwd, ['serve', '--listen', '127.0.0.1:0', '--log', 'silent', '--json', ...words])
  started.push(running)
  const { url } = JSON.parse((await running.told(/^\{.*\}\n/)) ?? '{}') as { url: string }
  const tokenOf = async (collection: string) => {
    const options = ['--name', `of-${collection}`, '--role', 'submitter', '--collections', collection, '--json']
    return (resultIn(await sluice(cwd, 'token', 'create', ...options)) as { token: string }).token
  }
  const [own, other] = [await tokenOf('a'), await tokenOf('b')]
  const ask = async (method: string, path: string, body?: unknown, token = own): Promise<Answer> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const init = body === undefined ? { method, headers } : { method, headers, body: JSON.stringify(body) }
    const response = await fetch(`${url}${path}`, init)
    const text = await response.text()
    return { status: response.status, text, body: JSON.parse(text) }
  }
  const run = (definition: string, parameters: unknown, token = own) =>
    ask('POST', '/api/jobs', { definition, parameters }, token)
  return { ask, run, other }
}

/** Every way in which a built-in job can name a place, one after another. */
const waysOf = (outside: string): Readonly<Record<string, readonly unknown[]>> => ({
  'fhir-import': [
    { inputs: [{ file: join(outside, 'people.txt') }] },
    { inputs: [{ file: join(outside, 'missing.ndjson') }] },
    { inputs: [{ folder: outside }] },
    { inputs: [{ file: '/etc/passwd' }] },
    { inputs: [{ file: '/proc/self/environ' }] },
    { inputs: [{ file: '../../../../../../etc/passwd' }] },
  ],
  'fhir-export': [{ into: join(outside, 'new') }, { into: outside }, { into: '/' }],
  'fhir-reindex': [],
})

function assertRefused({ status, text }: Answer, outside: string): void {
  assert.equal(status, 403, text)
  assert.match(text, /was not started: .*over the network/)
  assert.ok(!text.includes('root:x'), text)
  assert.deepEqual(readdirSync(outside), ['people.txt'])
}

test('a job that is started over HTTP uses no file of the server unless its operator allows a folder', async () => {
  const cwd = newFolder()
  const outside = newFolder()
  written(outside, 'people.txt', `${secretLine}\n${patient}`)
  const { ask, run } = await server(cwd)
  const ways = waysOf(outside)
  const { definitions } = JSON.parse((await ask('GET', '/api/jobs/definitions')).text) as {
    definitions: { id: string }[]
  }
  assert.deepEqual(definitions.map(({ id }) => id).sort(), Object.keys(ways).sort(), 'each built-in job is tried')
  for (const [definition, all] of Object.entries(ways)) {
    for (const parameters of all) {
      const answer = await run(definition, parameters)
      assertRefused(answer, outside)
      assert.match(answer.text, /--roots/)
    }
  }
  assert.ok(!existsSync(join(cwd, 'sluice-jobs', 'resources.db')), 'nothing was stored')
})

test('with roots it uses what is below them, links resolved, and no message quotes a file', async () => {
  const cwd = newFolder()
  const outside = newFolder()
  written(outside, 'people.txt', `${secretLine}\n${patient}`)
  const root = newFolder()
  mkdirSync(join(root, 'in'))
  written(root, 'in/good.ndjson', `${secretLine}\n${patient}`)
  symlinkSync(outside, join(root, 'way-out'))
  symlinkSync(join(outside, 'people.txt'), join(root, 'people.ndjson'))
  symlinkSync(join(outside, 'yet-to-come'), join(root, 'dangling'))
  const { ask, run, other } = await server(cwd, '--roots', root)
  const ways = waysOf(outside)
  const links = {
    'fhir-import': [
      { inputs: [{ file: join(root, 'way-out', 'people.txt') }] },
      { inputs: [{ folder: join(root, 'way-out') }] },
      { inputs: [{ file: join(root, 'people.ndjson') }] },
      { inputs: [{ folder: join(root, 'in') }, { file: join(root, 'in', '..', '..', 'x') }] },
    ],
    'fhir-export': [{ into: join(root, 'way-out', 'new') }, { into: join(root, 'dangling') }],
  }
  for (const [definition, all] of [...Object.entries(ways), ...Object.entries(links)]) {
    for (const parameters of all) assertRefused(await run(definition, parameters), outside)
  }

  const settled = async ({ body: { id } }: Answer, token?: string) => {
    await sluice(cwd, 'watch', String(id), '--quiet')
    return ask('GET', `/api/jobs/${id}`, undefined, token)
  }
  const good = await settled(await run('fhir-import', { inputs: [{ folder: join(root, 'in') }] }))
  assert.match(good.text, /"state":"completed"/)
  assert.match(good.text, /"created":1,.*"refused":1/)
  assert.ok(!good.text.includes('root:x'), good.text)
  const exported = await settled(await run('fhir-export', { into: join(root, 'out', 'first') }))
  assert.match(exported.text, /"state":"completed"/)
  assert.ok(readdirSync(join(root, 'out', 'first')).includes('manifest.json'))
  assert.match(exported.text, /"resources":1/)
  const foreign = await settled(await run('fhir-export', { into: join(root, 'out', 'second') }, other), other)
  assert.match(foreign.text, /"state":"completed"/)
  assert.match(foreign.text, /"resources":0/, 'a token of another collection exports nothing of this one')
  // A link below a root is found when the folder is listed.
  const linked = await settled(await run('fhir-import', { inputs: [{ folder: root }] }))
  assert.match(linked.text, /"state":"failed"/)
  assert.match(linked.text, /file not allowed/)
})

test('no root lets jobs from the network into the files of Sluice itself', async () => {
  const cwd = newFolder()
  mkdirSync(join(cwd, 'sluice-jobs', 'deep'), { recursive: true })
  const link = join(newFolder(), 'link')
  symlinkSync(join(cwd, 'sluice-jobs'), link)
  for (const root of ['.', '..', 'sluice-server', join('sluice-jobs', 'deep'), link, 'sluice.db']) {
    const { status, err } = await sluice(cwd, 'serve', '--listen', '127.0.0.1:0', '--roots', root)
    assert.equal(status, 2, `${root}: ${err}`)
    assert.match(err, /--roots cannot allow .*: Sluice keeps its own files there/)
  }
})
