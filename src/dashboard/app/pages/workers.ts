import { countText } from '../format.ts'
import { useLoaded } from '../loading.ts'
import { Card } from '../parts/card.ts'
import { ProblemNote } from '../parts/problem-note.ts'
import { Time } from '../parts/time.ts'
import { Services } from '../services.ts'
import { html, useContext, type VNode } from '../view.ts'

export function Workers(): VNode {
  const { api } = useContext(Services)
  const { value: workers, problem } = useLoaded('workers', () => api.workers())
  return html`<div class="stack">
    <div class="head"><div class="title"><h1>Workers</h1><p class="soft">Who works here, and how much each holds under lease.</p></div></div>
    ${problem ? html`<${ProblemNote} problem=${problem} />` : null}
    <${Card} flush>${
      workers === null
        ? problem
          ? null
          : html`<div class="skeleton"></div>`
        : workers.length === 0
          ? html`<p class="empty">No worker is alive: nothing will be done until one starts.</p>`
          : html`<div class="scroll" tabindex="0" role="region" aria-label="Workers"><table>
      <thead><tr><th scope="col">Worker</th><th scope="col">Machines</th><th scope="col">Roles</th><th scope="col" class="number">Leases</th><th scope="col" class="number">Renewed</th><th scope="col" class="number">Lease ends</th><th scope="col" class="number">Started</th></tr></thead>
      <tbody>${workers.map(
        (worker) => html`<tr key=${worker.id}>
        <td><div class="name">${worker.name}</div><div class="faint">${worker.host}, process ${worker.pid}, ${worker.program}</div></td>
        <td><div class="chips">${worker.machines.map((machine) => html`<span key=${machine} class="badge note">${machine}</span>`)}</div></td>
        <td>${worker.roles.length === 0 ? html`<span class="faint">all</span>` : worker.roles.join(', ')}</td>
        <td class="number">${countText(worker.leases)}</td>
        <td class="number soft"><${Time} at=${worker.renewedAt} /></td>
        <td class="number soft"><${Time} at=${worker.expiresAt} /></td>
        <td class="number soft"><${Time} at=${worker.startedAt} /></td></tr>`,
      )}</tbody></table></div>`
    }<//>
  </div>`
}
