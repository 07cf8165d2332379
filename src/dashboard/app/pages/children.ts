import type { Detail, Progress } from '../../../control.ts'
import { listHref, machineHref } from '../addresses.ts'
import { countText, durationText, percentText, rateText, wordsOf } from '../format.ts'
import { useLoaded } from '../loading.ts'
import { Card } from '../parts/card.ts'
import { EntityTable } from '../parts/entity-table.ts'
import { isAtRest, LaneBar, LaneLegend } from '../parts/lane-bar.ts'
import { ReportCard } from '../parts/report-card.ts'
import { useRoute, withQuery } from '../route.ts'
import { machineNamed, Services } from '../services.ts'
import { stateText } from '../tone.ts'
import { html, useContext, useRef, useState, type VNode } from '../view.ts'

const shownMax = 10
const reasonsMax = 12

/** What a batch is made of: how far it is, what went wrong, and its children. */
export function Children({ detail, progress }: { readonly detail: Detail; readonly progress: Progress }): VNode {
  const { api, machines } = useContext(Services)
  const route = useRoute()
  const state = route.query.get('state')
  const lane = progress.lanes[0]
  const machine = lane && machineNamed(machines, lane.machine, lane.version)
  const reasons = Object.entries(progress.reasons).toSorted(([, one], [, other]) => other - one)
  const hrefOf = (name: string) => listHref({ machine: lane?.machine, parent: detail.id, state: name, newest: false })
  const list = useLoaded(
    `children ${detail.id} ${state} ${progress.settled} ${progress.total}`,
    () => api.list({ parent: String(detail.id), limit: shownMax, ...(state ? { state } : {}) }),
    { isLive: false },
  )
  const kept = useLastValue(list.value)
  return html`<div class="stack">
    <${Card} title="Progress" aside=${lane ? html`<a href=${`${machineHref(lane.machine, lane.version)}?parent=${detail.id}`}>Live map of its children</a>` : null}>
      <div class="stack">
        <div class="numbers">
          <div><span class="label">Progress</span><span class="figure">${percentText(progress.percent)}</span></div>
          <div><span class="label">Done</span><span class="figure"><a href=${listHref({ parent: detail.id, outcome: 'success' })}>${countText(progress.outcomes.success)}</a></span></div>
          <div><span class="label">Settled</span><span class="figure"><a href=${listHref({ parent: detail.id, settled: true })}>${countText(progress.settled)}</a> <span class="faint">of <a href=${listHref({ parent: detail.id, newest: false })}>${countText(progress.total)}</a></span></span></div>
          ${
            detail.settled
              ? null
              : html`<div><span class="label">Rate</span><span class="figure">${rateText(progress.ratePerSecond)}</span></div>
          <div><span class="label">Time left</span><span class="figure">${timeLeftText(progress)}</span></div>`
          }
          ${Object.entries(progress.sums).map(([name, sum]) => html`<div key=${name}><span class="label">${wordsOf(name)}</span><span class="figure">${countText(sum)}</span></div>`)}
        </div>
        <${LaneBar} machine=${machine} counts=${progress.counts} isAtRest=${isAtRest(progress)} large />
        <${LaneLegend} machine=${machine} counts=${progress.counts} isAtRest=${isAtRest(progress)} hrefOf=${hrefOf} />
        ${progress.lanes.length > 1 ? html`<${Lanes} id=${detail.id} progress=${progress} />` : null}
      </div>
    <//>
    ${reasons.length > 0 ? html`<${Reasons} id=${detail.id} reasons=${reasons} />` : null}
    <${ReportCard} detail=${detail} progress=${progress} />
    <${Card} title="Children" aside=${html`<a href=${listHref({ machine: lane?.machine, parent: detail.id, state, newest: false })}>All, with filters</a>`} flush>
      <div class="body"><div class="chips">
        <a class="chip" aria-current=${state === null ? 'true' : undefined} href=${withQuery(route, { state: null })}>all</a>
        ${Object.entries(progress.counts)
          .filter(([, count]) => count > 0)
          .map(
            ([name, count]) =>
              html`<a key=${name} class="chip" aria-current=${state === name ? 'true' : undefined} href=${withQuery(route, { state: name })}>${stateText(machine, name)} <b>${countText(count)}</b></a>`,
          )}
      </div></div>
      ${kept ? (kept.entities.length > 0 ? html`<${EntityTable} entities=${kept.entities} label="Children" />` : html`<p class="empty">None.</p>`) : null}
    <//>
  </div>`
}

/** The most frequent first. Where there are many, the rest comes at a click, and the button says how many. */
function Reasons({ id, reasons }: { readonly id: number; readonly reasons: readonly (readonly [string, number])[] }) {
  const [isWhole, setWhole] = useState(false)
  const shown = isWhole ? reasons : reasons.slice(0, reasonsMax)
  const hidden = reasons.slice(shown.length)
  const hiddenCount = hidden.reduce((all, [, count]) => all + count, 0)
  return html`<${Card} title="Why children failed" aside=${`${countText(reasons.length)} ${reasons.length === 1 ? 'reason' : 'reasons'}`} flush>
    <ul class="rows compact" role="list" aria-label="Reasons">${shown.map(([reason, count]) => {
      const href = listHref({ parent: id, reason, newest: false })
      return html`<li key=${reason}><div class="text"><a class="what" href=${href}>${reason}</a></div><a class="figure" href=${href}>${countText(count)}</a></li>`
    })}</ul>
    ${hidden.length === 0 ? null : html`<p class="more"><button type="button" class="button small" onClick=${() => setWhole(true)}>Show ${hidden.length} more reasons (${countText(hiddenCount)} children)</button></p>`}
  <//>`
}

/** One number, or where the rate varies the band in which it lies. */
function timeLeftText({ etaMs, etaLowMs, etaHighMs }: Progress): string {
  if (etaMs === null) return '–'
  if (etaLowMs === null) return durationText(etaMs)
  const [low, high] = [durationText(etaLowMs), etaHighMs === null ? null : durationText(etaHighMs)]
  return high === null ? `${low} or more` : low === high ? low : `${low} to ${high}`
}

/** What is being loaded anew stays on the page until it is there. */
function useLastValue<T>(value: T | null): T | null {
  const last = useRef<T | null>(null)
  if (value !== null) last.current = value
  return last.current
}

function Lanes({ id, progress }: { readonly id: number; readonly progress: Progress }): VNode {
  const { machines } = useContext(Services)
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Steps"><table>
    <thead><tr><th scope="col">Step</th><th scope="col">Children</th><th scope="col" class="number">Open</th><th scope="col" class="number">All</th></tr></thead>
    <tbody>${progress.lanes.map(
      (lane) => html`<tr key=${lane.name}>
      <td class="name">${lane.name}</td>
      <td class="meter"><${LaneBar} machine=${machineNamed(machines, lane.machine, lane.version)} counts=${lane.counts} isAtRest=${lane.status !== 'going'} /></td>
      <td class="number"><a href=${listHref({ parent: id, lane: lane.name, settled: false })}>${countText(lane.open)}</a></td>
      <td class="number"><a href=${listHref({ parent: id, lane: lane.name, newest: false })}>${countText(lane.total)}</a></td></tr>`,
    )}</tbody>
  </table></div>`
}
