import { SluiceError } from '../../errors.ts'
import type { Session } from './database.ts'

type Cell = string | number | boolean | null

/** Columns by name, each with its type and a value for every row. The first one tells people which row is meant. */
export type Columns = Readonly<Record<string, readonly [type: string, values: readonly Cell[]]>>

/** All rows in one statement. */
export function insert(session: Session, table: string, columns: Columns): void {
  checkTexts(table, columns)
  const names = Object.keys(columns).join(', ')
  const arrays = Object.values(columns).map(([type], index) => `$${index + 1}::${type}[]`)
  session.send(
    `INSERT INTO ${table} (${names}) SELECT ${names} FROM unnest(${arrays.join(', ')}) AS given (${names})`,
    Object.values(columns).map(([, values]) => values),
  )
}

/** PostgreSQL keeps no NUL character in a text; another store may have taken one. */
function checkTexts(table: string, columns: Columns): void {
  const [first] = Object.values(columns)
  for (const [column, [type, values]] of Object.entries(columns)) {
    if (type !== 'text') continue
    const row = values.findIndex((value) => typeof value === 'string' && value.includes('\u0000'))
    if (row < 0) continue
    const which = String(first?.[1][row]).replaceAll('\u0000', '\\0')
    throw new SluiceError(
      'unsupported',
      `The ${column} of ${table} ${which} has a NUL character, which PostgreSQL cannot keep. docs/operating/moving.md tells how to replace it in the source.`,
      { table, column },
    )
  }
}
