/**
 * What becomes of what was asked when the connection is lost: through a proxy that cuts it after so many bytes of the
 * answer, or stops to pass on anything, and with the server killed. A promise that never settles would keep a worker for ever.
 */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { Client } from 'pg'
import type { Driver } from './driver.ts'
import type { Server } from './server.ts'

export interface Ends {
  readonly cases: number
  /** Promises that were neither kept nor broken after so long: there must be none. */
  readonly unsettled: number
  /** Cases in which COMMIT was answered although the rows are not there, or the rows are there twice: there must be none. */
  readonly lies: number
  /** Cases in which nobody can know, because the answer to COMMIT was lost. */
  readonly unknown: number
  /** Errors that nobody was handed. */
  readonly stray: number
}

const patienceMs = 2_000
const rowsPer = 3
const statements = (number: number) =>
  Array.from({ length: rowsPer }, (_, index) => ({
    text: 'INSERT INTO taken (number, place) VALUES ($1, $2) RETURNING number, place',
    values: [number, index],
  }))

/** A transaction, cut after every byte of its answer. */
export async function cutEverywhere(driver: Driver, server: Server, step: number): Promise<Ends> {
  const url = `${server.url}/postgres`
  await ask(url, 'DROP TABLE IF EXISTS taken; CREATE TABLE taken (number int8, place int8)')
  let [cases, unsettled, lies, unknown] = [0, 0, 0, 0]
  const stray = watchStray()
  for (let bytes = 0; ; bytes += step) {
    const proxy = await startProxy(server)
    const connection = await driver.connect(`postgres://postgres@127.0.0.1:${proxy.port}/postgres`)
    // Statements are prepared before, so that each case has answers of the same length.
    await Promise.all(connection.transact(statements(-1)))
    proxy.cutAfter(bytes)
    const ends = await settled(connection.transact(statements(bytes)))
    unsettled += openOf(ends)
    const wasCut = proxy.wasCut()
    await Promise.race([connection.end().catch(() => {}), wait(200)])
    await proxy.stop()
    const rows = await countOf(url, bytes)
    const isAnswered = ends.at(-1) === 'kept'
    if (rows !== 0 && rows !== rowsPer) lies += 1
    else if (isAnswered && rows !== rowsPer) lies += 1
    else if (!isAnswered && rows === rowsPer) unknown += 1
    cases += 1
    if (!wasCut) break
  }
  return { cases, unsettled, lies, unknown, stray: stray() }
}

/** Statements that wait in the server and behind each other, while it is killed. */
export async function killServer(driver: Driver, server: Server): Promise<Ends> {
  const stray = watchStray()
  const connection = await driver.connect(`${server.url}/postgres`)
  const asked = Array.from({ length: 20 }, () => connection.ask('SELECT pg_sleep(30)'))
  const ending = settled(asked)
  await wait(200)
  await server.kill()
  const ends = await ending
  await Promise.race([connection.end().catch(() => {}), wait(200)])
  await server.start()
  return { cases: 1, unsettled: openOf(ends), lies: 0, unknown: 0, stray: stray() }
}

/**
 * A transaction that learns of the cut only between two of its statements. A row that is there afterwards was written
 * outside the transaction, on a connection that the driver made by itself: `lies` counts them.
 */
export async function cutBetween(driver: Driver, server: Server): Promise<Ends> {
  const url = `${server.url}/postgres`
  await ask(url, 'DROP TABLE IF EXISTS taken; CREATE TABLE taken (number int8, place int8)')
  const stray = watchStray()
  const proxy = await startProxy(server)
  const connection = await driver.connect(`postgres://postgres@127.0.0.1:${proxy.port}/postgres`)
  const [first, second] = statements(0)
  await connection.ask('BEGIN')
  await connection.ask(first!.text, first!.values)
  proxy.cutNow()
  await wait(100)
  const ends = await settled([connection.ask(second!.text, second!.values), connection.ask('COMMIT')])
  await Promise.race([connection.end().catch(() => {}), wait(200)])
  await proxy.stop()
  return { cases: 1, unsettled: openOf(ends), lies: await countOf(url, 0), unknown: 0, stray: stray() }
}

/** A network that swallows the answers: do statements end, if the driver was told how long to wait? */
export async function fallSilent(driver: Driver, server: Server): Promise<Ends> {
  const stray = watchStray()
  const proxy = await startProxy(server)
  const connection = await driver.connect(`postgres://postgres@127.0.0.1:${proxy.port}/postgres`, patienceMs / 4)
  proxy.fallSilent()
  const ends = await settled(Array.from({ length: 5 }, () => connection.ask('SELECT 1')))
  await Promise.race([connection.end().catch(() => {}), wait(200)])
  await proxy.stop()
  return { cases: 1, unsettled: openOf(ends), lies: 0, unknown: 0, stray: stray() }
}

/** Errors in the midst of what is sent at once: each statement must get its own answer, and the connection must go on. */
export async function failInside(
  driver: Driver,
  server: Server,
): Promise<{ readonly right: number; readonly of: number }> {
  const connection = await driver.connect(`${server.url}/postgres`)
  const one = (n: number) =>
    connection.ask('SELECT $1::int8', [n]).then(
      ([row]) => row?.[0] === n,
      () => false,
    )
  const fails = (text: string) =>
    connection.ask(text, [0]).then(
      () => false,
      () => true,
    )
  const answers = await Promise.all([
    one(1),
    fails('SELECT 1 / $1::int8'),
    one(2),
    fails('SELECT nothing FROM nowhere WHERE a = $1'),
    // The same name again, while the first is still on its way to be refused.
    fails('SELECT nothing FROM nowhere WHERE a = $1'),
    one(3),
  ])
  const last = await one(4)
  await connection.end()
  return { right: [...answers, last].filter(Boolean).length, of: answers.length + 1 }
}

type End = 'kept' | 'broken' | 'open'

const openOf = (ends: readonly End[]): number => ends.filter((end) => end === 'open').length

async function settled(asked: readonly Promise<unknown>[]): Promise<readonly End[]> {
  const ends: End[] = asked.map(() => 'open')
  const all = asked.map((each, index) =>
    each.then(
      () => {
        ends[index] = 'kept'
      },
      () => {
        ends[index] = 'broken'
      },
    ),
  )
  await Promise.race([Promise.all(all), wait(patienceMs)])
  return [...ends]
}

interface Proxy {
  readonly port: number
  cutAfter(bytes: number): void
  cutNow(): void
  /** Nothing is passed on any more, and nothing is closed: as a network does that loses everything. */
  fallSilent(): void
  wasCut(): boolean
  stop(): Promise<void>
}

async function startProxy(server: Server): Promise<Proxy> {
  let left = Number.POSITIVE_INFINITY
  let wasCut = false
  let isSilent = false
  const sockets = new Set<Socket>()
  const listener = createServer((client) => {
    const backend = connect(Number(new URL(server.url).port), '127.0.0.1')
    const drop = () => {
      client.destroy()
      backend.destroy()
    }
    for (const socket of [client, backend]) {
      sockets.add(socket)
      socket.on('error', drop).on('close', drop)
    }
    client.on('data', (block) => backend.write(block))
    backend.on('data', (block) => {
      if (isSilent) return
      if (block.length < left) {
        left -= block.length
        client.write(block)
        return
      }
      // Only once: who connects again is let through.
      const rest = block.subarray(0, left)
      left = Number.POSITIVE_INFINITY
      wasCut = true
      client.write(rest, drop)
    })
  }).listen(0, '127.0.0.1')
  await once(listener, 'listening')
  return {
    port: (listener.address() as AddressInfo).port,
    cutAfter(bytes) {
      left = bytes
    },
    cutNow() {
      for (const socket of sockets) socket.destroy()
    },
    fallSilent() {
      isSilent = true
    },
    wasCut: () => wasCut,
    async stop() {
      for (const socket of sockets) socket.destroy()
      listener.close()
      await once(listener, 'close')
    },
  }
}

function watchStray(): () => number {
  let count = 0
  const note = () => {
    count += 1
  }
  process.on('uncaughtException', note).on('unhandledRejection', note)
  return () => {
    process.off('uncaughtException', note).off('unhandledRejection', note)
    return count
  }
}

async function countOf(url: string, number: number): Promise<number> {
  const client = new Client({ connectionString: url })
  await client.connect()
  // A transaction whose answer was lost may still be at its end: who takes this lock has waited for it.
  await client.query('BEGIN; LOCK TABLE taken IN SHARE MODE')
  const { rows } = await client.query('SELECT count(*)::int AS count FROM taken WHERE number = $1', [number])
  await client.end()
  return rows[0].count
}

async function ask(url: string, text: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query(text)
  await client.end()
}

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
