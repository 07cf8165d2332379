import assert from 'node:assert/strict'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { newFolder, type Running, removeFolders, resultIn, sluice, start, written } from './command-process.ts'

const started: Running[] = []
after(async () => {
  for (const running of started) running.process.kill('SIGKILL')
  await Promise.all(started.map(({ ending }) => ending))
  removeFolders()
})

async function served(cwd: string, ...words: readonly string[]): Promise<Running & { readonly url: string }> {
  const running = start(cwd, ['serve', '--listen', '127.0.0.1:0', '--log', 'silent', '--json', ...words])
  started.push(running)
  const line = await running.told(/^\{.*\}\n/)
  assert.ok(line, (await Promise.race([running.ending, Promise.resolve(null)]))?.err)
  return { ...running, url: (JSON.parse(line) as { url: string }).url }
}

async function fetched(url: string): Promise<unknown> {
  const response = await fetch(url)
  assert.equal(response.status, 200, url)
  return (response.headers.get('content-type') ?? '').includes('json') ? response.json() : response.text()
}

describe('serve', () => {
  test('with no configuration at all: health, API, document, dashboard; it stops gracefully and goes on where it was', async () => {
    const cwd = newFolder()
    const first = await served(cwd)
    assert.deepEqual(await fetched(`${first.url}/health`), { status: 'ok' })
    await fetched(`${first.url}/ready`)
    assert.deepEqual(await fetched(`${first.url}/api/samples`), { offered: true })
    const { machines } = (await fetched(`${first.url}/api/machines`)) as { machines: { name: string }[] }
    for (const name of ['upload_batch', 'upload_item', 'chunked_job', 'chunked_chunk', 'walk'])
      assert.ok(
        machines.some((machine) => machine.name === name),
        name,
      )
    assert.match(String(await fetched(`${first.url}/`)), /<html/i)
    assert.match(JSON.stringify(await fetched(`${first.url}/openapi.json`)), /"openapi":"3\.1/)
    assert.equal(statSync(join(cwd, 'sluice-server')).mode & 0o077, 0)

    written(cwd, 'items.json', JSON.stringify([{ id: 1, type: 'story', title: 'one' }, { id: 2 }]))
    const uploaded = await sluice(
      newFolder(),
      'upload',
      'run',
      join(cwd, 'items.json'),
      '--server',
      first.url,
      '--collection',
      'red',
      '--json',
    )
    const { batchId, state, completed, failed } = resultIn(uploaded)
    assert.deepEqual([uploaded.status, state, completed, failed], [1, 'partially_completed', 1, 1])

    first.process.kill('SIGTERM')
    const ending = await first.ending
    assert.deepEqual(
      [ending.status, ending.err],
      [0, 'Stopping: what runs may end. Once more, and it leaves at once.\n'],
    )

    const second = await served(cwd)
    const shown = resultIn(await sluice(cwd, 'upload', 'show', String(batchId), '--server', second.url, '--json'))
    assert.deepEqual([shown.state, shown.collection, shown.uploadedBy], ['partially_completed', 'red', 'local'])
    const again = resultIn(await sluice(cwd, 'upload', 'run', 'items.json', '--server', second.url, '--json'))
    assert.deepEqual([again.batchId, again.existing], [batchId, true])
    second.process.kill('SIGINT')
    assert.equal((await second.ending).status, 0)
  })

  test('jobs are started on a server, with what is attached to them', async () => {
    const running = await served(newFolder())
    const away = newFolder()
    written(away, 'notes.txt', 'to be read')
    const known = await sluice(away, 'job', 'definitions', 'fhir-reindex', '--server', running.url)
    assert.match(known.out, /^fhir-reindex, version 1/)
    const ran = await sluice(
      away,
      'job',
      'run',
      'fhir-reindex',
      '--attach',
      'notes.txt',
      '--collection',
      'red',
      '--server',
      running.url,
      '--json',
    )
    assert.equal(ran.status, 0, ran.err)
    const { jobId } = resultIn(ran)
    const view = resultIn(await sluice(away, 'job', 'show', String(jobId), '--server', running.url, '--json'))
    const [attached] = view.attachments as { name: string; bytes: number }[]
    assert.deepEqual(
      [view.collection, view.state, attached?.name, attached?.bytes],
      ['red', 'completed', 'notes.txt', 10],
    )
    const unknown = await sluice(away, 'job', 'run', 'nothing', '--server', running.url)
    assert.equal(unknown.status, 2)
    assert.match(unknown.err, /nothing/)
    assert.equal((await sluice(away, 'job', 'sweep', '--server', running.url)).status, 7)
    assert.deepEqual(readdirSync(away), ['notes.txt'])
    running.process.kill('SIGTERM')
    assert.equal((await running.ending).status, 0)
  })

  test('samples are made on an empty store, and only there', async () => {
    const cwd = newFolder()
    const running = await served(cwd, '--samples')
    const [, ids] = /entities ([\d, ]+)\./.exec((await running.heard(/Samples: entities .*\n/)) ?? '') ?? []
    const [batch] = (ids ?? '').split(', ')
    const watched = await sluice(cwd, 'watch', String(batch), '--server', running.url)
    assert.equal(watched.status, 1, watched.err)
    assert.match(watched.out, /is partially completed\.\nChildren: .*200 failed/)
    running.process.kill('SIGTERM')
    await running.ending
    const again = await served(cwd, '--samples', '--no-dashboard')
    assert.match((await again.heard(/No samples.*\n/)) ?? '', /the store is not empty/)
    assert.equal((await fetch(`${again.url}/`)).status, 404)
    again.process.kill('SIGTERM')
    await again.ending
  })

  test('what cannot be served is refused in one sentence, and leaves nothing open', async () => {
    const cwd = newFolder()
    const outside = await sluice(cwd, 'serve', '--listen', '0.0.0.0:0')
    assert.equal(outside.status, 2)
    assert.match(outside.err, /^There is no token, .*sluice token create.*\n$/)
    const taken = createServer()
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
    const { port } = taken.address() as { port: number }
    const busy = await sluice(cwd, 'serve', '--listen', String(port))
    assert.equal(busy.status, 2)
    assert.match(busy.err, new RegExp(`^Something listens there already \\(127\\.0\\.0\\.1:${port}\\)[^\n]*\n$`))
    taken.close()
    const config = written(cwd, 'wrong.json', '{"listen": "x", "colour": "red"}')
    const wrong = await sluice(cwd, 'serve', '--config', config)
    assert.equal(wrong.status, 2)
    assert.match(wrong.err, /^The settings do not fit: wrong\.json: listen: .*; wrong\.json: colour is not known .*\n$/)
    const module = await sluice(cwd, 'serve', '--machines', 'none.ts')
    assert.deepEqual([module.status, module.err], [4, 'The module of machines none.ts does not exist.\n'])
  })

  test('with a token it may listen beyond this machine', async () => {
    const cwd = newFolder()
    const { out: token } = await sluice(
      cwd,
      'token',
      'create',
      '--name',
      'ops',
      '--role',
      'operator',
      '--collections',
      'a,b',
    )
    const running = start(cwd, ['serve', '--listen', '0.0.0.0:0', '--json'])
    started.push(running)
    const { url } = JSON.parse((await running.told(/^\{.*\}\n/)) ?? 'null') as { url: string }
    const here = `http://127.0.0.1:${new URL(url).port}`
    assert.equal((await fetch(`${here}/api/totals`)).status, 401)
    const answer = await fetch(`${here}/api/session`, { headers: { authorization: `Bearer ${token.trim()}` } })
    const { actor, role, collections } = (await answer.json()) as Record<string, unknown>
    assert.deepEqual([actor, role, collections], ['ops', 'operator', ['a', 'b']])
    running.process.kill('SIGTERM')
    assert.equal((await running.ending).status, 0)
  })
})

describe('worker', () => {
  test('works on a store that others fill, and stops when it is told to', async () => {
    const cwd = newFolder()
    written(cwd, 'items.json', JSON.stringify([{ id: 1, type: 'story', title: 'one' }]))
    assert.equal((await sluice(cwd, 'upload', 'run', 'items.json', '--quiet')).status, 0)
    const failed = await sluice(cwd, 'job', 'run', 'fhir-reindex', '--no-wait', '--json')
    const { jobId } = resultIn(failed)
    const running = start(cwd, ['worker', '--json'])
    started.push(running)
    assert.ok(await running.told(/^\{.*\}\n/))
    const watched = await sluice(cwd, 'watch', String(jobId))
    assert.equal(watched.status, 0, watched.err)
    running.process.kill('SIGTERM')
    assert.equal((await running.ending).status, 0)
    assert.ok(!existsSync(join(cwd, 'sluice-server')))
  })
})

test('a worker tells its health and what it ran, children included, at an address of its own', async () => {
  const cwd = newFolder()
  const items = [1, 2, 3].map((id) => ({ id, type: id === 3 ? 'nonsense' : 'story' }))
  written(cwd, 'items.json', JSON.stringify(items))
  const worker = start(cwd, ['worker', '--metrics', '0', '--json'])
  started.push(worker)
  const { metrics } = JSON.parse((await worker.told(/^\{.*\}\n/)) ?? 'null') as { metrics: string }
  const page = async (path: string, method = 'GET') => {
    const answer = await fetch(`${metrics}${path}`, { method })
    return [answer.status, await answer.text()] as const
  }
  assert.deepEqual(await page('/health'), [200, '{"status":"ok"}\n'])
  assert.deepEqual(await page('/ready'), [200, '{"status":"ready"}\n'])
  assert.equal((await page('/other'))[0], 404)
  assert.equal((await page('/metrics', 'POST'))[0], 405)
  assert.match((await page('/metrics'))[1], /^sluice_moves_total 0$/m)
  // The server takes the file; only the worker knows what to do with it.
  const { url } = await served(cwd, '--machines', 'walk')
  const ran = resultIn(await sluice(cwd, 'upload', 'run', 'items.json', '--server', url, '--json'))
  assert.deepEqual([ran.completed, ran.failed], [2, 1])
  const [, text] = await page('/metrics')
  const value = (name: string, labels: RegExp) =>
    [...text.matchAll(new RegExp(`^${name}{(.*)} (\\d+)$`, 'gm'))]
      .filter(([, all = '']) => labels.test(all))
      .map(([, , count]) => Number(count))
  assert.deepEqual(value('sluice_settled_total', /machine="upload_item".*state="completed",outcome="success"/), [2])
  assert.deepEqual(value('sluice_settled_total', /machine="upload_item".*state="failed",outcome="failure"/), [1])
  assert.ok(value('sluice_runs_total', /machine="upload_item".*end="done"/).length > 0, text)
})
