import { masked } from '../masked.ts'
import { widthOf } from './paint.ts'

/**
 * Names and messages that come from data may hold escape sequences that repaint a terminal, or line breaks that fake a line of ours.
 * Whatever is not ours goes through here before it is shown.
 */
export function plain(text: unknown, charactersMax = 500): string {
  const line = String(text)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}]/gu, escaped)
    .toWellFormed()
  return line.length <= charactersMax ? line : `${line.slice(0, charactersMax - 1).toWellFormed()}…`
}

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u{${code.toString(16)}}`
}

/** A word as a shell takes it: what we tell people to type must work when typed. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

/** Without passwords: what is told stands in logs and in what is copied to others. */
export function commandLine(words: readonly string[]): string {
  return words.map((word) => shellWord(masked(word))).join(' ')
}

/** Columns that line up; numbers to the right. A column in which nothing stands takes no room. */
export function table(rows: readonly (readonly (string | number)[])[], indent = '  '): readonly string[] {
  const texts = rows.map((row) => row.map((cell) => (typeof cell === 'number' ? cell.toLocaleString('en') : cell)))
  const widths = (texts[0] ?? []).map((_, column) => Math.max(...texts.map((row) => widthOf(row[column] ?? ''))))
  return texts.map((row, line) => {
    const cells = row.flatMap((cell, column) => {
      const width = widths[column] ?? 0
      if (width === 0) return []
      const space = ' '.repeat(width - widthOf(cell))
      return [typeof rows[line]?.[column] === 'number' ? `${space}${cell}` : `${cell}${space}`]
    })
    return `${indent}${cells.join('  ')}`.trimEnd()
  })
}

/** Lines under a title; nothing if there are none. */
export function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ['', title, ...lines]
}
