import { bear, isPlainBirth } from './births.ts'
import type { Value } from './database.ts'
import type { LaneRow } from './lanes.ts'
import type { Ledger } from './ledger.ts'
import { place } from './placing.ts'
import type { EntityRow } from './row.ts'

/** Rows of one statement: with more, it was no faster. */
const rowsAtOnce = 250
/** What is left over is written by so many, and then at once: so there are few statements, whatever the numbers. */
const restAtOnce = 20
/** A statement keeps what was bound to it last. */
const charactersAtOnce = 256 * 1024

/**
 * Writes children. Most are alike but for id, source, ordinal and data: so many of them are one statement, to which all that they
 * have in common is handed once. Whoever reads or removes rows in between has them written first.
 */
export class Nursery {
  readonly #ledger: Ledger
  readonly #now: number
  #rows: EntityRow[] = []
  #characters = 0

  constructor(ledger: Ledger, now: number) {
    this.#ledger = ledger
    this.#now = now
  }

  add(row: EntityRow, lane: LaneRow): void {
    if (!isPlainBirth(row)) {
      this.flush()
      bear(this.#ledger, row, lane, this.#now)
      return
    }
    place(this.#ledger, row, lane, 0, this.#now)
    const [first] = this.#rows
    if (first && !isAlike(first, row)) this.flush()
    this.#rows.push(row)
    this.#characters += row.data.length
    if (this.#rows.length === rowsAtOnce || this.#characters >= charactersAtOnce) this.flush()
  }

  flush(): void {
    const rows = this.#rows
    if (rows.length === 0) return
    this.#rows = []
    this.#characters = 0
    let from = 0
    while (from < rows.length) {
      const left = rows.length - from
      const count = left >= rowsAtOnce ? rowsAtOnce : Math.min(left, restAtOnce)
      this.#insert(rows, from, count)
      from += count
    }
  }

  #insert(rows: readonly EntityRow[], from: number, count: number): void {
    const first = rows[from] as EntityRow
    const values: Value[] = [
      first.line,
      first.rank,
      first.machine,
      first.state,
      first.settled,
      first.lane,
      first.staging,
      first.labels,
      first.priority,
      first.wait,
      first.at,
      first.plan,
      first.createdAt,
      first.createdBy,
    ]
    for (let position = from; position < from + count; position += 1) {
      const row = rows[position] as EntityRow
      values.push(row.id, row.source, row.ordinal, row.data)
    }
    const insert = this.#ledger.isCareful ? 'INSERT' : 'INSERT OR ROLLBACK'
    this.#ledger.database.statement(insertAlike(insert, count)).run(...values)
  }
}

function isAlike(one: EntityRow, other: EntityRow): boolean {
  return (
    one.line === other.line &&
    one.rank === other.rank &&
    one.machine === other.machine &&
    one.state === other.state &&
    one.settled === other.settled &&
    one.lane === other.lane &&
    one.staging === other.staging &&
    one.labels === other.labels &&
    one.priority === other.priority &&
    one.wait === other.wait &&
    one.at === other.at &&
    one.plan === other.plan &&
    one.createdAt === other.createdAt &&
    one.createdBy === other.createdBy
  )
}

const statements = { INSERT: new Map<number, string>(), 'INSERT OR ROLLBACK': new Map<number, string>() }

/** Values in the order of their question marks: those with numbers are looked for one by one, each time that one is bound. */
function insertAlike(insert: keyof typeof statements, count: number): string {
  let sql = statements[insert].get(count)
  if (sql === undefined) {
    const own = new Array<string>(count).fill('(?, ?, ?, ?)').join(', ')
    sql = `${insert} INTO entity (id, line, rank, machine, state, born, seq, epoch, generation, settled, attempts, suspect, lane,
      source, ordinal, staging, labels, priority, wait, at, plan, standing, created_at, created_by, changed_at, data)
      SELECT own.column1, line, rank, machine, state, state, 0, 0, 0, settled, 0, 0, lane,
      own.column2, own.column3, staging, labels, priority, wait, at, plan, 0, created_at, created_by, created_at, own.column4
      FROM (SELECT ? AS line, ? AS rank, ? AS machine, ? AS state, ? AS settled, ? AS lane, ? AS staging, ? AS labels,
      ? AS priority, ? AS wait, ? AS at, ? AS plan, ? AS created_at, ? AS created_by) CROSS JOIN (VALUES ${own}) AS own`
    statements[insert].set(count, sql)
  }
  return sql
}
