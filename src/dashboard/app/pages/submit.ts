import { matches, useRoute } from '../route.ts'
import { Services } from '../services.ts'
import { html, useContext, type VNode } from '../view.ts'
import { SubmitEntity } from './submit-entity.ts'
import { SubmitJob } from './submit-job.ts'
import { SubmitUpload } from './submit-upload.ts'

const kinds = [
  ['upload', 'Upload a file', '/api/uploads'],
  ['job', 'Start a job', '/api/jobs'],
  ['entity', 'Your machines', '/api/entities'],
] as const

/** A file, a job with parameters, or data for a machine: the ways in that this server has. */
export function Submit(): VNode {
  const { path } = useRoute()
  const { machines } = useContext(Services)
  const offered = kinds.filter(([, , made]) => machines.some(({ submitPath }) => submitPath === made))
  const kind = matches('/submit/:kind', path)?.kind ?? offered[0]?.[0] ?? 'none'
  return html`<div class="stack">
    <div class="head"><div class="title"><h1>Submit</h1></div></div>
    <nav class="tabs" aria-label="What to submit">${offered.map(([name, text]) => html`<a key=${name} href=${`/submit/${name}`} aria-current=${name === kind ? 'page' : undefined}>${text}</a>`)}</nav>
    ${offered.some(([name]) => name === kind) ? pageOf(kind) : html`<p class="soft">${offered.length === 0 ? 'Nothing can be submitted here: this server knows no machine.' : 'This cannot be submitted here.'}</p>`}
  </div>`
}

function pageOf(kind: string): VNode {
  if (kind === 'job') return html`<${SubmitJob} />`
  return kind === 'entity' ? html`<${SubmitEntity} />` : html`<${SubmitUpload} />`
}
