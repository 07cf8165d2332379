import type { Event } from '../../../event.ts'
import { durationText } from '../format.ts'
import { machineNamed, Services } from '../services.ts'
import { toneOf } from '../tone.ts'
import { html, useContext, type VNode } from '../view.ts'
import { Moment } from './time.ts'

interface TimelineProps {
  readonly machine: string
  readonly version: number
  readonly events: readonly Event[]
}

/** Every hop, the newest first, with who asked for it and why. */
export function Timeline({ machine, version, events }: TimelineProps): VNode {
  const { machines } = useContext(Services)
  const shape = machineNamed(machines, machine, version)
  if (events.length === 0) return html`<p class="faint">Nothing is kept of its history.</p>`
  const rows = events.map((event, index) => ({ event, before: events[index - 1] })).toReversed()
  return html`<ol class="timeline limited" tabindex="0" role="list" aria-label="History, newest first">${rows.map(
    ({ event, before }) => html`<li key=${`${event.seq} ${event.hop}`}>
    <span class=${`knot ${event.to === null ? 'waiting' : toneOf(shape, event.to)}`}></span>
    <div>
      <div class="what"><b>${event.transition}</b>${event.to === null ? null : html`<span class="soft">${event.from === null ? '' : `${event.from} → `}${event.to}</span>`}</div>
      <div class="more"><${Moment} at=${event.at} />${before && event.at > before.at ? ` · after ${durationText(event.at - before.at)}` : ''} · ${event.cause}${event.actor ? ` · ${event.actor}${event.role ? ` (${event.role})` : ''}` : ''}${event.generation > 0 ? ` · reopened ${event.generation === 1 ? 'once' : `${event.generation} times`}` : ''}</div>
      ${event.reason ? html`<div class="more">“${event.reason}”</div>` : null}
      ${event.error ? html`<div class="error">${event.error}</div>` : null}
    </div>
  </li>`,
  )}</ol>`
}
