import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { verifySignature } from 'sluice/upload'
import { type Ending, newFolder, removeFolders, resultIn, sluice, start, written } from './command-process.ts'

after(removeFolders)

const story = (id: number) => ({
  id,
  type: 'story',
  by: 'ada',
  time: 1_700_000_000 + id,
  title: `Story ${id}`,
  score: id,
})
const good = JSON.stringify([
  story(1),
  story(2),
  { id: 3, type: 'comment', by: 'bob', time: 1_700_000_009, parent: 1, text: 'Yes.' },
])
const mixed = JSON.stringify([story(1), null, { id: 4 }, story(5), story(1)])

describe('upload run', () => {
  test('a good file is completed: exit 0, and a report for people', async () => {
    const cwd = newFolder()
    const { status, out, err } = await sluice(cwd, 'upload', 'run', written(cwd, 'items.json', good))
    assert.match(out, /^Batch \d+ \(items\.json\) is completed\.\nIt took /)
    assert.match(out, /total {6}3\n {2}completed {2}3\n {2}failed {5}0\n {2}skipped {4}0\n/)
    assert.ok(!err.includes('\x1b'))
    assert.equal(status, 0)
  })

  test('--json prints one object, the same file again is the same batch, and --force is another', async () => {
    const cwd = newFolder()
    const file = written(cwd, 'items.json', good)
    const first = await sluice(cwd, 'upload', 'run', file, '--json', '--quiet')
    const result = resultIn(first)
    assert.deepEqual(Object.keys(result).sort(), [
      'batchId',
      'completed',
      'existing',
      'failed',
      'itemsPerSecond',
      'peakRssMiB',
      'pending',
      'seconds',
      'skipped',
      'state',
      'total',
    ])
    const { batchId, state, existing, total, completed, failed, skipped, pending, peakRssMiB } = result
    assert.deepEqual(
      { state, existing, total, completed, failed, skipped, pending },
      {
        state: 'completed',
        existing: false,
        total: 3,
        completed: 3,
        failed: 0,
        skipped: 0,
        pending: 0,
      },
    )
    assert.ok(Number(peakRssMiB) > 20)
    assert.equal(first.err, '')

    const again = await sluice(cwd, 'upload', 'run', file, '--json')
    assert.equal(again.status, 0)
    assert.equal(resultIn(again).existing, true)
    assert.equal(resultIn(again).batchId, batchId)

    const forced = resultIn(await sluice(cwd, 'upload', 'run', file, '--json', '--force'))
    assert.equal(forced.existing, false)
    assert.notEqual(forced.batchId, batchId)
    assert.equal(forced.skipped, 3, 'all of it is known')
    assert.equal(forced.state, 'completed')
  })

  test('bad elements leave a partial success: exit 1, reasons, and commands that work', async () => {
    const cwd = newFolder()
    const run = await sluice(cwd, 'upload', 'run', written(cwd, 'mixed.json', mixed))
    assert.equal(run.status, 1, run.err)
    assert.match(run.out, /is partially completed/)
    assert.match(run.out, /total {6}5\n {2}completed {2}2\n {2}failed {5}2\n {2}skipped {4}1\n/)
    assert.match(run.out, /Why items failed\n(.*e\.g\. item \d+: .*\n){2}/)
    const id = /sluice upload errors (\d+) /.exec(run.out)?.[1] ?? assert.fail(run.out)

    const errors = await sluice(cwd, 'upload', 'errors', id, '--json', '--limit', '1')
    const page = resultIn(errors) as { errors: { itemIndex: number; reason: string }[]; next: number | null }
    assert.equal(page.errors[0]?.itemIndex, 1)
    const rest = await sluice(cwd, 'upload', 'errors', id, '--after', String(page.next))
    assert.match(rest.out, /^ *item +byte/)
    assert.equal(rest.out.trim().split('\n').length, 2)

    const show = await sluice(cwd, 'upload', 'show', id)
    assert.match(show.out, new RegExp(`^Batch ${id} is partially completed\\.`))
    assert.equal(show.status, 0)

    const retry = await sluice(cwd, 'upload', 'retry', id, '--json')
    assert.equal(retry.status, 1, retry.err)
    const { batchId, state, failed } = resultIn(retry)
    assert.deepEqual({ batchId, state, failed }, { batchId: Number(id), state: 'partially_completed', failed: 2 })
  })

  const refused: readonly [what: string, content: string | Buffer, why: RegExp][] = [
    ['an empty file', '', /empty|0 bytes|fileSize/i],
    ['a page of HTML', '<!doctype html><html><body>Hello</body></html>', /json|html/i],
    ['a string', '"hello"', /string|array|object/i],
    ['a truncated array', '[{"id":1,"type":"story"},{"id":2,', /truncated|end/i],
    ['broken gzip', gzipSync(good).subarray(0, 60), /gzip|compressed/i],
  ]
  for (const [what, content, why] of refused) {
    test(`${what} fails with its own reason: exit 2`, async () => {
      const cwd = newFolder()
      const ending = await sluice(cwd, 'upload', 'run', written(cwd, 'bad.json', content), '--json')
      assert.equal(ending.status, 2)
      const { state, error } = resultIn(ending)
      assert.match(String(error), why)
      assert.ok(['failed', 'refused'].includes(String(state)), String(state))
      assert.doesNotMatch(ending.err, /\n {4}at /, 'no stack trace')
    })
  }

  test('a file that is too big is refused before it is read', async () => {
    const cwd = newFolder()
    const ending = await sluice(cwd, 'upload', 'run', written(cwd, 'items.json', good), '--max-size', '10', '--json')
    assert.equal(ending.status, 2)
    assert.equal(resultIn(ending).state, 'refused')
    assert.equal(resultIn(ending).batchId, null)
  })

  test('a file with another digest than was said is refused, and leaves no batch', async () => {
    const cwd = newFolder()
    const file = written(cwd, 'items.json', good)
    const ending = await sluice(cwd, 'upload', 'run', file, '--sha256', '0'.repeat(64), '--json')
    assert.equal(ending.status, 2)
    assert.deepEqual([resultIn(ending).state, resultIn(ending).batchId], ['refused', null])
    assert.match(String(resultIn(ending).error), /^The sha256 of what arrived is [0-9a-f]{64}, not 0+ as was announced/)
    const sha256 = createHash('sha256').update(good).digest('hex')
    assert.equal((await sluice(cwd, 'upload', 'run', file, '--sha256', sha256, '--quiet')).status, 0)
  })

  test('a missing file or a folder is refused in one sentence, and leaves nothing behind', async () => {
    const cwd = newFolder()
    const missing = await sluice(cwd, 'upload', 'run', 'nothing.json')
    assert.deepEqual(missing, { status: 2, out: '', err: 'nothing.json does not exist.\n' })
    const folder = await sluice(cwd, 'upload', 'run', '.')
    assert.deepEqual(folder, { status: 2, out: '', err: '. is a folder, not a file.\n' })
    assert.equal(existsSync(join(cwd, 'sluice.db')), false)
    assert.equal(existsSync(join(cwd, 'sluice-upload')), false)
  })

  test('a store that is none is refused in one sentence', async () => {
    const cwd = newFolder()
    written(cwd, 'sluice.db', 'this is no database, but a text of some length\n'.repeat(100))
    const ending = await sluice(cwd, 'upload', 'run', written(cwd, 'items.json', good), '--quiet')
    assert.equal(ending.status, 2)
    assert.match(ending.err, /^[^\n]*sluice\.db[^\n]*\n$/)
  })

  test('--notify tells a webhook at the end, signed', async () => {
    const cwd = newFolder()
    const calls: { readonly header: string; readonly body: string }[] = []
    const server = createServer(async (request, response) => {
      calls.push({ header: String(request.headers['sluice-signature']), body: await text(request) })
      response.end()
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    try {
      const secret = 'sixteen characters'
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
      const settings = written(cwd, 'notify.json', JSON.stringify({ webhook: { url, secret, allow: ['127.0.0.1'] } }))
      const ending = await sluice(cwd, 'upload', 'run', written(cwd, 'items.json', good), '--notify', settings)
      assert.equal(ending.status, 0, ending.err)
      assert.equal(calls.length, 1)
      const [{ header, body } = assert.fail()] = calls
      assert.ok(verifySignature(body, header, secret, { now: Date.now() }))
      assert.equal(JSON.parse(body).state, 'completed')
      const wrong = written(cwd, 'wrong.json', JSON.stringify({ webhook: { url, secret: 'short' } }))
      const refused = await sluice(cwd, 'upload', 'run', 'items.json', '--notify', wrong)
      assert.equal(refused.status, 2)
      assert.match(refused.err, /^The notification settings do not fit: notification\.webhook\.secret: .*\n$/)
    } finally {
      server.close()
    }
  })

  test('a receiver that is down keeps neither the batch nor the command; upload notify sends it again', async () => {
    const cwd = newFolder()
    let status = 410
    const server = createServer((request, response) => {
      request.resume()
      response.writeHead(status).end()
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
      const webhook = { url, secret: 'sixteen characters', allow: ['127.0.0.1'] }
      const settings = written(cwd, 'notify.json', JSON.stringify({ webhook }))
      const run = await sluice(cwd, 'upload', 'run', written(cwd, 'items.json', good), '--notify', settings)
      assert.equal(run.status, 0, run.err)
      assert.match(run.out, /Needs attention\n {2}The notification was not sent: .*status 410/)
      assert.match(run.out, /sluice upload notify 1 --notify/)
      const still = await sluice(cwd, 'upload', 'notify', '1', '--notify', settings)
      assert.equal(still.status, 1, still.err + still.out)
      assert.match(still.out, /was not sent: .*status 410/)
      status = 204
      const sent = await sluice(cwd, 'upload', 'notify', '1', '--notify', settings)
      assert.deepEqual(sent, { status: 0, out: 'The notification of batch 1 was sent.\n', err: '' })
      assert.doesNotMatch((await sluice(cwd, 'upload', 'show', '1')).out, /Needs attention/)
    } finally {
      server.close()
    }
  })

  test('standard input is a file too, gzip or not', async () => {
    const cwd = newFolder()
    const running = start(cwd, ['upload', 'run', '-', '--name', 'pipe.json', '--json'])
    running.process.stdin?.end(gzipSync(good))
    const ending = await running.ending
    assert.equal(ending.status, 0, ending.err)
    assert.equal(resultIn(ending).completed, 3)
    assert.match((await sluice(cwd, 'upload', 'show', String(resultIn(ending).batchId))).out, /file +pipe\.json \(/)
  })
})

/** Enough that a run can be stopped in the middle. */
function manyItems(cwd: string): { readonly file: string; readonly count: number } {
  const count = 30_000
  const lines = Array.from({ length: count }, (_, index) => JSON.stringify(story(index + 1))).join('\n')
  return { file: written(cwd, 'many.jsonl', lines), count }
}

async function interrupted(cwd: string, file: string): Promise<Ending> {
  const running = start(cwd, ['upload', 'run', file])
  assert.ok(await running.heard(/validating|extracting|processing/))
  running.process.kill('SIGINT')
  return running.ending
}

describe('Ctrl-C', () => {
  test('while a file is received: nothing was begun, and the same command is told', async () => {
    const cwd = newFolder()
    const running = start(cwd, ['upload', 'run', '-', '--name', 'pipe.json', '--json'])
    running.process.stdin?.write(`[${JSON.stringify(story(1))}${' '.repeat(2 ** 21)}`)
    assert.ok(await running.heard(/receiving: /))
    running.process.kill('SIGINT')
    const ending = await running.ending
    assert.equal(ending.status, 130, ending.err)
    assert.match(ending.err, /Stopping\. Press Ctrl-C again to leave at once\.\n/)
    assert.match(ending.err, /it goes on with: sluice upload run - --name pipe\.json --json\n$/)
    assert.equal(resultIn(ending).batchId, null)
  })

  test('while a batch is processed: it stops in peace, and the same command finishes it', async () => {
    const cwd = newFolder()
    const { file, count } = manyItems(cwd)
    const ending = await interrupted(cwd, file)
    assert.equal(ending.status, 130, ending.err + ending.out)
    assert.match(ending.err, /Interrupted\. Batch \d+ is \w+; it goes on with: sluice upload run many\.jsonl\n$/)

    const again = await sluice(cwd, 'upload', 'run', file, '--json')
    assert.equal(again.status, 0, again.err)
    const { existing, total, completed } = resultIn(again)
    assert.deepEqual({ existing, total, completed }, { existing: true, total: count, completed: count })
  })

  test('what was stopped can be looked at without setting it going, given up, and tried again as a whole', async () => {
    const cwd = newFolder()
    const { file, count } = manyItems(cwd)
    const [, id = ''] = /Batch (\d+) is/.exec((await interrupted(cwd, file)).err) ?? []
    const looked = await Promise.all([1, 2].map(() => sluice(cwd, 'upload', 'show', id, '--json')))
    const [first, second] = looked.map(resultIn)
    assert.deepEqual([first?.state, first?.itemsPending], [second?.state, second?.itemsPending])

    const given = await sluice(cwd, 'upload', 'fail', id, '--reason', 'wrong file')
    assert.deepEqual(given, { status: 0, out: `Batch ${id} is failed.\n`, err: '' })
    assert.match((await sluice(cwd, 'upload', 'show', id)).out, /wrong file/)
    assert.equal((await sluice(cwd, 'upload', 'fail', id)).status, 5, 'it is over already')

    const retried = await sluice(cwd, 'upload', 'retry', id, '--json')
    assert.equal(retried.status, 0, retried.err)
    assert.deepEqual([resultIn(retried).state, resultIn(retried).completed], ['completed', count])
    const over = await sluice(cwd, 'upload', 'retry', id)
    assert.deepEqual(over.err, `Batch ${id} is completed: nothing in it failed, so there is nothing to retry.\n`)
    assert.equal(over.status, 2)
  })
})

describe('a retry that was interrupted', () => {
  test('goes on with the command that it prints', async () => {
    const cwd = newFolder()
    const { file, count } = manyItems(cwd)
    const [, id = ''] = /Batch (\d+) is/.exec((await interrupted(cwd, file)).err) ?? []
    assert.equal((await sluice(cwd, 'upload', 'fail', id)).status, 0)
    const running = start(cwd, ['upload', 'retry', id])
    assert.ok(await running.heard(/validating|extracting|processing/))
    running.process.kill('SIGINT')
    const stopped = await running.ending
    const [, printed = ''] = /it goes on with: sluice (upload retry \d+)\n$/.exec(stopped.err) ?? []
    assert.equal(printed, `upload retry ${id}`, stopped.err + stopped.out)
    const again = await sluice(cwd, ...printed.split(' '), '--json')
    assert.equal(again.status, 0, again.err)
    assert.deepEqual([resultIn(again).state, resultIn(again).completed], ['completed', count])
  })

  for (const words of [
    ['upload', 'retry', '1'],
    ['upload', 'run', 'mixed.json'],
  ]) {
    test(`before a worker took it up: ${words.join(' ')} carries it out, once`, async () => {
      const cwd = newFolder()
      assert.equal((await sluice(cwd, 'upload', 'run', written(cwd, 'mixed.json', mixed))).status, 1)
      const asked = await sluice(cwd, 'act', 'retry_failed_items', '1', '--yes', '--json')
      assert.equal(asked.status, 0, asked.err)
      const ending = await sluice(cwd, ...words, '--json')
      assert.equal(ending.status, 1, ending.err)
      assert.equal(resultIn(ending).pending, 0)
      const { itemRetry } = resultIn(await sluice(cwd, 'upload', 'show', '1', '--json')) as {
        itemRetry: Record<string, unknown> | null
      }
      assert.deepEqual([itemRetry?.retried, itemRetry?.refused], [1, 1])
      const { out } = await sluice(cwd, 'history', '1')
      assert.equal(out.match(/retry_failed_items/g)?.length, 1, out)
    })
  }
})

describe('looking', () => {
  test('batches with the names of their files; failed items as a table that can be typed from, and as CSV', async () => {
    const cwd = newFolder()
    const elements = [{ id: 1_000_170, type: 'song' }, null, story(1)]
    await sluice(cwd, 'upload', 'run', written(cwd, 'first.json', JSON.stringify(elements)))
    await sluice(cwd, 'upload', 'run', written(cwd, 'second.json', good))
    const list = await sluice(cwd, 'upload', 'list')
    assert.match(list.out, /^id +state +file +items +failed +uploaded +by\n\d+ +completed +second\.json +3 +0 /)
    assert.match(list.out, /\n1 +partially completed +first\.json +3 +2 /)
    const { batches } = resultIn(await sluice(cwd, 'upload', 'list', '--json', '--limit', '1')) as { batches: object[] }
    assert.equal(batches.length, 1)
    assert.match((await sluice(cwd, 'upload', 'errors', '1')).out, / 1000170 /)
    const csv = await sluice(cwd, 'upload', 'errors', '1', '--csv')
    const [head, first, second, end] = csv.out.split('\r\n')
    assert.equal(head, 'itemIndex,offset,hnId,errorType,reason,errorMessage,occurredAt,retryCount')
    assert.match(first!, /^0,1,1000170,VALIDATION,unknown type,"""type"" is ""song"";.*",\d{4}-.*Z,1$/)
    assert.match(second!, /^1,\d+,,VALIDATION,null element,/)
    assert.equal(end, '')
    const page = await sluice(cwd, 'upload', 'errors', '1', '--csv', '--limit', '1')
    assert.match(page.err, /^There are more: sluice upload errors 1 --after \d+ --limit 1 --csv\n$/)
    assert.equal((await sluice(cwd, 'upload', 'errors', '1', '--csv', '--json')).status, 2)
  })

  test('without a store nothing is made; an unknown batch is not found', async () => {
    const cwd = newFolder()
    const missing = await sluice(cwd, 'upload', 'show', '1')
    assert.match(missing.err, /^There is no store at sluice\.db\..*\n$/)
    assert.equal(missing.status, 4)
    assert.equal(existsSync(join(cwd, 'sluice-upload')), false)
    await sluice(cwd, 'upload', 'run', written(cwd, 'items.json', good))
    const unknown = await sluice(cwd, 'upload', 'errors', '999')
    assert.equal(unknown.status, 4)
    assert.match(unknown.err, /^[^\n]*999[^\n]*\n$/)
  })
})

describe('search', () => {
  test('what was uploaded is found, page by page, as a thread, and after a rebuild', async () => {
    const cwd = newFolder()
    const items = [
      { ...story(1), title: 'The \x1b[31mred canal' },
      story(2),
      { id: 3, type: 'comment', by: 'bob', time: 1_700_000_009, parent: 1, text: 'It&#x27;s <i>wet</i>.' },
      { id: 4, type: 'comment', by: 'ada', time: 1_700_000_010, parent: 3, text: 'So it is.' },
    ]
    const file = written(cwd, 'items.json', JSON.stringify(items))
    assert.equal((await sluice(cwd, 'upload', 'run', file, '--quiet', '--no-text-index')).status, 0)

    const first = await sluice(cwd, 'upload', 'search', '--type', 'story,job', '--sort', 'score', '--limit', '1')
    assert.match(first.out, /^hnId +type +score +day +by +what\n2 +story +2 +2023-11-14 +ada +Story 2\n$/)
    const [, more = ''] = /^There are more: sluice (.*)\n$/.exec(first.err) ?? []
    const second = await sluice(cwd, ...more.split(' '))
    assert.match(second.out, /\n1 +story +1 +2023-11-14 +ada +The \\x1b\[31mred canal\n$/)
    assert.equal(second.err, '')
    const found = resultIn(await sluice(cwd, 'upload', 'search', '--parent', '1', '--descendants', '--json'))
    assert.deepEqual((found.found as { hnId: number }[]).map(({ hnId }) => hnId).sort(), [3, 4])
    assert.equal((await sluice(cwd, 'upload', 'search', '--author', 'nobody')).out, 'Nothing was found.\n')
    const wrong = await sluice(cwd, 'upload', 'search', '--type', 'song')
    assert.equal(wrong.status, 2)
    assert.match(wrong.err, /types must be .*song.*\n$/)

    const thread = await sluice(cwd, 'upload', 'thread', '3')
    assert.equal(
      thread.out,
      "  1 story by ada, 1 points: The \\x1b[31mred canal\n*   3 comment by bob: It's wet .\n      4 comment by ada: So it is.\n",
    )
    assert.equal((await sluice(cwd, 'upload', 'thread', '77')).status, 4)

    const off = await sluice(cwd, 'upload', 'search', '--text', 'canal')
    assert.equal(off.status, 5)
    assert.match(off.err, /^[^\n]*cannot be searched by text[^\n]*\n$/)
    const rebuilt = await sluice(cwd, 'upload', 'rebuild-index', '--text-index')
    assert.match(rebuilt.out, /^The search index is new: 4 items in /)
    assert.match((await sluice(cwd, 'upload', 'search', '--text', 'canal')).out, /\n1 +story/)
  })
})

describe('upload sample', () => {
  test('a run over a sample comes to what was told', async () => {
    const cwd = newFolder()
    const words = ['upload', 'sample', 's.json', '--items', '500', '--bad', '10%', '--duplicates', '0.1', '--gzip']
    const { expected } = resultIn(await sluice(cwd, ...words, '--json')) as { expected: Record<string, number> }
    const { total, completed, failed, skipped } = resultIn(await sluice(cwd, 'upload', 'run', 's.json', '--json'))
    assert.deepEqual({ total, completed, failed, skipped }, expected)
    assert.deepEqual([expected.total, expected.failed, expected.skipped], [500, 50, 25])
    const again = await sluice(cwd, ...words)
    assert.equal(again.err, 's.json exists. Take another name, or --force to write over it.\n')
    assert.equal(again.status, 5)
  })
})

describe('a search index that does not belong to its store', () => {
  const index = ['catalogue.db', 'catalogue.db-wal', 'catalogue.db-shm']
  const removed = (cwd: string, folder: string, names: readonly string[]) => {
    for (const name of names) rmSync(join(cwd, folder, name), { force: true })
  }

  test('a lost one is noticed by search, uploads and doctor, and built anew by a command', async () => {
    const cwd = newFolder()
    await sluice(cwd, 'upload', 'run', written(cwd, 'items.json', good), '--quiet')
    assert.match((await sluice(cwd, 'doctor')).out, /search index +It belongs to the store\./)
    removed(cwd, 'sluice-upload', index)
    const doctor = await sluice(cwd, 'doctor')
    assert.match(doctor.out, /TROUBLE +search index +It is lost.*sluice upload rebuild-index/)
    assert.equal(doctor.status, 1)
    assert.equal(existsSync(join(cwd, 'sluice-upload', 'catalogue.db')), false, 'looking made one')
    const other = written(cwd, 'other.json', JSON.stringify([story(1), story(9)]))
    for (const command of [
      ['search', '--author', 'ada'],
      ['thread', '1'],
      ['run', other, '--quiet'],
    ]) {
      const { status, err } = await sluice(cwd, 'upload', ...command)
      assert.match(err, /The search index was lost, or it is older than the store.*sluice upload rebuild-index/)
      assert.equal(status, command[0] === 'run' ? 2 : 5)
    }
    assert.equal((await sluice(cwd, 'upload', 'rebuild-index')).status, 0)
    assert.match((await sluice(cwd, 'upload', 'search', '--author', 'bob')).out, /bob/)
    const { completed, skipped } = resultIn(await sluice(cwd, 'upload', 'run', other, '--json', '--quiet'))
    assert.deepEqual([completed, skipped], [1, 1])
  })

  test('one that has outlived its store is noticed, and built anew by the same command', async () => {
    const cwd = newFolder()
    const file = written(cwd, 'items.json', good)
    await sluice(cwd, 'upload', 'run', file, '--quiet')
    removed(cwd, '.', ['sluice.db', 'sluice.db-wal', 'sluice.db-shm'])
    const refused = await sluice(cwd, 'upload', 'run', file, '--quiet')
    assert.match(refused.err, /The search index belongs to another store.*sluice upload rebuild-index/)
    assert.equal(refused.status, 2)
    assert.match((await sluice(cwd, 'doctor')).out, /TROUBLE +search index +The search index belongs to another store/)
    assert.equal((await sluice(cwd, 'upload', 'rebuild-index')).status, 0)
    const { completed, skipped } = resultIn(await sluice(cwd, 'upload', 'run', file, '--json', '--quiet'))
    assert.deepEqual([completed, skipped], [3, 0])
  })
})
