import { exactTime, relativeTime } from '../format.ts'
import { Services } from '../services.ts'
import { html, useContext, type VNode } from '../view.ts'

/** How long ago, with the exact moment for whoever points at it. */
export function Time({ at }: { readonly at: number }): VNode {
  const { live } = useContext(Services)
  return html`<time class="nowrap" datetime=${new Date(at).toISOString()} title=${exactTime(at)}>${relativeTime(at, live.now)}</time>`
}
