import type { Detail, Progress } from '../../../control.ts'
import { listHref } from '../addresses.ts'
import { bytesText, countText, durationText, labelText, safeHref } from '../format.ts'
import { useLoaded } from '../loading.ts'
import { nameColumn, type ReportPart, reportParts, type Scalar, textOf } from '../report-parts.ts'
import { Services } from '../services.ts'
import { html, useContext, type View, type VNode } from '../view.ts'
import { Card } from './card.ts'
import { JsonView } from './json-view.ts'
import { Time } from './time.ts'

/** Which list holds exactly what a number of the report counts. Null: none does. */
type HrefOf = (name: string, count: number) => string | null

/** What a batch or job says of itself at its end, as figures and tables. Its JSON is one click away. */
export function ReportCard({
  detail,
  progress,
}: {
  readonly detail: Detail
  readonly progress: Progress | null
}): VNode | null {
  const { api } = useContext(Services)
  const { value } = useLoaded(`report ${detail.id} ${detail.seq}`, () => api.report(detail.id), { isLive: false })
  const result = value?.result
  if (result === null || result === undefined) return null
  const hrefOf: HrefOf = (name, count) => (progress ? linkOf(detail.id, progress, name, count) : null)
  const parts = reportParts(result)
  return html`<${Card} title="Report"><div class="stack report">
    ${parts.map((part, index) => html`<${Part} key=${index} part=${part} hrefOf=${hrefOf} />`)}
    <details><summary>As JSON</summary><${JsonView} value=${result} label="Report as JSON" /></details>
  </div><//>`
}

/** Only where the list would show as many: a snapshot in a report may be older than the children. */
function linkOf(id: number, progress: Progress, name: string, count: number): string | null {
  if (count === 0) return null
  if (progress.counts[name] === count) return listHref({ parent: id, state: name, newest: false })
  if (progress.reasons[name] === count) return listHref({ parent: id, reason: name, newest: false })
  if (name === 'total' && progress.total === count) return listHref({ parent: id, newest: false })
  return null
}

function Part({ part, hrefOf }: { readonly part: ReportPart; readonly hrefOf: HrefOf }): VNode {
  const heading = part.title === '' ? null : html`<h3>${labelText(part.title)}</h3>`
  switch (part.kind) {
    case 'figures':
      return html`<section>${heading}<div class="numbers">${part.figures.map(
        ([name, value]) =>
          html`<div key=${name}><span class="label">${labelText(name)}</span><span class=${typeof value === 'number' ? 'figure' : 'words'}>${shown(name, value, hrefOf)}</span></div>`,
      )}</div></section>`
    case 'counts':
      return html`<section>${heading}<div class="scroll" tabindex="0" role="region" aria-label=${labelText(part.title)}><table class="narrow"><tbody>${part.counts
        .toSorted(([, one], [, other]) => other - one)
        .map(
          ([name, count]) =>
            html`<tr key=${name}><th scope="row">${name}</th><td class="number">${shown(name, count, hrefOf)}</td></tr>`,
        )}</tbody></table></div></section>`
    case 'table':
      return html`<section>${heading}<div class="scroll" tabindex="0" role="region" aria-label=${labelText(part.title)}><table>
        <thead><tr>${part.columns.map((name) => html`<th key=${name} scope="col" class=${isNumeric(part.rows, name) ? 'number' : ''}>${name === nameColumn ? '' : labelText(name)}</th>`)}</tr></thead>
        <tbody>${part.rows.map(
          (row, index) =>
            html`<tr key=${index}>${part.columns.map((name) => html`<td key=${name} class=${isNumeric(part.rows, name) ? 'number' : 'break'}>${cell(row, name, hrefOf)}</td>`)}</tr>`,
        )}</tbody></table></div>${moreOf(part.more, 'rows')}</section>`
    case 'list':
      return html`<section>${heading}<ul class="plain">${part.items.map((item, index) => html`<li key=${index} class="break">${item}</li>`)}</ul>${moreOf(part.more, 'entries')}</section>`
    default:
      return part satisfies never
  }
}

function moreOf(more: number, what: string): View {
  return more === 0 ? null : html`<p class="faint">${countText(more)} more ${what} are in the JSON.</p>`
}

function isNumeric(rows: readonly Readonly<Record<string, unknown>>[], name: string): boolean {
  return rows.every((row) => row[name] === undefined || typeof row[name] === 'number')
}

function cell(row: Readonly<Record<string, unknown>>, name: string, hrefOf: HrefOf): View {
  const value = row[name]
  if (value === undefined) return ''
  // In a table by reason, the number in `count` is that of the reason.
  if (name === 'count' && typeof row.reason === 'string') return shown(row.reason, value as Scalar, hrefOf)
  return typeof value === 'object' && value !== null ? textOf(value) : shown(name, value as Scalar, hrefOf)
}

/** Names of fields carry their unit: `bytes`, `seconds`, `elapsedMs`, `startedAt`. */
function shown(name: string, value: Scalar, hrefOf: HrefOf): View {
  if (value === null) return '–'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'string') {
    const href = safeHref(value)
    return href?.startsWith('http') ? html`<a href=${href} rel="noopener noreferrer">${value}</a>` : value
  }
  if (/(^|[a-z])bytes$/i.test(name)) return html`<span title=${countText(value)}>${bytesText(value)}</span>`
  if (/(^|[a-z])seconds$/i.test(name)) return durationText(value * 1_000)
  if (/[a-z]Ms$/.test(name)) return durationText(value)
  if (/[a-z](At|Time)$/.test(name) && value > 1e11) return html`<${Time} at=${value} />`
  const href = hrefOf(name, value)
  return href === null ? numberText(value) : html`<a href=${href}>${numberText(value)}</a>`
}

const fine = new Intl.NumberFormat('en', { maximumFractionDigits: 3 })

function numberText(value: number): string {
  return Number.isInteger(value) ? countText(value) : fine.format(value)
}
