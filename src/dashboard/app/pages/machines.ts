import { listHref, machineHref } from '../addresses.ts'
import { countText, wordsOf } from '../format.ts'
import { useLoaded } from '../loading.ts'
import { Card } from '../parts/card.ts'
import { LaneBar } from '../parts/lane-bar.ts'
import { ProblemNote } from '../parts/problem-note.ts'
import { Services } from '../services.ts'
import { html, useContext, type VNode } from '../view.ts'

export function Machines(): VNode {
  const { api, machines } = useContext(Services)
  const { value: totals, problem } = useLoaded('totals', () => api.totals())
  return html`<div class="stack">
    <div class="head"><div class="title"><h1>Machines</h1><p class="soft">What can happen here, and where everything is now.</p></div></div>
    ${problem ? html`<${ProblemNote} problem=${problem} />` : null}
    <${Card} flush><div class="scroll" tabindex="0" role="region" aria-label="Machines"><table>
      <thead><tr><th scope="col">Machine</th><th scope="col" class="number">Version</th><th scope="col">Parent</th><th scope="col">States</th><th scope="col" class="number">Open</th><th scope="col" class="number">All</th></tr></thead>
      <tbody>${machines.map((machine) => {
        const lane = totals?.find(({ machine: name, version }) => name === machine.name && version === machine.version)
        const query = { machine: machine.name, version: machine.version, newest: true }
        return html`<tr key=${`${machine.name} ${machine.version}`}>
          <td class="name"><a href=${machineHref(machine.name, machine.version)}>${wordsOf(machine.name)}</a></td>
          <td class="number">${machine.version}</td>
          <td>${machine.parent ? html`<span class="soft">${wordsOf(machine.parent)}</span>` : html`<span class="faint">–</span>`}</td>
          <td class="meter">${lane ? html`<${LaneBar} machine=${machine} counts=${lane.counts} />` : html`<span class="faint">${machine.parent ? 'counted with its parents' : '–'}</span>`}</td>
          <td class="number">${lane ? html`<a href=${listHref({ ...query, settled: false })}>${countText(lane.open)}</a>` : ''}</td>
          <td class="number">${lane ? html`<a href=${listHref(query)}>${countText(lane.total)}</a>` : html`<a href=${listHref(query)}>list</a>`}</td>
        </tr>`
      })}</tbody></table></div><//>
  </div>`
}
