import type { Lane } from '../../../lane.ts'
import { entityHref, listHref, machineHref } from '../addresses.ts'
import type { Api } from '../api.ts'
import { countText, rateText, wordsOf } from '../format.ts'
import { useBeat, useLoaded } from '../loading.ts'
import { Card } from '../parts/card.ts'
import { nameOf } from '../parts/entity-name.ts'
import { LaneLegend } from '../parts/lane-bar.ts'
import { MachineDrawing } from '../parts/machine-drawing.ts'
import { ProblemNote } from '../parts/problem-note.ts'
import { navigate, useRoute, withQuery } from '../route.ts'
import { machineNamed, Services } from '../services.ts'
import { type MachineShape, stateText, toneOf } from '../tone.ts'
import { html, useContext, type VNode } from '../view.ts'

/** Children are counted by their parents alone: their machine's page adds up so many of the newest. */
const parentsMax = 12

interface Counted {
  readonly counts: Readonly<Record<string, number>>
  /** Null: roots, all of them. */
  readonly parents: readonly { readonly id: number; readonly name: string }[] | null
}

async function countOf(api: Api, machine: MachineShape, parent: number | null): Promise<Counted> {
  if (machine.parent === null) {
    const lanes = await api.totals()
    return {
      counts: sumOf(lanes.filter((lane) => lane.machine === machine.name && lane.version === machine.version)),
      parents: null,
    }
  }
  const { entities } = await api.list({ machine: machine.parent, newest: true, limit: parentsMax })
  const parents = entities.map((row) => ({ id: row.id, name: nameOf(row) }))
  const asked = parent === null ? parents.map(({ id }) => id) : [parent]
  const lanes = await Promise.all(asked.map(async (id) => (await api.progress(id)).lanes))
  return {
    counts: sumOf(lanes.flat().filter((lane) => lane.machine === machine.name && lane.version === machine.version)),
    parents,
  }
}

function sumOf(lanes: readonly Lane[]): Readonly<Record<string, number>> {
  const sum: Record<string, number> = {}
  for (const { counts } of lanes)
    for (const [state, count] of Object.entries(counts)) sum[state] = (sum[state] ?? 0) + count
  return sum
}

/** The live map: the machine as it is drawn, with everybody who is in it. */
export function MachinePage({ name, version }: { readonly name: string; readonly version: string }): VNode {
  const { api, machines } = useContext(Services)
  const route = useRoute()
  const live = useBeat()
  const machine = machines.find((one) => one.name === name && String(one.version) === version)
  const asked = Number(route.query.get('parent') ?? Number.NaN)
  const parent = Number.isSafeInteger(asked) ? asked : null
  const { value: map, problem } = useLoaded(`map ${name} ${version}`, () => api.map(name, Number(version)), {
    isLive: false,
  })
  const counted = useLoaded(`counts ${name} ${version} ${parent}`, async () =>
    machine ? countOf(api, machine, parent) : null,
  )
  if (!machine)
    return html`<div class="stack"><h1>${name}</h1><p class="soft">There is no machine of this name and version here. <a href="/machines">All machines</a></p></div>`
  const counts = counted.value?.counts ?? {}
  const scope = machine.parent === null ? { parent: 'none' } : parent === null ? {} : { parent }
  const hrefOf = (state: string) => listHref({ machine: name, version, state, ...scope, newest: true })
  const rateOf = (transition: string, from: string, to: string) => live.rate(name, transition, from, to)
  const versions = machines.filter((one) => one.name === name)
  const parents = counted.value?.parents
  return html`<div class="stack">
    <div class="head"><div class="title">
      <div class="crumbs"><a href="/machines">Machines</a><span class="sep">/</span><span>${name}</span></div>
      <h1>${wordsOf(name)}</h1>
      <div class="line"><span>Version ${version}</span>
        ${versions.length > 1 ? versions.filter((one) => one !== machine).map((one) => html`<a key=${one.version} href=${machineHref(name, one.version)}>version ${one.version}</a>`) : null}
        ${machine.parent ? html`<span>children of ${link(machines, machine.parent)}</span>` : null}
        ${machine.labels.length > 0 ? html`<span>labels: ${machine.labels.join(', ')}</span>` : null}</div>
    </div>
    <div class="buttons"><a class="button" href=${listHref({ machine: name, version, newest: true })}>List entities</a>
      ${machine.parent === null ? html`<a class="button" href=${`/submit/entity?machine=${encodeURIComponent(name)}`}>Submit one</a>` : null}</div></div>
    ${problem ? html`<${ProblemNote} problem=${problem} />` : null}
    <${Card} title="Live map" aside=${
      parents
        ? html`<label>Counted in <select class="inline" aria-label="Counted in" onChange=${(event: Event) => navigate(withQuery(route, { parent: (event.target as HTMLSelectElement).value }), { replace: true })}>
        <option value="" selected=${parent === null}>${parents.length === 1 ? 'the newest parent' : `the ${parents.length} newest parents`}</option>
        ${parents.map(({ id, name: text }) => html`<option key=${id} value=${id} selected=${id === parent}>${text}</option>`)}
      </select></label>`
        : 'Rates are those of the last 10 seconds'
    }>
      ${map ? html`<${MachineDrawing} map=${map} machine=${machine} counts=${counts} hrefOf=${hrefOf} rateOf=${rateOf} />` : html`<div class="skeleton"></div>`}
      <div class="hidden" aria-live="polite">${live.status === 'paused' ? 'Refresh is paused.' : ''}</div>
      <${LaneLegend} machine=${machine} counts=${counts} hrefOf=${hrefOf} />
      ${parent === null ? null : html`<p class="faint">Only children of <a href=${entityHref(parent)}>#${parent}</a> are counted.</p>`}
      ${versions.length > 1 ? html`<p class="faint">Counts are those of version ${version}; rates are those of all versions together.</p>` : null}
    <//>
    <div class="columns">
      <${Card} title="States" flush><ul class="rows">${Object.entries(machine.states).map(
        ([state, { title, purpose }]) =>
          html`<li key=${state}><div class="text"><span class="what"><span class=${`badge ${toneOf(machine, state)}`}>${stateText(machine, state)}</span>${title !== state ? html` <span class="faint">${title}</span>` : null}</span><span class="why">${purpose}</span></div><a class="figure" href=${hrefOf(state)}>${countText(counts[state] ?? 0)}</a></li>`,
      )}</ul><//>
      <${Card} title="Transitions" flush><div class="scroll" tabindex="0" role="region" aria-label="Transitions"><table>
        <thead><tr><th scope="col">Transition</th><th scope="col">From, to</th><th scope="col">Cause</th><th scope="col" class="number">Rate</th></tr></thead>
        <tbody>${machine.edges.map((edge) => {
          const rate = rateOf(edge.name, edge.from, edge.to)
          return html`<tr key=${`${edge.name} ${edge.from}`}><td class="name" title=${edge.purpose}>${edge.name}</td><td class="soft">${edge.from} → ${edge.to}</td><td><span class="badge note">${edge.on}</span></td><td class="number">${rate > 0 ? rateText(rate) : ''}</td></tr>`
        })}</tbody></table></div><//>
    </div>
  </div>`
}

function link(machines: readonly MachineShape[], name: string): VNode {
  const shape = machineNamed(machines, name)
  return shape
    ? html`<a href=${machineHref(name, shape.version)}>${wordsOf(name)}</a>`
    : html`<span>${wordsOf(name)}</span>`
}
