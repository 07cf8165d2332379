import type { HNItem } from 'sluice/upload'
import { plain } from '../text.ts'

/** What a list shows of an item. */
export interface Shown {
  readonly hnId: number
  readonly type: string
  readonly by: string | null
  readonly time: number | null
  readonly score: number | null
  readonly link: string
  readonly item: Pick<HNItem, 'title' | 'text' | 'deleted' | 'dead'> | null
}

export function cellsOf({ hnId, type, by, time, score, link, item }: Shown): readonly string[] {
  return [
    String(hnId),
    type,
    score === null ? '–' : String(score),
    // Some items carry times far beyond any calendar.
    time === null ? '–' : dayOf(time * 1_000),
    plain(by ?? '–', 20),
    `${gistOf(item)}${link === 'unresolved' ? ' (its parent is not known)' : ''}`,
  ]
}

export const cellTitles = ['hnId', 'type', 'score', 'day', 'by', 'what'] as const

const gistMax = 80

/** The title, or the first words of the text without its HTML. */
export function gistOf(item: Shown['item']): string {
  if (item === null) return ''
  const marks = [...(item.deleted ? ['[deleted]'] : []), ...(item.dead ? ['[dead]'] : [])]
  // A text may be a MiB long; its beginning will do.
  const html = (item.title || item.text || '').slice(0, gistMax * 8)
  return [...marks, plain(withoutHtml(html), gistMax)].join(' ').trim()
}

const entities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  '#x27': "'",
  '#x2F': '/',
  '#39': "'",
}

function withoutHtml(html: string): string {
  return html
    .replaceAll(/<[^<>]{0,300}>?/g, ' ')
    .replaceAll(/&(amp|lt|gt|quot|#x27|#x2F|#39);/g, (_, name: string) => entities[name] ?? '')
    .replaceAll(/\s+/g, ' ')
    .trim()
}

function dayOf(ms: number): string {
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? '–' : date.toISOString().slice(0, 10)
}
