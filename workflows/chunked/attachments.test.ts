import assert from 'node:assert/strict'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { Control } from 'sluice'
import { z } from 'zod'
import { openChunked } from './chunked.ts'
import { defineJob } from './define-job.ts'
import { bytesOf, refused, Stage, soon, storeKinds } from './test/stage.ts'

const none = z.object({})

async function text(source: AsyncIterable<Uint8Array>): Promise<string> {
  const blocks: Uint8Array[] = []
  for await (const block of source) blocks.push(block)
  return Buffer.concat(blocks).toString()
}

const job = defineJob({ id: 'reading', version: 1, parameters: none, retention: { completedMs: 1_000 } })
  .firstStep({
    id: 'lines',
    retry: { ...soon, attemptsMax: 2 },
    output: z.string(),
    run: async ({ attachment }, sink) => {
      for (const line of (await text(attachment('lines.txt'))).split('\n')) await sink.accept(line)
    },
  })
  .step({
    id: 'look',
    output: z.number(),
    run: async ({ data, attachment }, sink) => {
      const { length } = await text(attachment('big.bin'))
      await sink.accept(data.length + length)
    },
  })
  .reducer({ id: 'report', initial: () => 0, consume: (sum, one) => sum + one })

const big = 'b'.repeat(700_000)
const files = () => [
  { name: 'lines.txt', contentType: 'text/plain', source: bytesOf('one\ntwo\nthree', 5) },
  { name: 'big.bin', source: bytesOf(big) },
]

async function folders(stage: Stage): Promise<string[]> {
  return (await readdir(join(stage.folder, 'attachments')).catch(() => [])).sort()
}

for (const kind of storeKinds) {
  describe(`attachments, ${kind}`, () => {
    test('are stored whole, listed with their digests, and read by every step', async () => {
      await using stage = await Stage.open(kind, [job])
      const view = await stage.run(job, {}, { attachments: files() })
      assert.deepEqual([view.state, view.report], ['completed', 11 + 3 * big.length])
      assert.deepEqual(
        view.attachments.map(({ name, contentType, bytes, sha256 }) => [name, contentType, bytes, sha256.length]),
        [
          ['lines.txt', 'text/plain', 13, 64],
          ['big.bin', null, 700_000, 64],
        ],
      )
      assert.equal((await folders(stage)).length, 1)
      // The same set again is stored once.
      await stage.run(job, {}, { attachments: files() })
      assert.equal((await folders(stage)).length, 1)
    })

    test('a damaged or missing file is found by whoever reads it', async () => {
      await using stage = await Stage.open(kind, [job])
      const { id } = await stage.run(job, {}, { attachments: files() })
      const [folder] = await folders(stage)
      const path = join(stage.folder, 'attachments', folder!, 'lines.txt')
      assert.equal(await readFile(path, 'utf8'), 'one\ntwo\nthree')
      for (const [damage, message] of [
        [() => writeFile(path, 'one\ntwo\nthre!'), /Attachment lines.txt is damaged: its digest is another/],
        [() => writeFile(path, 'one'), /it has 3 bytes and should have 13/],
        [() => rm(path), /ENOENT|missing/],
      ] as const) {
        await damage()
        const view = await stage.run(job, {}, { attachments: files() })
        assert.equal(view.state, 'failed')
        const [chunk] = await stage.chunks(view.id)
        assert.match(chunk?.errorMessage ?? '', message)
        assert.equal(view.chunks.total, 1, 'nothing of what it read is used')
      }
      assert.ok(id > 0)
    })

    test('names, numbers and sizes are checked, and nothing is left of what was refused', async () => {
      await using stage = await Stage.open(kind, [job], { limits: { attachmentBytesMax: 1_000, attachmentsMax: 2 } })
      const start = (...attachments: { name: string; source: AsyncIterable<Uint8Array> }[]) =>
        stage.start(job, {}, { attachments })
      for (const name of ['', '../up', 'a/b', '.hidden', 'x'.repeat(129), 'null\u0000']) {
        await assert.rejects(start({ name, source: bytesOf('x') }), refused('invalid', /attachments.0.name must be/))
      }
      await assert.rejects(
        start({ name: 'a', source: bytesOf('x') }, { name: 'a', source: bytesOf('y') }),
        refused('invalid', /attachments.1.name is a, and another one has that name/),
      )
      await assert.rejects(
        start(...['a', 'b', 'c'].map((name) => ({ name, source: bytesOf('x') }))),
        refused('invalid', /at most 2 attachments; more were given/),
      )
      await assert.rejects(
        start({ name: 'big', source: bytesOf('x'.repeat(1_001), 100) }),
        refused('invalid', /Attachment big has more than 1000 bytes/),
      )
      async function* breaking(): AsyncGenerator<Uint8Array> {
        yield Buffer.from('half')
        throw new Error('the line is cut')
      }
      await assert.rejects(start({ name: 'cut', source: breaking() }), /the line is cut/)
      assert.deepEqual(await folders(stage), [])
      assert.deepEqual((await stage.chunked.jobs(stage.control)).jobs, [])
    })

    test('the same key with other files is another request', async () => {
      await using stage = await Stage.open(kind, [job])
      const one = await stage.start(job, {}, { key: 'k', attachments: files() })
      assert.equal(await stage.start(job, {}, { key: 'k', attachments: files() }), one)
      await assert.rejects(
        stage.start(job, {}, { key: 'k', attachments: [{ name: 'lines.txt', source: bytesOf('other') }] }),
        refused('conflict', /other parameters or attachments/),
      )
    })
  })
}

test('a process without a folder takes no attachments', async () => {
  const { stage, kit } = await Stage.kit([job])
  await using _ = stage
  const bare = openChunked({ definitions: [job] })
  await assert.rejects(
    bare.start(kit.control, job, {}, { attachments: files() }),
    refused('invalid', /no folder for attachments/),
  )
  assert.equal(await bare.sweep(kit.control), 0)
})

describe('sweep', () => {
  const days = (count: number) => count * 86_400_000

  test('removes what no job names any more, and nothing that is young', async () => {
    const { stage, kit } = await Stage.kit([job])
    await using _ = stage
    // Files have the time of the machine: the story goes on from there.
    await kit.advance(Math.max(0, Date.now() - kit.clock.now()))
    const id = await stage.start(job, {}, { attachments: files() })
    await kit.drain()
    assert.equal(await stage.chunked.sweep(stage.control), 0, 'its job is there')
    await kit.advance(days(2))
    assert.equal((await stage.view(id)).purged, true)
    assert.equal(await stage.chunked.sweep(stage.control), 1)
    assert.deepEqual(await folders(stage), [])
  })

  test('what a job is just being started with stays, also if it lay there for long', async () => {
    const { stage, kit } = await Stage.kit([job])
    await using _ = stage
    await kit.advance(Math.max(0, Date.now() - kit.clock.now()))
    await stage.start(job, {}, { attachments: files() })
    await kit.drain()
    await kit.advance(days(2))
    // A sweep comes between the storing of the same files and the creation of their job.
    const control = new Proxy(stage.control, {
      get: (target, name: keyof Control) => {
        const value = target[name]
        if (typeof value !== 'function') return value
        if (name !== 'submit') return value.bind(target)
        return async (...given: Parameters<Control['submit']>) => {
          await stage.chunked.sweep(target)
          return target.submit(...given)
        }
      },
    })
    const { id } = await stage.chunked.start(control, job, {}, { attachments: files() })
    await kit.drain()
    assert.equal((await stage.view(id)).state, 'completed')
  })
})
