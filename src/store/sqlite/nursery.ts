import { bear, isPlainBirth } from './births.ts'
import type { LaneRow } from './lanes.ts'
import type { Ledger } from './ledger.ts'
import { place } from './placing.ts'
import type { EntityRow } from './row.ts'

/** Rows of one statement: with more, it was no faster. */
const rowsAtOnce = 20

/**
 * Writes children. Most are alike but for id, source, ordinal and data: so many of them are one statement, to which all that they
 * have in common is handed once. Whoever reads or removes rows in between has them written first.
 */
export class Nursery {
  readonly #ledger: Ledger
  readonly #now: number
  #rows: EntityRow[] = []

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
    if (this.#rows.length === rowsAtOnce) this.flush()
  }

  flush(): void {
    const rows = this.#rows
    const [first] = rows
    if (!first) return
    this.#rows = []
    const own: (number | string | null)[] = []
    for (const row of rows) own.push(row.id, row.source, row.ordinal, row.data)
    this.#ledger.database.run(
      insertAlike(rows.length),
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
      ...own,
    )
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

const statements = new Map<number, string>()

function insertAlike(count: number): string {
  let sql = statements.get(count)
  if (sql === undefined) {
    const values = Array.from({ length: count }, (_, row) => {
      const [id, source, ordinal, data] = [15, 16, 17, 18].map((first) => first + row * 4)
      return `(?${id}, ?1, ?2, ?3, ?4, ?4, 0, 0, 0, ?5, 0, 0, ?6, ?${source}, ?${ordinal}, ?7, ?8, ?9, ?10, ?11, ?12, 0, ?13, ?14, ?13, ?${data})`
    })
    sql = `INSERT INTO entity (id, line, rank, machine, state, born, seq, epoch, generation, settled, attempts, suspect, lane,
      source, ordinal, staging, labels, priority, wait, at, plan, standing, created_at, created_by, changed_at, data) VALUES ${values.join(', ')}`
    statements.set(count, sql)
  }
  return sql
}
