import type { Problem } from '../api.ts'
import { html, type VNode } from '../view.ts'

export function ProblemNote({ problem }: { readonly problem: Problem }): VNode {
  // A single fault is often the message itself.
  const faults = problem.faults.filter((fault) => !problem.message.includes(fault))
  return html`<div class="problem" role="alert">
    <p>${problem.message}</p>
    ${faults.length > 0 ? html`<ul>${faults.map((fault) => html`<li>${fault}</li>`)}</ul>` : null}
    ${problem.status >= 500 && problem.instance ? html`<p class="break">Request ${problem.instance}</p>` : null}
  </div>`
}
