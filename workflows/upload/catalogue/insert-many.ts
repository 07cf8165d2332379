import type { Database, Value } from './database.ts'

/** Rows of one statement. */
const rowsAtOnce = 32

/** Many rows with few calls. `values` holds the rows one after another. */
export function insertMany(
  database: Database,
  verb: 'INSERT' | 'INSERT OR IGNORE',
  target: string,
  rowLength: number,
  values: readonly Value[],
): void {
  const full = rowsAtOnce * rowLength
  const many = `${verb} INTO ${target} VALUES ${rowMarks(rowLength, rowsAtOnce)}`
  const one = `${verb} INTO ${target} VALUES ${rowMarks(rowLength, 1)}`
  let from = 0
  for (; from + full <= values.length; from += full) database.run(many, values.slice(from, from + full))
  for (; from < values.length; from += rowLength) database.run(one, values.slice(from, from + rowLength))
}

export function marks(count: number): string {
  return new Array<string>(count).fill('?').join(', ')
}

function rowMarks(rowLength: number, rows: number): string {
  return Array.from({ length: rows }, () => `(${marks(rowLength)})`).join(', ')
}
