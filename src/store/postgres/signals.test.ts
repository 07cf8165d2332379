import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type PostgresServer, skipOwn, startPostgres } from '../../../test/postgres/server.ts'
import { sleep, systemClock } from '../../clock.ts'
import type { Signal } from '../../store.ts'
import { Database } from './database.ts'
import { Signals } from './signals.ts'

const options = { skip: skipOwn }
const clock = systemClock()
const work: Signal = { work: true, due: false, ended: false }
const due: Signal = { work: false, due: true, ended: false }
const everything: Signal = { work: true, due: true, ended: true }
let server: PostgresServer

before(async () => {
  if (!skipOwn) server = await startPostgres({ own: true })
})
after(() => server?.close())

/** One process, as far as signals go. */
function process(schema = 'sluice') {
  const database = new Database(server.url, schema, 1, clock)
  const signals = new Signals(database, schema, clock)
  const heard: Signal[] = []
  const end = async () => {
    await signals.stop()
    await database.close()
  }
  return { signals, heard, end, listen: () => signals.listen((signal) => heard.push(signal)) }
}

async function eventually(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 400; tries += 1) {
    if (await holds()) return
    await sleep(clock, 25)
  }
  assert.fail('it did not come true in ten seconds')
}

/** How many connections of ours listen by now. */
async function listening(count: number): Promise<void> {
  await eventually(async () => {
    const found = await server.psql(
      "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND state = 'idle'",
    )
    return found === String(count)
  })
}

test('what one process tells is heard by the others, and by itself once', options, async () => {
  const [one, other, stranger] = [process(), process(), process('elsewhere')]
  for (const { listen } of [one, other, stranger]) listen()
  await listening(3)
  one.signals.tell(work)
  await eventually(() => other.heard.length > 0)
  other.signals.tell(due)
  await eventually(() => one.heard.length > 1)
  assert.deepEqual(one.heard, [work, due])
  assert.deepEqual(other.heard, [work, due])
  assert.deepEqual(stranger.heard, [], 'another schema is another store')
  for (const { end } of [one, other, stranger]) await end()
})

test('of a birth the others hear, unless this process claims it in the same moment', options, async () => {
  const [one, other] = [process(), process()]
  other.listen()
  await listening(1)
  one.signals.newcomers.claiming()
  one.signals.tell(work, 1)
  one.signals.newcomers.claimed([{ id: 1 }])
  one.signals.tell(due, 2)
  await eventually(() => other.heard.length > 0)
  assert.deepEqual(other.heard, [due], 'the first was claimed, the second is not for a claim')
  one.signals.tell(work, 3)
  await eventually(() => other.heard.length > 1)
  assert.deepEqual(other.heard, [due, work])
  for (const { end } of [one, other]) await end()
})

test('hints that come thick and fast are merged, and the last one arrives', options, async () => {
  const [one, other] = [process(), process()]
  other.listen()
  await listening(1)
  for (let count = 0; count < 500; count += 1) {
    one.signals.tell(work)
    if (count % 50 === 0) await new Promise<void>((resolve) => clock.soon(resolve))
  }
  one.signals.tell(due)
  await eventually(() => other.heard.some((signal) => signal.due))
  assert.ok(other.heard.length < 100, `${other.heard.length} notifications for 501 hints`)
  for (const { end } of [one, other]) await end()
})

test('whoever has ended listening hears nothing more; others do', options, async () => {
  const [one, other] = [process(), process()]
  const stop = other.listen()
  const kept: Signal[] = []
  other.signals.listen((signal) => kept.push(signal))
  await listening(1)
  stop()
  one.signals.tell(work)
  await eventually(() => kept.length > 0)
  assert.deepEqual(other.heard, [])
  for (const { end } of [one, other]) await end()
})

test('after a lost connection listeners look at everything, and hear again', options, async () => {
  const [one, other] = [process(), process()]
  other.listen()
  await listening(1)
  await server.stop('immediate')
  one.signals.tell(work)
  await server.start()
  await eventually(() => other.heard.length > 0)
  assert.deepEqual(other.heard, [everything])
  await eventually(() => {
    one.signals.tell(due)
    return other.heard.some((signal) => signal.due && !signal.work)
  })
  for (const { end } of [one, other]) await end()
})

test('what strangers write to the channel is passed over', options, async () => {
  const [one, other] = [process(), process()]
  other.listen()
  await listening(1)
  for (const payload of ['', 'nonsense', '[]', 'null', '{"work":1}'])
    await server.psql(`SELECT pg_notify('sluice_sluice', '${payload}')`)
  one.signals.tell(work)
  await eventually(() => other.heard.some((signal) => signal.work))
  assert.deepEqual(
    other.heard.filter(({ work, due, ended }) => work || due || ended),
    [work],
  )
  for (const { end } of [one, other]) await end()
})
