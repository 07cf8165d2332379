import { countText, wordsOf } from '../format.ts'
import { Card } from '../parts/card.ts'
import { html, type VNode } from '../view.ts'

interface Tally {
  readonly done?: number
  readonly requested?: number
  readonly refused?: number
  readonly stale?: number
  readonly refusals?: readonly { readonly id: number; readonly message: string }[]
}

/** What an act on many came to, by verdict. */
export function WalkResult({ data, progress }: { readonly data: unknown; readonly progress: unknown }): VNode {
  const { action, matching, result, actor } = data as {
    readonly action: string
    readonly matching: number
    readonly result: Tally | null
    readonly actor?: { readonly reason: string | null }
  }
  const tally = result ?? ((progress ?? {}) as Tally)
  const figures = [
    ['Asked of', matching],
    ['Done', tally.done],
    ['Requested', tally.requested],
    ['Refused', tally.refused],
    ['Moved meanwhile', tally.stale],
  ] as const
  return html`<${Card} title=${`${wordsOf(action)} on many`} aside=${actor?.reason ?? null}><div class="stack">
    <div class="numbers">${figures.map(([label, count]) => html`<div key=${label}><span class="label">${label}</span><span class="figure">${count === undefined ? '–' : countText(count)}</span></div>`)}</div>
    ${tally.refusals && tally.refusals.length > 0 ? html`<ul class="timeline limited">${tally.refusals.map(({ id, message }) => html`<li key=${id}><span class="knot warn"></span><div><a href=${`/entities/${id}`}>#${id}</a> <span class="more">${message}</span></div></li>`)}</ul>` : null}
  </div><//>`
}
