import { countOf } from '../figures.ts'
import { plain } from '../text.ts'

const linesMax = 60
const fieldsMax = 50
const itemsMax = 10
const cellMax = 200
const rowMax = 120
const nameMax = 60
const depthMax = 6

/** Any plain data as lines for people: fields below each other, lists with dashes. What is too long is cut, and says so. */
export function dataLines(value: unknown): readonly string[] {
  const lines = linesOf(value, '  ', 0)
  if (lines.length <= linesMax) return lines
  return [...lines.slice(0, linesMax - 1), `  … and ${countOf(lines.length - linesMax + 1)} more lines; --json has all`]
}

function linesOf(value: unknown, indent: string, depth: number): readonly string[] {
  if (!isNested(value)) return [`${indent}${cellOf(value)}`]
  if (depth >= depthMax) return [`${indent}${gistOf(value)}`]
  return Array.isArray(value) ? itemLines(value, indent, depth) : fieldLines(Object.entries(value), indent, depth)
}

function fieldLines(all: readonly (readonly [string, unknown])[], indent: string, depth: number): readonly string[] {
  const fields = all.slice(0, fieldsMax).map(([name, item]) => [plain(name, nameMax), item] as const)
  // Rows under names, such as counts by type: a line for each.
  const areRows = depth > 0 && fields.length > 1 && fields.every(([, item]) => isFlat(item))
  const inLine = fields.filter(([, item]) => areRows || !isNested(item))
  const width = Math.max(...inLine.map(([name]) => name.length), 0)
  const more = all.length - fields.length
  return [
    ...fields.flatMap(([name, item]) =>
      isNested(item) && !areRows
        ? [`${indent}${name}`, ...linesOf(item, `${indent}  `, depth + 1)]
        : [`${indent}${name.padEnd(width)}  ${isFlat(item) ? fieldsText(item) : cellOf(item)}`],
    ),
    ...(more > 0 ? [`${indent}… and ${countOf(more)} more`] : []),
  ]
}

function itemLines(items: readonly unknown[], indent: string, depth: number): readonly string[] {
  const more = items.length - itemsMax
  return [
    ...items.slice(0, itemsMax).flatMap((item) => {
      const [first = '', ...rest] = isFlat(item) ? [fieldsText(item)] : linesOf(item, `${indent}  `, depth + 1)
      return [`${indent}- ${first.trimStart()}`, ...rest]
    }),
    ...(more > 0 ? [`${indent}… and ${countOf(more)} more`] : []),
  ]
}

function isNested(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  return Array.isArray(value) ? value.some(isNested) : Object.keys(value).length > 0
}

/** A row of a list: its fields fit in a line. */
function isFlat(value: unknown): value is object {
  return isNested(value) && !Array.isArray(value) && !Object.values(value).some(isNested)
}

function fieldsText(row: object): string {
  const fields = Object.entries(row).map(([name, value]) => `${plain(name, nameMax)} ${cellOf(value)}`)
  return plain(fields.join(', '), rowMax)
}

function cellOf(value: unknown): string {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? countOf(value) : String(value)
  if (typeof value === 'string') return plain(value, cellMax)
  // A list of plain values is one line.
  if (Array.isArray(value))
    return value.length === 0 ? 'none' : plain(value.slice(0, 100).map(cellOf).join(', '), cellMax)
  return value === null || value === undefined ? '–' : gistOf(value)
}

function gistOf(value: unknown): string {
  return plain(JSON.stringify(value), cellMax)
}
