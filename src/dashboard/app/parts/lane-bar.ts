import type { Progress } from '../../../control.ts'
import { countText } from '../format.ts'
import { type MachineShape, stateText, toneOf, toneOrder } from '../tone.ts'
import { html, type VNode } from '../view.ts'

interface Shown {
  readonly machine: MachineShape | undefined
  readonly counts: Readonly<Record<string, number>>
  /** What is still open goes on no more: its parent has ended. */
  readonly isAtRest?: boolean
}

export function isAtRest({ lanes }: Pick<Progress, 'lanes'>): boolean {
  return lanes.length > 0 && lanes.every(({ status }) => status !== 'going')
}

function sorted({ machine, counts, isAtRest }: Shown) {
  const toneNow = (state: string) => (isAtRest && !machine?.settled.includes(state) ? 'ended' : toneOf(machine, state))
  return Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([state, count]) => ({ state, count, tone: toneNow(state) }))
    .toSorted((one, other) => toneOrder.indexOf(one.tone) - toneOrder.indexOf(other.tone))
    .map((shown, index, all) => {
      // Two states of one colour are told apart by their pattern.
      const nth = all.slice(0, index).filter(({ tone }) => tone === shown.tone).length
      return { ...shown, look: nth === 0 ? shown.tone : `${shown.tone} pattern${Math.min(nth, 3)}` }
    })
}

/** How many are in which state, as one bar. */
export function LaneBar({ machine, counts, isAtRest, large }: Shown & { readonly large?: boolean }): VNode {
  const shown = sorted({ machine, counts, isAtRest })
  const total = shown.reduce((all, { count }) => all + count, 0)
  const label =
    shown.map(({ state, count }) => `${countText(count)} ${stateText(machine, state)}`).join(', ') || 'nothing yet'
  return html`<div class=${large ? 'bar large' : 'bar'} role="img" aria-label=${label} title=${label}>
    ${shown.map(({ state, count, look }) => html`<span key=${state} class=${look} style=${{ width: `${(count / total) * 100}%` }}></span>`)}
  </div>`
}

/** The same as words, each a link to what is counted. */
export function LaneLegend({
  machine,
  counts,
  isAtRest,
  hrefOf,
}: Shown & { readonly hrefOf: (state: string) => string }): VNode {
  return html`<ul class="legend">
    ${sorted({ machine, counts, isAtRest }).map(
      ({ state, count, look }) =>
        html`<li key=${state}><a href=${hrefOf(state)}><span class=${`dot ${look}`}></span><b>${countText(count)}</b> ${stateText(machine, state)}</a></li>`,
    )}
  </ul>`
}
