import { matches, useRoute } from '../route.ts'
import { html, type VNode } from '../view.ts'
import { SubmitEntity } from './submit-entity.ts'
import { SubmitJob } from './submit-job.ts'
import { SubmitUpload } from './submit-upload.ts'

const kinds = [
  ['upload', 'Upload a file'],
  ['job', 'Start a job'],
  ['entity', 'Any machine'],
] as const

/** Three ways in: a file, a job with parameters, or plain data for a machine. */
export function Submit(): VNode {
  const { path } = useRoute()
  const kind = matches('/submit/:kind', path)?.kind ?? 'upload'
  return html`<div class="stack">
    <div class="head"><div class="title"><h1>Submit</h1></div></div>
    <nav class="tabs" aria-label="What to submit">${kinds.map(([name, text]) => html`<a key=${name} href=${`/submit/${name}`} aria-current=${name === kind ? 'page' : undefined}>${text}</a>`)}</nav>
    ${kind === 'job' ? html`<${SubmitJob} />` : kind === 'entity' ? html`<${SubmitEntity} />` : html`<${SubmitUpload} />`}
  </div>`
}
