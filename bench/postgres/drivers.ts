/** How fast each driver is in the shapes that the store's statements have. */
import { Client } from 'pg'
import { type Figures, median, percentile } from '../scenario.ts'
import { type Connection, type Driver, drivers } from './driver.ts'
import type { Server } from './server.ts'

const group = 1_000
/** 30 columns, as many as an entity has: numbers, short texts, mostly empty ones, and data. */
const numbers = Array.from({ length: 16 }, (_, index) => `n${index}`)
const texts = Array.from({ length: 13 }, (_, index) => `t${index}`)
const columns = ['id', ...numbers, ...texts]
const written = columns.slice(0, 18)
const returned = columns.slice(0, 10)

const schema = `
  DROP TABLE IF EXISTS wide;
  CREATE TABLE wide (id int8 PRIMARY KEY, ${numbers.map((name) => `${name} int8`).join(', ')}, ${texts.map((name) => `${name} text`).join(', ')});
  INSERT INTO wide (${columns.join(', ')})
  SELECT n, ${numbers.map((_, index) => `n * ${index + 1}`).join(', ')}, ${texts.map((_, index) => (index < 4 ? `'text ' || n` : 'NULL')).join(', ')}
  FROM generate_series(1, ${group}) AS n;
`
const update = `UPDATE wide SET n1 = n1 + 1 FROM unnest($1::int8[]) AS given (id) WHERE wide.id = given.id RETURNING ${returned.map((name) => `wide.${name}`).join(', ')}`
const insert = `INSERT INTO wide (${written.join(', ')}) SELECT * FROM unnest(${written.map((name, index) => `$${index + 1}::${name.startsWith('t') ? 'text' : 'int8'}[]`).join(', ')})`
const select = `SELECT ${columns.join(', ')} FROM wide WHERE id <= $1`
const small = 'SELECT n1, t1 FROM wide WHERE id = $1'
const undo = `DELETE FROM wide WHERE id > ${group}`

const ids = Array.from({ length: group }, (_, index) => index + 1)

interface Shape {
  readonly name: string
  readonly turns: number
  run(connection: Connection, turn: number): Promise<unknown>
  after?(connection: Connection): Promise<unknown>
}

const shapes: readonly Shape[] = [
  { name: 'update_1000', turns: 60, run: (connection) => connection.ask(update, [ids]) },
  {
    name: 'insert_1000',
    turns: 30,
    run: (connection, turn) => connection.ask(insert, arraysOf((turn + 1) * group)),
    after: (connection) => connection.ask(undo),
  },
  { name: 'select_1000', turns: 100, run: (connection) => connection.ask(select, [group]) },
  {
    name: 'commit_1000',
    turns: 30,
    run: (connection, turn) =>
      Promise.all(
        connection.transact([
          { text: update, values: [ids] },
          { text: insert, values: arraysOf((turn + 1) * group) },
          { text: small, values: [1] },
        ]),
      ),
    after: (connection) => connection.ask(undo),
  },
  { name: 'small', turns: 2_000, run: (connection, turn) => connection.ask(small, [(turn % group) + 1]) },
]

/** In turns, so that a slow moment of the machine hits both. Time and processor time of this process, per statement or commit. */
export async function compareDrivers(server: Server, rounds: number): Promise<Figures> {
  const url = `${server.url}/postgres`
  const figures: Record<string, number> = {}
  for (const shape of shapes) {
    const taken = new Map<string, { ms: number[]; cpu: number[]; p99: number[] }>()
    for (let round = 0; round < rounds + 1; round += 1) {
      for (const driver of drivers) {
        const { ms, cpu, p99 } = await measure(driver, url, shape)
        // The first round is for the compiler.
        if (round === 0) continue
        const mine = taken.get(driver.name) ?? { ms: [], cpu: [], p99: [] }
        taken.set(driver.name, { ms: [...mine.ms, ms], cpu: [...mine.cpu, cpu], p99: [...mine.p99, p99] })
      }
    }
    for (const [name, { ms, cpu, p99 }] of taken) {
      figures[`${shape.name}_${name}_ms`] = median(ms)
      figures[`${shape.name}_${name}_cpu_ms`] = median(cpu)
      if (shape.name === 'small') figures[`${shape.name}_${name}_p99_ms`] = median(p99)
    }
  }
  return figures
}

async function measure(driver: Driver, url: string, shape: Shape): Promise<{ ms: number; cpu: number; p99: number }> {
  await prepare(url)
  const connection = await driver.connect(url)
  await shape.run(connection, -1).catch(() => {})
  await shape.after?.(connection)
  const times: number[] = []
  const before = process.cpuUsage()
  const from = performance.now()
  for (let turn = 0; turn < shape.turns; turn += 1) {
    const at = performance.now()
    await shape.run(connection, turn)
    times.push(performance.now() - at)
  }
  const ms = (performance.now() - from) / shape.turns
  const { user, system } = process.cpuUsage(before)
  await connection.end()
  times.sort((one, other) => one - other)
  return { ms, cpu: (user + system) / 1_000 / shape.turns, p99: percentile(times, 0.99) }
}

async function prepare(url: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query(schema)
  await client.query('VACUUM ANALYZE wide')
  await client.end()
}

function arraysOf(from: number): unknown[] {
  return written.map((name, column) =>
    ids.map((id) => (name === 'id' ? from + id : name.startsWith('t') ? `text ${from + id}` : id * column)),
  )
}
