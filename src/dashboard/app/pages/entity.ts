import type { ChildGroup, Detail, Explanation, Progress } from '../../../control.ts'
import type { Event } from '../../../event.ts'
import type { Hold } from '../../../hold.ts'
import { entityHref, listHref, machineHref } from '../addresses.ts'
import { type Api, Problem } from '../api.ts'
import { wordsOf } from '../format.ts'
import { useLoaded } from '../loading.ts'
import { ActionBar } from '../parts/action-bar.ts'
import { Card } from '../parts/card.ts'
import { ChildGroups, toneOfGroups } from '../parts/child-groups.ts'
import { nameOf } from '../parts/entity-name.ts'
import { FailureNote } from '../parts/failure-note.ts'
import { JsonView } from '../parts/json-view.ts'
import { MachineDrawing } from '../parts/machine-drawing.ts'
import { HoldNotes, OrderBar } from '../parts/order-bar.ts'
import { ProblemNote } from '../parts/problem-note.ts'
import { ReportCard } from '../parts/report-card.ts'
import { StateBadge } from '../parts/state-badge.ts'
import { Time } from '../parts/time.ts'
import { Timeline } from '../parts/timeline.ts'
import { machineNamed, Services } from '../services.ts'
import { html, useContext, type VNode } from '../view.ts'
import { Children } from './children.ts'
import { WalkResult } from './walk-result.ts'

interface Loaded {
  readonly detail: Detail
  readonly explanation: Explanation | null
  readonly progress: Progress | null
  readonly history: readonly Event[]
  readonly holds: readonly Hold[]
}

async function load(api: Api, id: number): Promise<Loaded> {
  const [detail, explanation, progress, history, holds] = await Promise.all([
    api.entity(id),
    api.explain(id).catch(() => null),
    api.progress(id).catch(() => null),
    api.history(id),
    api.holds(),
  ])
  return { detail, explanation, progress, history, holds }
}

/** One entity, whatever it is: a batch shows its children too, a walk its result. */
export function EntityPage({ id }: { readonly id: string }): VNode {
  const { api } = useContext(Services)
  const number = /^\d{1,15}$/.test(id) ? Number(id) : null
  const { value, problem, reload } = useLoaded(`entity ${id}`, async () => {
    if (number === null) throw new Problem(404, { detail: `There is no entity ${id}.` })
    return load(api, number)
  })
  if (!value) {
    return problem
      ? html`<div class="stack"><h1>Entity ${id}</h1><${ProblemNote} problem=${problem} /><p><a href="/entities">All entities</a></p></div>`
      : html`<div class="stack"><h1>Entity ${id}</h1><div class="skeleton"></div></div>`
  }
  const { detail, explanation, progress, history, holds } = value
  const hasChildren = progress !== null && progress.total > 0
  return html`<div class="stack">
    <${Head} detail=${detail} hasChildren=${hasChildren} onDone=${reload} />
    <${FailureNote} detail=${detail} />
    ${explanation ? html`<${Why} explanation=${explanation} />` : null}
    <${HoldNotes} detail=${detail} explanation=${explanation} holds=${holds} onDone=${reload} />
    ${explanation ? html`<${ChildGroups} groups=${groupsOf(explanation)} />` : null}
    ${detail.purged ? html`<div class="callout ended"><span></span><p>Removed by retention: only its report and its counts are left.</p></div>` : null}
    ${detail.machine === 'walk' ? html`<${WalkResult} data=${detail.data} progress=${detail.progress} />` : null}
    ${hasChildren ? html`<${Children} detail=${detail} progress=${progress} />` : null}
    ${hasChildren ? null : html`<${ReportCard} detail=${detail} progress=${progress} />`}
    <div class="columns">
      <${Card} title="History" aside=${`${history.length} ${history.length === 1 ? 'event' : 'events'}`}><${Timeline} machine=${detail.machine} version=${detail.version} events=${history} /><//>
      <div class="stack">
        <${Card} title="Facts"><${Facts} detail=${detail} /><//>
        <${Card} title="Data"><${JsonView} value=${detail.data} label="Data as JSON" /><//>
        ${detail.progress === null || detail.progress === undefined ? null : html`<${Card} title="Progress of its processor"><${JsonView} value=${detail.progress} label="Progress as JSON" /><//>`}
      </div>
    </div>
    <${Path} detail=${detail} history=${history} />
  </div>`
}

function groupsOf({ facts }: Explanation): readonly ChildGroup[] {
  return Array.isArray(facts.children) ? facts.children : []
}

interface HeadProps {
  readonly detail: Detail
  readonly hasChildren: boolean
  readonly onDone: () => void
}

function Head({ detail, hasChildren, onDone }: HeadProps): VNode {
  const { machines } = useContext(Services)
  const machine = machineNamed(machines, detail.machine, detail.version)
  return html`<div class="head">
    <div class="title">
      <div class="crumbs"><a href=${machineHref(detail.machine, detail.version)}>${wordsOf(detail.machine)}</a>
        ${detail.parent === null ? null : html`<span class="sep">/</span><a href=${entityHref(detail.parent)}>#${detail.parent}</a>`}<span class="sep">/</span><span>#${detail.id}</span></div>
      <h1>${nameOf(detail)}</h1>
      <div class="line">
        <${StateBadge} machine=${detail.machine} version=${detail.version} state=${detail.shown ?? detail.state} />
        <span>since <${Time} at=${detail.changedAt} /></span>
        ${detail.labels.map((value, index) => {
          const label = machine?.labels[index]
          return value === null || label === undefined
            ? null
            : html`<a key=${label} class="badge note" href=${listHref({ machine: detail.machine, label, value, newest: true })}>${label}: ${value.length > 24 ? `${value.slice(0, 21)}…` : value}</a>`
        })}
      </div>
    </div>
    <div class="buttons"><${ActionBar} detail=${detail} onDone=${onDone} /><${OrderBar} detail=${detail} hasChildren=${hasChildren} onDone=${onDone} /></div>
  </div>`
}

const toneByKind: Readonly<Record<Explanation['kind'], string>> = {
  final: 'ended',
  settled: 'ended',
  running: 'active',
  ready: 'active',
  scheduled: 'waiting',
  retrying: 'warn',
  held: 'warn',
  gated: 'waiting',
  full: 'warn',
  children: 'active',
  parent_ended: 'ended',
  timer: 'waiting',
  person: 'warn',
  no_worker: 'bad',
  suspect: 'bad',
  purging: 'ended',
  store_trouble: 'bad',
}

function Why({ explanation }: { readonly explanation: Explanation }): VNode {
  const own = Object.hasOwn(toneByKind, explanation.kind) ? toneByKind[explanation.kind] : 'waiting'
  const tone = toneOfGroups(groupsOf(explanation)) ?? own
  return html`<div class=${`callout ${tone}`} role="status"><span class="badge note">${explanation.kind.replaceAll('_', ' ')}</span>
    <p>${explanation.sentence}</p></div>`
}

/** Its history on the drawing of its machine. */
function Path({ detail, history }: { readonly detail: Detail; readonly history: readonly Event[] }): VNode | null {
  const { api, machines } = useContext(Services)
  const machine = machineNamed(machines, detail.machine, detail.version)
  const { value: map } = useLoaded(
    `map ${detail.machine} ${detail.version}`,
    () => api.map(detail.machine, detail.version),
    { isLive: false },
  )
  if (!map) return null
  const taken = history.filter(({ to }) => to !== null).toReversed()
  const hops = new Map(
    [...Map.groupBy(taken, ({ from, to }) => `${from} ${to}`)].map(([hop, events]) => [
      hop,
      [...new Set(events.map(({ transition }) => transition))],
    ]),
  )
  const states = new Set(
    [...history.flatMap(({ from, to }) => [from, to]), detail.state].filter((state) => state !== null),
  )
  return html`<${Card} title="Map" aside="The arrows that it took"><${MachineDrawing} map=${map} machine=${machine} visited=${{ hops, states, current: detail.state }} /><//>`
}

/** Made by the server for a request that named none: nobody looks for it. */
function isMadeKey(key: string): boolean {
  return key.startsWith('idem:')
}

const waitWords = { run: 'a worker', children: 'its children' } as Readonly<Record<string, string>>

function Facts({ detail }: { readonly detail: Detail }): VNode {
  const { wait } = detail
  const at = 'at' in wait && wait.at !== null && wait.at > detail.changedAt ? wait.at : null
  return html`<div class="stack"><dl class="facts">
    <dt>Created</dt><dd><${Time} at=${detail.createdAt} />${detail.createdBy ? ` by ${detail.createdBy}` : ''}</dd>
    <dt>Machine</dt><dd><a href=${machineHref(detail.machine, detail.version)}>${detail.machine}</a> version ${detail.version}</dd>
    ${detail.parent === null ? null : html`<dt>Parent</dt><dd><a href=${entityHref(detail.parent)}>#${detail.parent}</a></dd>`}
    ${detail.source === null || detail.source === detail.parent ? null : html`<dt>Made by</dt><dd><a href=${entityHref(detail.source)}>#${detail.source}</a></dd>`}
    ${detail.owner === null ? null : html`<dt>Leased by</dt><dd><a href="/workers">worker ${detail.owner}</a></dd>`}
    ${wait.for === 'nothing' ? null : html`<dt>Waits for</dt><dd>${waitWords[wait.for] ?? wait.for}${at === null ? null : html`, <${Time} at=${at} />`}</dd>`}
    <dt>Priority</dt><dd>${detail.priority}</dd>
    ${detail.attempts === 0 ? null : html`<dt>Attempts</dt><dd>${detail.attempts}</dd>`}
    ${detail.generation === 0 ? null : html`<dt>Reopened</dt><dd>${detail.generation === 1 ? 'once' : `${detail.generation} times`}</dd>`}
    ${detail.reason === null ? null : html`<dt>Reason</dt><dd>${detail.reason}</dd>`}
    ${detail.actions.filter(({ refusal }) => refusal !== null).map(({ action, to, refusal }) => html`<dt key=${`${action} ${to}`}>${wordsOf(action)}</dt><dd>Not now: ${refusal}</dd>`)}
    ${detail.key === null || isMadeKey(detail.key) ? null : html`<dt>Key</dt><dd class="mono">${detail.key}</dd>`}
  </dl>
  <details><summary>Internals</summary><dl class="facts">
    <dt>Lane</dt><dd>${detail.lane}</dd><dt>Moves (seq)</dt><dd>${detail.seq}</dd><dt>Epoch</dt><dd>${detail.epoch}</dd><dt>Generation</dt><dd>${detail.generation}</dd>
    ${detail.key !== null && isMadeKey(detail.key) ? html`<dt>Key</dt><dd class="mono">${detail.key}</dd>` : null}
  </dl></details></div>`
}
