import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { type Implementation, systemClock } from 'sluice'
import { type TestKit, testKit } from 'sluice/testing'
import { verifySignature } from './notification/index.ts'
import { Stage } from './test/stage.ts'
import { openUpload, type Upload } from './upload.ts'

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

interface Kit {
  readonly stage: Stage
  readonly kit: TestKit
  /** From the next start of the engine on. */
  readonly use: (upload: Upload) => void
}

async function openKit(
  receiver: Receiver,
  choose = (upload: Upload): readonly Implementation[] => upload.implementations,
): Promise<Kit> {
  let kit!: TestKit
  let used: readonly Implementation[]
  const now = () => kit.clock.now()
  receiver.now = now
  const notification = { webhook: { url: await receiver.url(), secret, allow: ['127.0.0.1'] } }
  const stage = await Stage.with({ clock: { ...systemClock(), now }, notification }, (upload) => {
    used = choose(upload)
    kit = testKit({ implementations: () => used, patienceMs: 20_000 })
    return { control: kit.control, stop: () => kit.stop() }
  })
  const use = (upload: Upload) => {
    used = upload.implementations
  }
  return { stage, kit, use }
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
      {
        ...sent('part.json', part.id, 'partially_completed'),
        total: 3,
        completed: 1,
        failed: 2,
        reasons: { 'null element': 2 },
      },
      { ...sent('items.json', none.id, 'failed'), total: 1, completed: 0, failed: 1, reasons: { 'null element': 1 } },
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
  assert.doesNotMatch(view.sentence, /because/, 'what an attempt failed of is not why it is completed')
  assert.ok(view.resultSummary!.seconds < 0.5)
})

test('a process that dies after it told tells again, with the same key', async () => {
  await using receiver = new Receiver(204)
  const { stage, kit } = await openKit(receiver)
  await using _ = stage
  kit.crashAt('after', 'UploadBatchNotificationProcessor')
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

test('a receiver that is down keeps no batch open: it closes at once, and waits beside it to be told', async () => {
  await using receiver = new Receiver(500)
  const { stage, kit } = await openKit(receiver)
  await using _ = stage
  const { id } = await stage.send('[{"id":1,"type":"story"},null]')
  const begun = kit.clock.now()
  await kit.drain({ within: '5s' }).catch(() => {})
  const waiting = await stage.view(id)
  assert.equal(waiting.state, 'partially_completed')
  assert.ok(waiting.processingCompletedAt! < begun + 1_000, 'it closed when its items were through')
  assert.deepEqual([waiting.notification?.sent, waiting.notification?.waiting], [false, true])
  assert.match(waiting.notification?.error ?? '', /status 500/)
  assert.deepEqual(waiting.attention, [])
  assert.match(waiting.sentence, /notify_partially_completed was asked for: .*of 20.*status 500/)
  assert.doesNotMatch(waiting.sentence, /because/)

  await kit.drain({ within: '4h' })
  const view = await stage.view(id)
  assert.equal(view.state, 'partially_completed')
  assert.equal(receiver.rings.length, 20)
  assert.deepEqual([view.notification?.sent, view.notification?.waiting], [false, undefined])
  assert.ok(!view.notification?.error?.includes('/hook'), 'a path may be a secret')
  assert.match(view.attention.join(), /^The notification was not sent: .*status 500.*notify/)
  assert.equal(view.failure, null)
})

test('what could not be sent is sent again by an action, under the same key', async () => {
  await using receiver = new Receiver(410, 204)
  const { stage, kit } = await openKit(receiver)
  await using _ = stage
  const { id } = await stage.send('[{"id":1,"type":"story"}]')
  await kit.drain()
  assert.equal((await stage.view(id)).attention.length, 1)
  await stage.control.act(id, 'notify', { actor: 'olga', role: 'operator' })
  await kit.drain()
  const view = await stage.view(id)
  assert.deepEqual([view.state, view.notification?.sent, view.attention], ['completed', true, []])
  assert.equal(new Set(receiver.rings.map(({ key }) => key)).size, 1)
})

test('a retry that is refused in place of a waiting notification does not lose it', async () => {
  await using receiver = new Receiver(503, 503, 204)
  const { stage, kit } = await openKit(receiver)
  await using _ = stage
  const { id } = await stage.send('[{"id":1,"type":"story"},null]')
  await kit.drain({ within: '1s' }).catch(() => {})
  assert.equal((await stage.view(id)).notification?.waiting, true)
  await stage.control.act(id, 'retry_failed_items', { actor: 'olga', role: 'operator', reason: 'mended' })
  await kit.drain()
  const view = await stage.view(id)
  assert.match(view.itemRetry!.sentence, /None of the 1 failed items/)
  assert.equal(view.notification?.sent, true)
  assert.equal(new Set(receiver.rings.map(({ key }) => key)).size, 1)
})

test('two stores never use the same key', async () => {
  const rings: Ring[] = []
  for (const _ of [1, 2]) {
    await using receiver = new Receiver(204)
    const { stage, kit } = await openKit(receiver)
    await using _closed = stage
    await stage.send('[{"id":1,"type":"story"}]')
    await kit.drain()
    rings.push(...receiver.rings)
  }
  assert.equal(rings.length, 2)
  assert.equal(new Set(rings.map(({ body }) => (JSON.parse(body) as { batchId: number }).batchId)).size, 1)
  assert.equal(new Set(rings.map(({ key }) => key)).size, 2)
})

test('a process without receivers leaves a notification to one that has them, for a day', async () => {
  await using receiver = new Receiver(503)
  const { stage, kit, use } = await openKit(receiver)
  await using _ = stage
  const { id } = await stage.send('[{"id":1,"type":"story"}]')
  await kit.drain({ within: '1s' }).catch(() => {})
  kit.crash()
  const rings = receiver.rings.length
  assert.ok(rings > 0)
  const other = await openUpload({ folder: stage.path('other') })
  use(other)
  await kit.restart()
  await kit.advance('3h')
  const { state, notification } = await stage.view(id)
  assert.deepEqual([state, notification?.waiting], ['completed', true])
  await kit.advance('22h')
  const view = await stage.view(id)
  assert.equal(receiver.rings.length, rings)
  assert.match(view.attention.join(), /No process that has settings for notifications came within 24 hours/)
  await other.stop()
})

test('batches of the version before are finished, and say that nobody was told', async () => {
  await using receiver = new Receiver(204)
  let before: readonly Implementation[] = []
  const { stage, kit, use } = await openKit(receiver, (upload) => {
    before = upload.implementations.filter(({ machine }) => machine.version === 1)
    return before
  })
  await using _ = stage
  assert.equal(before.length, 2)
  const hold = await stage.control.hold({ machine: 'upload_item' }, { reason: 'a test looks', owner: 'test' })
  const { id } = await stage.send('[{"id":1,"type":"story"}]')
  await kit.drain({ within: '1m' }).catch(() => {})
  assert.equal((await stage.control.get(id)).version, 1)
  kit.crash()
  use(stage.upload)
  await kit.restart()
  await stage.control.release(hold.id)
  await kit.drain()
  const view = await stage.view(id)
  assert.equal(view.state, 'completed')
  assert.match(view.attention.join(), /begun by an older version/)
  assert.equal(receiver.rings.length, 0)
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
