import type { Detail, Explanation, ListPage, Progress } from '../../../control.ts'
import type { Hold } from '../../../hold.ts'
import type { Lane } from '../../../lane.ts'
import type { Worker } from '../../../lease.ts'
import { outcomeOf } from '../../../state-outcome.ts'
import { listHref, machineHref } from '../addresses.ts'
import type { Api } from '../api.ts'
import { countText, durationText, percentText, rateText, wordsOf } from '../format.ts'
import { useBeat, useLoaded } from '../loading.ts'
import { Card } from '../parts/card.ts'
import { EntityLink } from '../parts/entity-name.ts'
import { isAtRest, LaneBar } from '../parts/lane-bar.ts'
import { ThroughputPlot } from '../parts/plot.ts'
import { ProblemNote } from '../parts/problem-note.ts'
import { StateBadge } from '../parts/state-badge.ts'
import { Time } from '../parts/time.ts'
import { machineNamed, Services } from '../services.ts'
import { isRunningWithErrors, type MachineShape, needsAttention, toneOf } from '../tone.ts'
import { html, useContext, type View, type VNode } from '../view.ts'
import { SampleOffer } from './sample-offer.ts'

type Row = ListPage['entities'][number]

interface Loaded {
  readonly totals: readonly Lane[]
  readonly holds: readonly Hold[]
  readonly workers: readonly Worker[]
  readonly oldest: readonly { readonly row: Row; readonly why: Explanation | null }[]
  readonly latest: readonly { readonly row: Row; readonly progress: Progress | null }[]
}

/** Work that has been going on for so long deserves a look all the same. */
const longMs = 3_600_000
const oldestMax = 5
const latestMax = 7

/** A few small requests side by side; none of them counts anything row by row. */
async function load(api: Api): Promise<Loaded> {
  const [totals, holds, workers, open, recent] = await Promise.all([
    api.totals(),
    api.holds(),
    api.workers(),
    api.list({ parent: 'none', settled: 'false', limit: oldestMax }),
    api.list({ parent: 'none', newest: true, limit: latestMax }),
  ])
  const [oldest, latest] = await Promise.all([
    Promise.all(open.entities.map(async (row) => ({ row, why: await api.explain(row.id).catch(() => null) }))),
    Promise.all(recent.entities.map(async (row) => ({ row, progress: await api.progress(row.id).catch(() => null) }))),
  ])
  return { totals, holds, workers, oldest, latest }
}

export function Overview(): VNode {
  const { api, contact } = useContext(Services)
  const { value, problem } = useLoaded('overview', () => load(api))
  return html`<div class="stack">
    <div class="head"><div class="title"><h1>Overview</h1></div></div>
    ${problem ? html`<${ProblemNote} problem=${problem} />` : null}
    ${value ? html`<${Figures} ...${value} />` : html`<div class="tiles">${[1, 2, 3, 4].map((key) => html`<div key=${key} class="tile"><span class="label">…</span><span class="figure">–</span></div>`)}</div>`}
    <div class="columns wide-left">
      <div class="stack">
        <${Throughput} />
        ${value ? html`<${Latest} latest=${value.latest} />` : html`<div class="skeleton"></div>`}
      </div>
      <div class="stack">
        ${value ? html`<${Attention} ...${value} isStale=${problem !== null || contact.isSilent} />` : html`<div class="skeleton"></div>`}
        ${value ? html`<${Machines} totals=${value.totals} />` : null}
      </div>
    </div>
  </div>`
}

function Throughput(): VNode {
  const live = useBeat()
  return html`<${Card} title="Moves per second" aside=${html`<b>${rateText(live.movesPerSecond(10))}</b> in the last 10 seconds`}><${ThroughputPlot} /><//>`
}

function Figures({ totals, holds, workers }: Loaded): VNode {
  const { machines } = useContext(Services)
  const open = totals.reduce((all, lane) => all + lane.open, 0)
  const total = totals.reduce((all, lane) => all + lane.total, 0)
  const failed = totals
    .flatMap(({ machine, version, counts }) => {
      const shape = machineNamed(machines, machine, version)
      return Object.entries(counts).filter(([state]) => outcomeOf(shape, state) === 'failure')
    })
    .reduce((all, [, count]) => all + count, 0)
  const failedHref = listHref({ parent: 'none', newest: true, outcome: 'failure' })
  const leases = workers.reduce((all, worker) => all + worker.leases, 0)
  return html`<div class="tiles">
    <${Tile} label="Open" figure=${open} href=${listHref({ parent: 'none', settled: false, newest: true })} note=${`of ${countText(total)} batches and jobs`} />
    <${Tile} label="Failed" figure=${failed} tone=${failed > 0 ? 'bad' : ''} href=${failedHref} note="batches and jobs" />
    <${Tile} label="Holds" figure=${holds.length} tone=${holds.length > 0 ? 'warn' : ''} href="/holds" note=${holds.length === 0 ? 'nothing is held' : (holds[0]?.reason ?? '')} />
    <${Tile} label="Workers" figure=${workers.length} tone=${workers.length === 0 ? 'bad' : ''} href="/workers" note=${`${countText(leases)} ${leases === 1 ? 'lease' : 'leases'} held`} />
  </div>`
}

interface TileProps {
  readonly label: string
  readonly figure: number
  readonly href: string
  readonly note: string
  readonly tone?: string
}

function Tile({ label, figure, href, note, tone = '' }: TileProps): VNode {
  return html`<a class=${`tile ${tone}`} href=${href}><span class="label">${label}</span><span class="figure">${countText(figure)}</span><span class="note break">${note}</span></a>`
}

/** States of roots that are not as they should be, with how many are in them: what failed first. */
function troubles(totals: readonly Lane[], machines: readonly MachineShape[]) {
  return totals
    .flatMap((lane) => {
      const shape = machineNamed(machines, lane.machine, lane.version)
      return Object.entries(lane.counts).map(([state, count]) => ({
        lane,
        shape,
        state,
        count,
        tone: toneOf(shape, state),
      }))
    })
    .filter(({ shape, state, count }) => count > 0 && needsAttention(shape, state))
    .toSorted((one, other) => Number(other.tone === 'bad') - Number(one.tone === 'bad'))
}

/** What a person should look at, the worst first. Each row leads to what it speaks of. */
function Attention({ totals, holds, workers, oldest, isStale }: Loaded & { readonly isStale: boolean }): VNode {
  const { machines, live } = useContext(Services)
  const rows: View[] = []
  if (workers.length === 0) {
    rows.push(
      html`<li key="workers"><div class="text"><span class="what">No worker is alive</span><span class="why">Nothing will be done until one starts.</span></div><a class="button small" href="/workers">Workers</a></li>`,
    )
  }
  for (const { lane, state, count } of troubles(totals, machines)) {
    const href = listHref({ machine: lane.machine, version: lane.version, state, parent: 'none', newest: true })
    rows.push(
      html`<li key=${`${lane.name} ${state}`}><div class="text"><a class="what" href=${href}>${wordsOf(lane.machine)}</a><span class="why"><${StateBadge} machine=${lane.machine} version=${lane.version} state=${state} /></span></div><a class="figure" href=${href}>${countText(count)}</a></li>`,
    )
  }
  for (const hold of holds.slice(0, 4)) {
    rows.push(
      html`<li key=${`hold ${hold.id}`}><div class="text"><a class="what" href="/holds">On hold: ${hold.reason}</a><span class="why">by ${hold.owner}, <${Time} at=${hold.since} /></span></div></li>`,
    )
  }
  for (const { row, why } of oldest) {
    const isAtWork = why && ['running', 'ready', 'children'].includes(why.kind)
    if (isAtWork && live.now - row.changedAt < longMs) continue
    rows.push(
      html`<li key=${row.id}><div class="text"><span class="what"><${EntityLink} entity=${row} /></span><span class="why">${why?.sentence ?? ''}</span></div><span class="faint nowrap">${durationText(Math.max(0, live.now - row.createdAt))}</span></li>`,
    )
  }
  return html`<${Card} title="Needs attention" flush>${rows.length > 0 ? html`<ul class="rows">${rows}</ul>` : html`<p class="empty">${isStale ? 'Not known: the figures are out of date.' : 'Nothing. All is well.'}</p>`}<//>`
}

function Latest({ latest }: Pick<Loaded, 'latest'>): VNode {
  if (latest.length === 0) return html`<${Card} title="Latest" flush><${SampleOffer} /><//>`
  return html`<${Card} title="Latest" aside=${html`<a href=${listHref({ parent: 'none', newest: true })}>All</a>`} flush>
    <div class="scroll" tabindex="0" role="region" aria-label="Latest batches and jobs"><table class="tight">
      <thead><tr><th scope="col">Batch or job</th><th scope="col">State</th><th scope="col">Children</th><th scope="col" class="number">Settled</th><th scope="col" class="number">Created</th></tr></thead>
      <tbody>${latest.map(({ row, progress }) => html`<${LatestRow} key=${row.id} row=${row} progress=${progress} />`)}</tbody>
    </table></div>
  <//>`
}

function LatestRow({
  row,
  progress,
}: {
  readonly row: Omit<Detail, 'actions'>
  readonly progress: Progress | null
}): VNode {
  const { machines } = useContext(Services)
  const lane = progress?.lanes[0]
  const child = lane && machineNamed(machines, lane.machine, lane.version)
  const errors = progress?.sums.errors ?? 0
  const isErrored = isRunningWithErrors(machineNamed(machines, row.machine, row.version), row.state)
  return html`<tr>
    <td class="name"><${EntityLink} entity=${row} /></td>
    <td><${StateBadge} machine=${row.machine} version=${row.version} state=${row.shown ?? row.state} />${isErrored && errors > 0 ? html` <span class="faint">${countText(errors)} errors</span>` : null}</td>
    <td class="meter">${progress && progress.total > 0 ? html`<${LaneBar} machine=${child} counts=${progress.counts} isAtRest=${isAtRest(progress)} />` : html`<span class="faint">–</span>`}</td>
    <td class="number">${progress && progress.total > 0 ? percentText(progress.percent) : ''}</td>
    <td class="number soft"><${Time} at=${row.createdAt} /></td>
  </tr>`
}

function Machines({ totals }: Pick<Loaded, 'totals'>): VNode {
  const { machines } = useContext(Services)
  // A machine that nothing has been submitted to is a way to begin.
  const unused = machines.filter(
    ({ name, parent, submitPath }) =>
      parent === null && submitPath !== '/api/actions' && !totals.some(({ machine }) => machine === name),
  )
  return html`<${Card} title="Machines" aside=${html`<a href="/machines">All</a>`} flush><ul class="rows">${unused.map(
    ({ name, version }) =>
      html`<li key=${`unused ${name} ${version}`}><div class="text"><a class="what" href=${machineHref(name, version)}>${wordsOf(name)}</a></div><span class="figure faint">0</span></li>`,
  )}${totals.map((lane) => {
    const shape = machineNamed(machines, lane.machine, lane.version)
    return html`<li key=${lane.name}><div class="text"><a class="what" href=${machineHref(lane.machine, lane.version)}>${wordsOf(lane.machine)}</a><${LaneBar} machine=${shape} counts=${lane.counts} /></div><a class="figure" href=${listHref({ machine: lane.machine, version: lane.version, newest: true })}>${countText(lane.total)}</a></li>`
  })}</ul><//>`
}
