import { paintLength, widthOf } from './paint.ts'

/** Below this nothing is gained by keeping the shape of a table. */
const restMin = 20

/**
 * Lines that fit into the columns of a terminal. A line that is too long goes on below its last column, which is where messages stand, and
 * otherwise below its own beginning. Nothing is cut.
 */
export function fitted(text: string, columns: number): string {
  return text
    .split('\n')
    .flatMap((line) => (widthOf(line) <= columns ? [line] : broken(line, columns)))
    .join('\n')
}

function broken(line: string, columns: number): readonly string[] {
  const indent = indentOf(line, columns)
  const lines: string[] = []
  let rest = line
  while (widthOf(rest) > columns) {
    const at = breakAt(rest, columns, lines.length === 0 ? indent : 0)
    lines.push(rest.slice(0, at).trimEnd())
    rest = `${' '.repeat(indent)}${rest.slice(at).trimStart()}`
  }
  return [...lines, rest]
}

/** Where the last column begins that leaves room for some words. */
function indentOf(line: string, columns: number): number {
  const room = columns - restMin
  let indent = line.length - line.trimStart().length
  // Codes of colours take no columns.
  for (const { 0: gap, index } of line.matchAll(/(?<=\S) {2,}(?=\S)/g)) {
    const column = widthOf(line.slice(0, index)) + gap.length
    if (column <= room) indent = column
  }
  return Math.min(indent, Math.max(0, room))
}

/** Behind the last word that fits; in the middle of a word that is longer than a line. */
function breakAt(text: string, columns: number, from: number): number {
  let [width, index, lastGap] = [0, 0, -1]
  while (index < text.length && width < columns) {
    const painted = paintLength(text, index)
    if (painted > 0) {
      index += painted
      continue
    }
    if (text[index] === ' ' && width > Math.max(from, indentWidth(text))) lastGap = index
    width += 1
    index += 1
  }
  if (text[index] === ' ') return index
  return lastGap > 0 ? lastGap : index
}

function indentWidth(text: string): number {
  return text.length - text.trimStart().length
}
