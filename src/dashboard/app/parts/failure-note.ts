import type { Detail } from '../../../control.ts'
import { countText } from '../format.ts'
import { useLoaded } from '../loading.ts'
import { machineNamed, Services } from '../services.ts'
import { toneOf } from '../tone.ts'
import { html, useContext, type VNode } from '../view.ts'

/** What went wrong, before everything else: the reason, the message, and the input itself where it is known. */
export function FailureNote({ detail }: { readonly detail: Detail }): VNode | null {
  const { machines } = useContext(Services)
  const isFailed = toneOf(machineNamed(machines, detail.machine, detail.version), detail.state) === 'bad'
  const message = messageOf(detail)
  if (!isFailed && (detail.settled || message === null)) return null
  if (message === null && detail.reason === null) return null
  return html`<section class="failure" aria-label="Error">
    <h2>${isFailed ? 'Failed' : 'The last attempt failed'}${detail.reason === null ? null : html`: ${detail.reason}`}</h2>
    ${message === null || message === detail.reason ? null : html`<pre class="message">${message}</pre>`}
    ${isFailed && hasPlace(detail.data) ? html`<${Input} id=${detail.id} />` : null}
  </section>`
}

/** The engine keeps the error of an attempt with the entity; families keep that of the end in their data. */
function messageOf({ error, data }: Pick<Detail, 'error' | 'data'>): string | null {
  if (error !== null) return error
  const { errorMessage, failure } = fieldsOf(data)
  if (typeof errorMessage === 'string' && errorMessage !== '') return errorMessage
  const inner = fieldsOf(failure).error
  return typeof inner === 'string' && inner !== '' ? inner : null
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
}

function hasPlace(data: unknown): boolean {
  const { file, offset, length } = fieldsOf(data)
  return file !== undefined && typeof offset === 'number' && typeof length === 'number'
}

/** The bytes of the file that the entity was made of. */
function Input({ id }: { readonly id: number }): VNode | null {
  const { api } = useContext(Services)
  const { value, problem } = useLoaded(`content ${id}`, () => api.itemContent(id), { isLive: false })
  if (problem) return html`<p class="soft">Its text in the file: ${problem.message}</p>`
  if (!value) return null
  const { fileName, itemIndex, offset, length, text, truncated } = value
  return html`<figure>
    <figcaption>Item ${countText(itemIndex)} of <b>${fileName}</b>, bytes ${countText(offset)} to ${countText(offset + length)}${truncated ? ` (the first ${countText(text.length)} characters)` : ''}</figcaption>
    <pre class="input" tabindex="0" role="region" aria-label="Text of the item">${text}${truncated ? ' …' : ''}</pre>
  </figure>`
}
