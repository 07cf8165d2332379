import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { systemClock } from 'sluice'
import { type TestKit, testKit } from 'sluice/testing'
import { verifySignature } from './notification/index.ts'
import { Stage } from './test/stage.ts'

const secret = 'correct horse battery'

interface Ring {
  readonly key: string
  readonly body: string
  readonly signature: string
  readonly at: number
}

/** A receiver on the loopback interface that answers with these statuses, one after another, the last for ever. */
class Receiver implements AsyncDisposable {
  readonly rings: Ring[] = []
  readonly #statuses: readonly number[]
  readonly #server = createServer()
  now: () => number = () => 0

  constructor(...statuses: number[]) {
    this.#statuses = statuses
    this.#server.on('request', this.#answer)
  }

  async url(): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook`
  }

  readonly #answer: RequestListener = async (request, response) => {
    const { 'idempotency-key': key = '', 'sluice-signature': signature = '' } = request.headers
    this.rings.push({ key: String(key), body: await text(request), signature: String(signature), at: this.now() })
    response.writeHead(this.#statuses[this.rings.length - 1] ?? this.#statuses.at(-1)!).end()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}

async function openKit(receiver: Receiver): Promise<{ stage: Stage; kit: TestKit }> {
  let kit!: TestKit
  const now = () => kit.clock.now()
  receiver.now = now
  const notification = { webhook: { url: await receiver.url(), secret } }
  const stage = await Stage.with({ clock: { ...systemClock(), now }, notification }, (upload) => {
    kit = testKit({ implementations: upload.implementations, patienceMs: 20_000 })
    return { control: kit.control, stop: () => kit.stop() }
  })
  return { stage, kit }
}

test('a completed and a partially completed batch are told, signed, once each', async () => {
  await using receiver = new Receiver(204)
  const { stage, kit } = await openKit(receiver)
  await using _ = stage
  const whole = await stage.send('[{"id":1,"type":"story"}]', { fileName: 'whole.json' })
  await kit.drain()
  const part = await stage.send('[{"id":2,"type":"story"},null,null]', { fileName: 'part.json' })
  await kit.drain()
  const none = await stage.send('[null]')
  await kit.drain()
  assert.deepEqual(
    receiver.rings.map(({ body }) => {
      const { key: _key, uploadedAt: _at, completedAt: _end, ...told } = JSON.parse(body) as Record<string, unknown>
      return told
    }),
    [
      { ...sent('whole.json', whole.id, 'completed'), total: 1, completed: 1, failed: 0, reasons: {} },
      { ...sent('part.json', part.id, 'partially_completed'), total: 3, completed: 1, failed: 2, reasons: { null: 2 } },
      { ...sent('items.json', none.id, 'failed'), total: 1, completed: 0, failed: 1, reasons: { null: 1 } },
    ],
  )
  assert.equal(new Set(receiver.rings.map(({ key }) => key)).size, 3)
  for (const { body, signature, at, key } of receiver.rings) {
    assert.ok(verifySignature(body, signature, secret, { now: at }))
    assert.ok(!verifySignature(`${body} `, signature, secret, { now: at }))
    assert.equal((JSON.parse(body) as { key: string }).key, key)
  }
  for (const { id } of [whole, part, none]) {
    const { notification } = await stage.view(id)
    assert.deepEqual([notification?.sent, notification?.error], [true, null])
  }

  function sent(fileName: string, batchId: number, state: string) {
    return { event: 'upload_batch.ended', batchId, state, fileName, uploadedBy: 'ada', skipped: 0 }
  }
})

test('a receiver that fails at first gets the same key and the same body again', async () => {
  await using receiver = new Receiver(503, 500, 204)
  const { stage, kit } = await openKit(receiver)
  await using _ = stage
  const { id } = await stage.send('[{"id":1,"type":"story"}]')
  const begun = kit.clock.now()
  await kit.drain()
  assert.equal(receiver.rings.length, 3)
  assert.ok(receiver.rings[2]!.at > begun + 500)
  assert.equal(new Set(receiver.rings.map(({ key }) => key)).size, 1)
  assert.equal(new Set(receiver.rings.map(({ body }) => body)).size, 1)
  for (const { body, signature, at } of receiver.rings)
    assert.ok(verifySignature(body, signature, secret, { now: at, toleranceMs: 1_000 }))
  const view = await stage.view(id)
  assert.equal(view.state, 'completed')
  assert.equal(view.notification?.sent, true)
  assert.equal(view.notification?.at, receiver.rings[2]!.at)
  assert.ok(view.processingCompletedAt! < receiver.rings[1]!.at, 'it was completed before it was told')
  assert.ok(view.resultSummary!.seconds < 0.5)
})

test('a process that dies after it told tells again, with the same key', async () => {
  await using receiver = new Receiver(204)
  const { stage, kit } = await openKit(receiver)
  await using _ = stage
  kit.crashAt('after', 'UploadBatchCompletionProcessor')
  const { id } = await stage.send('[{"id":1,"type":"story"}]')
  await kit.drain()
  await kit.restart()
  await kit.drain()
  assert.equal((await stage.view(id)).state, 'completed')
  assert.equal(receiver.rings.length, 2)
  assert.equal(new Set(receiver.rings.map(({ key }) => key)).size, 1)
})

test('a batch that is retried and closes again is news: another key', async () => {
  await using receiver = new Receiver(204)
  const { stage, kit } = await openKit(receiver)
  await using _ = stage
  const { id } = await stage.send('[{"id":1,"type":"story"},{"id":2,"type":"song"}]')
  await kit.drain()
  await stage.control.act(id, 'retry_failed_items', { actor: 'olga', role: 'operator' })
  await kit.drain()
  assert.equal(receiver.rings.length, 2)
  assert.equal(new Set(receiver.rings.map(({ key }) => key)).size, 2)
})

test('a receiver that is always down does not keep the batch open for ever', async () => {
  await using receiver = new Receiver(500)
  const { stage, kit } = await openKit(receiver)
  await using _ = stage
  const { id } = await stage.send('[{"id":1,"type":"story"},null]')
  await kit.drain({ within: '1h' })
  const view = await stage.view(id)
  assert.equal(view.state, 'partially_completed')
  assert.equal(receiver.rings.length, 12)
  assert.equal(view.notification?.sent, false)
  assert.match(view.notification?.error ?? '', /status 500/)
  assert.ok(!view.notification?.error?.includes('/hook'), 'a path may be a secret')
  assert.equal(view.failure, null)
})

test('a receiver that refuses for good is asked once', async () => {
  await using receiver = new Receiver(410)
  const { stage, kit } = await openKit(receiver)
  await using _ = stage
  const { id } = await stage.send('[{"id":1,"type":"story"}]')
  await kit.drain()
  const view = await stage.view(id)
  assert.equal(view.state, 'completed')
  assert.equal(receiver.rings.length, 1)
  assert.equal(view.notification?.sent, false)
  assert.match(view.notification?.error ?? '', /status 410/)
})

test('without a receiver nothing is said of one', async () => {
  await using stage = await Stage.open('memory')
  assert.equal((await stage.run('[{"id":1,"type":"story"}]')).notification, null)
})
