import type { ListPage } from '../../../control.ts'
import { machineNamed, Services } from '../services.ts'
import { html, useContext, type VNode } from '../view.ts'
import { EntityLink } from './entity-name.ts'
import { StateBadge } from './state-badge.ts'
import { Time } from './time.ts'

type Row = ListPage['entities'][number]

/** Entities as a table. Columns that say nothing in these rows are left out. */
export function EntityTable({ entities, label }: { readonly entities: readonly Row[]; readonly label: string }): VNode {
  const { machines } = useContext(Services)
  const hasMachines = new Set(entities.map(({ machine }) => machine)).size > 1
  const hasReasons = entities.some(({ reason, error }) => reason !== null || error !== null)
  const hasLabels = entities.some(({ labels }) => labels.some((value) => value !== null))
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${label}><table>
    <thead><tr>
      <th scope="col">Entity</th>${hasMachines && html`<th scope="col">Machine</th>`}<th scope="col">State</th>
      ${hasLabels && html`<th scope="col">Labels</th>`}${hasReasons && html`<th scope="col">Reason</th>`}
      <th scope="col" class="number">Since</th><th scope="col" class="number">Created</th>
    </tr></thead>
    <tbody>${entities.map(
      (row) => html`<tr key=${row.id}>
        <td class="name"><${EntityLink} entity=${row} /></td>
        ${hasMachines && html`<td>${row.machine}</td>`}
        <td><${StateBadge} machine=${row.machine} version=${row.version} state=${row.shown ?? row.state} /></td>
        ${hasLabels && html`<td><span class="clip" title=${labelsOf(row)}>${labelsOf(row)}</span></td>`}
        ${hasReasons && html`<td><span class="clip" title=${row.error ?? row.reason ?? ''}>${row.reason ?? row.error ?? ''}</span></td>`}
        <td class="number soft"><${Time} at=${row.changedAt} /></td>
        <td class="number soft"><${Time} at=${row.createdAt} /></td>
      </tr>`,
    )}</tbody>
  </table></div>`

  function labelsOf(row: Row): string {
    const names = machineNamed(machines, row.machine, row.version)?.labels ?? []
    return row.labels
      .flatMap((value, index) => (value === null ? [] : [`${names[index] ?? index}: ${shortened(value)}`]))
      .join(', ')
  }
}

function shortened(text: string): string {
  return text.length > 24 ? `${text.slice(0, 23)}…` : text
}
