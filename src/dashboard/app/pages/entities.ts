import type { ListQuery } from '../api.ts'
import { wordsOf } from '../format.ts'
import { useLoaded } from '../loading.ts'
import { BulkAction } from '../parts/bulk-action.ts'
import { Card } from '../parts/card.ts'
import { EntityTable } from '../parts/entity-table.ts'
import { ProblemNote } from '../parts/problem-note.ts'
import { navigate, type Route, useRoute, withQuery } from '../route.ts'
import { machineNamed, Services } from '../services.ts'
import { type MachineShape, stateText } from '../tone.ts'
import { html, useContext, type VNode } from '../view.ts'

const pageSize = 50
const names = [
  'machine',
  'version',
  'state',
  'outcome',
  'parent',
  'lane',
  'label',
  'value',
  'settled',
  'reason',
  'after',
] as const

/** The filter that stands in the address: the same words as the API's. */
export function filterOf(route: Route): ListQuery {
  const query: Record<string, string> = {}
  for (const name of names) {
    const value = route.query.get(name)
    if (value !== null && value !== '') query[name] = value
  }
  // A label's name and its value make sense together only.
  if (query.label === undefined || query.value === undefined) {
    delete query.label
    delete query.value
  }
  return { ...query, ...(route.query.get('newest') === 'false' ? {} : { newest: true }), limit: pageSize }
}

/** The same filter as the body of an act on many. */
export function bodyFilterOf({
  machine,
  version,
  state,
  outcome,
  parent,
  lane,
  label,
  value,
  settled,
  reason,
}: ListQuery): Readonly<Record<string, unknown>> {
  return {
    ...(machine === undefined ? {} : { machine }),
    ...(version === undefined ? {} : { version: Number(version) }),
    ...(state === undefined ? {} : { states: [state] }),
    ...(outcome === undefined ? {} : { outcomes: [outcome] }),
    ...(parent === undefined ? {} : { parent: parent === 'none' ? null : Number(parent) }),
    ...(lane === undefined ? {} : { lane }),
    ...(label === undefined || value === undefined ? {} : { label: { name: label, value } }),
    ...(settled === undefined ? {} : { settled: settled === 'true' }),
    ...(reason === undefined ? {} : { reason }),
  }
}

export function Entities(): VNode {
  const { api, machines } = useContext(Services)
  const route = useRoute()
  const query = filterOf(route)
  const { value: page, problem } = useLoaded(`list ${JSON.stringify(query)}`, () => api.list(query))
  const machine =
    query.machine === undefined
      ? undefined
      : machineNamed(machines, query.machine, query.version === undefined ? undefined : Number(query.version))
  const heading = query.reason ?? query.state?.replaceAll('_', ' ') ?? query.outcome
  return html`<div class="stack">
    <div class="head"><div class="title"><h1>${machine ? wordsOf(machine.name) : 'Entities'}${heading ? html` <span class="soft">· ${heading}</span>` : null}</h1>
      ${query.parent && query.parent !== 'none' ? html`<div class="line"><span>Children of <a href=${`/entities/${encodeURIComponent(query.parent)}`}>#${query.parent}</a></span></div>` : null}</div></div>
    <${Filters} route=${route} query=${query} machine=${machine} />
    ${problem ? html`<${ProblemNote} problem=${problem} />` : null}
    ${machine && page && page.entities.length > 0 ? html`<${BulkAction} machine=${machine} state=${query.state} filter=${bodyFilterOf(query)} subject=${subjectOf(machine, query)} />` : null}
    ${
      page === null && problem
        ? null
        : html`<${Card} flush>
      ${
        page === null
          ? html`<div class="skeleton"></div>`
          : page.entities.length === 0
            ? html`<p class="empty">${isFiltered(query) ? 'Nothing matches this filter.' : 'There are no entities yet.'}</p>`
            : html`<${EntityTable} entities=${page.entities} label="Entities" />`
      }
      ${
        page && (page.next !== null || query.after !== undefined)
          ? html`<nav class="pager" aria-label="Pages"><span>${query.after === undefined ? html`<span>First page</span>` : html`<a href=${withQuery(route, { after: null })}>First page</a>`}</span>
            <span>${page.next === null ? 'This is the last page' : html`<a class="button small" href=${withQuery(route, { after: String(page.next) })}>Next ${pageSize}</a>`}</span></nav>`
          : null
      }
    <//>`
    }
  </div>`
}

function isFiltered({ limit: _limit, newest: _newest, ...query }: ListQuery): boolean {
  return Object.keys(query).length > 0
}

/** What an act on all of them would be on. */
function subjectOf(machine: MachineShape, { state, outcome, parent, reason, settled }: ListQuery): string {
  const words = [
    wordsOf(machine.name),
    state === undefined ? outcome : stateText(machine, state),
    reason,
    settled === undefined ? undefined : settled === 'true' ? 'settled' : 'open',
    parent === undefined ? undefined : parent === 'none' ? 'without parent' : `of #${parent}`,
  ]
  return words.filter((word) => word !== undefined).join(', ')
}

/** What is no number would only be refused by the server. */
function checkParent(event: Event): boolean {
  const input = event.target as HTMLInputElement
  const isGood = /^(none|\d{1,15})?$/.test(input.value.trim())
  input.setCustomValidity(isGood ? '' : 'The number of an entity, or none for those without a parent.')
  if (!isGood && event.type === 'change') input.reportValidity()
  return isGood
}

interface FiltersProps {
  readonly route: Route
  readonly query: ListQuery
  readonly machine: MachineShape | undefined
}

function Filters({ route, query, machine }: FiltersProps): VNode {
  const { machines } = useContext(Services)
  const change = (changes: Readonly<Record<string, string | null>>) => navigate(withQuery(route, changes))
  const chosen = (event: Event) => (event.target as HTMLSelectElement | HTMLInputElement).value
  const machineNames = [...new Set(machines.map(({ name }) => name))]
  const states = machine ? Object.keys(machine.states) : []
  const labels = machine?.labels ?? [...new Set(machines.flatMap((one) => one.labels))]
  return html`<form class="filters" role="search" aria-label="Filter" onSubmit=${(event: Event) => event.preventDefault()}>
    <label class="field">Machine<select onChange=${(event: Event) => change({ machine: chosen(event), version: null, state: null, lane: null, reason: null })}>
      <option value="" selected=${query.machine === undefined}>any</option>
      ${machineNames.map((name) => html`<option key=${name} value=${name} selected=${name === query.machine}>${wordsOf(name)}</option>`)}</select></label>
    <label class="field">State${
      states.length > 0
        ? html`<select onChange=${(event: Event) => change({ state: chosen(event) })}><option value="" selected=${query.state === undefined}>any</option>
          ${states.map((state) => html`<option key=${state} value=${state} selected=${state === query.state}>${stateText(machine, state)}</option>`)}</select>`
        : html`<input value=${query.state ?? ''} placeholder="any" onChange=${(event: Event) => change({ state: chosen(event) })} />`
    }</label>
    <label class="field">Settled<select onChange=${(event: Event) => change({ settled: chosen(event) })}>
      ${[
        ['', 'any'],
        ['false', 'open'],
        ['true', 'settled'],
      ].map(
        ([value, text]) =>
          html`<option key=${value} value=${value} selected=${value === (query.settled ?? '')}>${text}</option>`,
      )}</select></label>
    <label class="field">Label<select onChange=${(event: Event) => change({ label: chosen(event) })}><option value="">any</option>
      ${labels.map((label) => html`<option key=${label} value=${label} selected=${label === route.query.get('label')}>${label}</option>`)}</select></label>
    <label class="field">Its value<input value=${route.query.get('value') ?? ''} placeholder="exactly" onChange=${(event: Event) => change({ value: chosen(event), ...(route.query.get('label') ? {} : { label: labels[0] ?? null }) })} /></label>
    <label class="field">Reason<input value=${query.reason ?? ''} placeholder="exactly" onChange=${(event: Event) => change({ reason: chosen(event) })} /></label>
    <label class="field">Parent<input value=${query.parent ?? ''} placeholder="number, or none" inputmode="numeric" onInput=${checkParent} onChange=${(event: Event) => checkParent(event) && change({ parent: chosen(event).trim() })} /></label>
    <label class="field">Order<select onChange=${(event: Event) => change({ newest: chosen(event) })}>
      <option value="" selected=${query.newest === true}>newest first</option><option value="false" selected=${query.newest !== true}>oldest first</option></select></label>
  </form>`
}
