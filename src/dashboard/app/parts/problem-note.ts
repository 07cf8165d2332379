import type { Problem } from '../api.ts'
import { html, type VNode } from '../view.ts'

export function ProblemNote({ problem }: { readonly problem: Problem }): VNode {
  return html`<div class="problem" role="alert">
    <p>${problem.message}</p>
    ${problem.faults.length > 0 ? html`<ul>${problem.faults.map((fault) => html`<li>${fault}</li>`)}</ul>` : null}
    ${problem.status >= 500 && problem.instance ? html`<p>Request ${problem.instance}; the log says more.</p>` : null}
  </div>`
}
