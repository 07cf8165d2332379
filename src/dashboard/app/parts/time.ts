import { clockTime, exactTime, relativeTime } from '../format.ts'
import { Services } from '../services.ts'
import { html, useContext, type VNode } from '../view.ts'

/** When it was, and how long ago: for lists in which several things happened in the same minute. */
export function Moment({ at }: { readonly at: number }): VNode {
  const { live } = useContext(Services)
  const isToday = new Date(at).toDateString() === new Date(live.now).toDateString()
  return html`<time class="nowrap" datetime=${new Date(at).toISOString()} title=${exactTime(at)}>${isToday ? clockTime(at) : exactTime(at)}, ${relativeTime(at, live.now)}</time>`
}

/** How long ago, with the exact moment for whoever points at it. */
export function Time({ at }: { readonly at: number }): VNode {
  const { live } = useContext(Services)
  return html`<time class="nowrap" datetime=${new Date(at).toISOString()} title=${exactTime(at)}>${relativeTime(at, live.now)}</time>`
}
