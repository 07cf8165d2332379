/** A report as figures and tables, whatever its shape. Pure; what is too deep or too long stays in the JSON. */
export type ReportPart =
  | { readonly kind: 'figures'; readonly title: string; readonly figures: readonly (readonly [string, Scalar])[] }
  | { readonly kind: 'counts'; readonly title: string; readonly counts: readonly (readonly [string, number])[] }
  | {
      readonly kind: 'table'
      readonly title: string
      readonly columns: readonly string[]
      readonly rows: readonly Readonly<Record<string, unknown>>[]
      /** How many more rows there are than are shown. */
      readonly more: number
    }
  | { readonly kind: 'list'; readonly title: string; readonly items: readonly string[]; readonly more: number }

export type Scalar = string | number | boolean | null

const rowsMax = 100
const columnsMax = 12
const depthMax = 4
/** The name of the first column of a table that is made of an object of objects. */
export const nameColumn = 'name'

type Fields = Readonly<Record<string, unknown>>

export function reportParts(value: unknown, title = '', depth = 0): readonly ReportPart[] {
  if (depth > depthMax) return []
  if (isScalar(value)) return [{ kind: 'figures', title, figures: [[title === '' ? 'result' : title, value]] }]
  if (Array.isArray(value)) return value.length === 0 ? [] : [listOrTable(title, value)]
  const fields = Object.entries(value as Fields)
  if (fields.length === 0) return []
  // At the top, numbers that stand for themselves are figures; below a heading they are counts of what the heading names.
  if (title !== '' && fields.every(([, one]) => typeof one === 'number')) {
    return [{ kind: 'counts', title, counts: fields as (readonly [string, number])[] }]
  }
  if (title !== '' && fields.every(([, one]) => isFlat(one))) {
    return [
      tableOf(
        title,
        fields.map(([name, row]) => ({ [nameColumn]: name, ...(row as Fields) })),
      ),
    ]
  }
  const figures = fields.filter((field): field is [string, Scalar] => isScalar(field[1]))
  const nested = fields.filter(([, one]) => !isScalar(one))
  return [
    ...(figures.length > 0 ? [{ kind: 'figures', title, figures } as const] : []),
    ...nested.flatMap(([name, one]) => reportParts(one, title === '' ? name : `${title} ${name}`, depth + 1)),
  ]
}

function listOrTable(title: string, values: readonly unknown[]): ReportPart {
  if (values.every((one) => typeof one === 'object' && one !== null && !Array.isArray(one)))
    return tableOf(title, values as readonly Fields[])
  const items = values.slice(0, rowsMax).map(textOf)
  return { kind: 'list', title, items, more: values.length - items.length }
}

function tableOf(title: string, all: readonly Fields[]): ReportPart {
  const rows = all.slice(0, rowsMax)
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))].slice(0, columnsMax)
  return { kind: 'table', title, columns, rows, more: all.length - rows.length }
}

function isScalar(value: unknown): value is Scalar {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value)
}

/** An object of scalars: one row of a table. */
function isFlat(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.values(value).every(isScalar)
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}
