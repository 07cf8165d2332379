import { countOf } from '../figures.ts'
import { plain, table } from '../text.ts'

const linesMax = 60
const fieldsMax = 50
const itemsMax = 10
/** A message is read to its end; a terminal breaks the line. */
const cellMax = 1_000
const rowMax = 2_000
const nameMax = 60
const depthMax = 6

/** How a number is read: with commas where it counts something, as it is where nobody knows what it means. */
export type NumberText = (number: number) => string

/** Any plain data as lines for people: fields below each other, lists with dashes. What is too long is cut, and says so. */
export function dataLines(value: unknown, numberText: NumberText = grouped): readonly string[] {
  const lines = linesOf(value, '  ', 0, numberText)
  if (lines.length <= linesMax) return lines
  return [...lines.slice(0, linesMax - 1), `  … and ${countOf(lines.length - linesMax + 1)} more lines; --json has all`]
}

function linesOf(value: unknown, indent: string, depth: number, number: NumberText): readonly string[] {
  if (!isNested(value)) return [`${indent}${cellOf(value, number)}`]
  if (depth >= depthMax) return [`${indent}${gistOf(value)}`]
  return Array.isArray(value)
    ? itemLines(value, indent, depth, number)
    : fieldLines(Object.entries(value), indent, depth, number)
}

function fieldLines(
  all: readonly (readonly [string, unknown])[],
  indent: string,
  depth: number,
  number: NumberText,
): readonly string[] {
  const fields = all.slice(0, fieldsMax).map(([name, item]) => [plain(name, nameMax), item] as const)
  // Rows under names, such as counts by type: a line for each.
  const areRows = depth > 0 && fields.length > 1 && fields.every(([, item]) => isFlat(item))
  const inLine = fields.filter(([, item]) => areRows || !isNested(item))
  const width = Math.max(...inLine.map(([name]) => name.length), 0)
  const more = all.length - fields.length
  return [
    ...fields.flatMap(([name, item]) =>
      isNested(item) && !areRows
        ? [`${indent}${name}`, ...linesOf(item, `${indent}  `, depth + 1, number)]
        : [`${indent}${name.padEnd(width)}  ${isFlat(item) ? fieldsText(item, number) : cellOf(item, number)}`],
    ),
    ...(more > 0 ? [`${indent}… and ${countOf(more)} more`] : []),
  ]
}

function itemLines(items: readonly unknown[], indent: string, depth: number, number: NumberText): readonly string[] {
  const more = items.length - itemsMax
  const shown = items.slice(0, itemsMax)
  return [
    ...(rowLines(shown, indent, number) ??
      shown.flatMap((item) => {
        const [first = '', ...rest] = isFlat(item)
          ? [fieldsText(item, number)]
          : linesOf(item, `${indent}  `, depth + 1, number)
        return [`${indent}- ${first.trimStart()}`, ...rest]
      })),
    ...(more > 0 ? [`${indent}… and ${countOf(more)} more`] : []),
  ]
}

const columnsMax = 12

/** Rows with the same fields are a table; the longest text stands last, where a terminal breaks it. Null: they are none. */
function rowLines(items: readonly unknown[], indent: string, number: NumberText): readonly string[] | null {
  const [first] = items
  if (items.length < 2 || !items.every(isFlat) || !isFlat(first)) return null
  const names = Object.keys(first)
  const isSame = items.every((item) => Object.keys(item).join('\n') === names.join('\n'))
  if (!isSame || names.length > columnsMax) return null
  const rows = (items as readonly Readonly<Record<string, unknown>>[]).map((item) =>
    names.map((name) => cellOf(item[name], number)),
  )
  const widths = names.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const longest = widths.indexOf(Math.max(...widths))
  const last = <T>(cells: readonly T[]) => [...cells.filter((_, column) => column !== longest), cells[longest] as T]
  return table([last(names.map((name) => plain(name, nameMax))), ...rows.map(last)], indent)
}

function isNested(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  return Array.isArray(value) ? value.some(isNested) : Object.keys(value).length > 0
}

/** A row of a list: its fields fit in a line. */
function isFlat(value: unknown): value is object {
  return isNested(value) && !Array.isArray(value) && !Object.values(value).some(isNested)
}

function fieldsText(row: object, number: NumberText): string {
  const fields = Object.entries(row).map(([name, value]) => `${plain(name, nameMax)} ${cellOf(value, number)}`)
  return plain(fields.join(', '), rowMax)
}

function grouped(number: number): string {
  return Number.isSafeInteger(number) ? countOf(number) : String(number)
}

function cellOf(value: unknown, number: NumberText): string {
  if (typeof value === 'number') return number(value)
  if (typeof value === 'string') return plain(value, cellMax)
  // A list of plain values is one line.
  if (Array.isArray(value))
    return value.length === 0
      ? 'none'
      : plain(
          value
            .slice(0, 100)
            .map((item) => cellOf(item, number))
            .join(', '),
          cellMax,
        )
  return value === null || value === undefined ? '–' : gistOf(value)
}

function gistOf(value: unknown): string {
  return plain(JSON.stringify(value), cellMax)
}
