import type { Detail, Explanation } from '../../../control.ts'
import type { Hold, HoldScope } from '../../../hold.ts'
import { listHref } from '../addresses.ts'
import { mayDo, Services } from '../services.ts'
import { html, useContext, useState, type VNode } from '../view.ts'
import { ConfirmDialog } from './confirm-dialog.ts'
import { nameOf } from './entity-name.ts'
import { HoldDuration } from './hold-duration.ts'
import { Time } from './time.ts'

interface OrderProps {
  readonly detail: Detail
  readonly hasChildren: boolean
  readonly onDone: () => void
}

/** Hold and priority: what can be ordered for an entity besides the actions of its machine. */
export function OrderBar({ detail, hasChildren, onDone }: OrderProps): VNode | null {
  const { api, live, session, toast } = useContext(Services)
  const [asked, setAsked] = useState<'hold' | 'priority' | null>(null)
  const [forMs, setForMs] = useState<number | null>(null)
  const [isWithChildren, setWithChildren] = useState(hasChildren)
  const [priority, setPriority] = useState(String(detail.priority))
  if (detail.settled || detail.purged || !mayDo(session, 'operator')) return null
  const name = nameOf(detail)
  const close = () => setAsked(null)
  const hold = async (reason: string) => {
    const scope: HoldScope = isWithChildren ? { parent: detail.id } : { entity: detail.id }
    await api.hold(scope, reason, forMs === null ? null : live.now + forMs)
    close()
    toast(`On hold: ${isWithChildren ? `the children of ${name}` : name}.`)
    onDone()
  }
  const prioritise = async () => {
    await api.prioritise(detail.id, Number(priority))
    close()
    toast(`${name} has priority ${Number(priority)} now.`)
    onDone()
  }
  return html`<div class="buttons" role="group" aria-label="Hold and priority">
    <button type="button" class="button" onClick=${() => setAsked('hold')}>Hold…</button>
    <button type="button" class="button" onClick=${() => setAsked('priority')}>Priority…</button>
    ${
      asked === 'hold'
        ? html`<${ConfirmDialog} title=${`Hold ${name}`} verb="Hold" isReasonNeeded onClose=${close} onConfirm=${hold}>
      <p>It is not started until the hold is released. What runs now may end.</p>
      ${
        hasChildren
          ? html`<label class="field">What is held<select name="what" onChange=${(event: Event) => setWithChildren((event.target as HTMLSelectElement).value === 'children')}>
        <option value="children" selected=${isWithChildren}>its children</option><option value="itself" selected=${!isWithChildren}>itself</option></select></label>`
          : null
      }
      <${HoldDuration} value=${forMs} onChange=${setForMs} />
    <//>`
        : null
    }
    ${
      asked === 'priority'
        ? html`<${ConfirmDialog} title=${`Priority of ${name}`} verb="Set priority" hasReason=${false} onClose=${close} onConfirm=${prioritise}>
      <label class="field">Priority <span class="hint">lower numbers come first</span><input name="priority" type="number" required step="1" value=${priority} onInput=${(event: Event) => setPriority((event.target as HTMLInputElement).value)} /></label>
    <//>`
        : null
    }
  </div>`
}

interface HoldNoteProps {
  readonly detail: Detail
  readonly explanation: Explanation | null
  readonly holds: readonly Hold[]
  readonly onDone: () => void
}

/** The holds that stop this entity or its children, each with the button that releases it. */
export function HoldNotes({ detail, explanation, holds, onDone }: HoldNoteProps): VNode | null {
  const { api, session, toast } = useContext(Services)
  const [released, setReleased] = useState<Hold | null>(null)
  const stopping = holdIds(explanation)
  const shown = holds.filter(
    ({ id, scope }) => stopping.has(id) || scope.entity === detail.id || scope.parent === detail.id,
  )
  if (shown.length === 0) return null
  const release = async (reason: string) => {
    await api.release(released!.id, reason)
    setReleased(null)
    toast('Released: what it held goes on.')
    onDone()
  }
  return html`<div class="stack tight">
    ${shown.map(
      (hold) => html`<div key=${hold.id} class="callout warn hold"><span class="badge note">hold ${hold.id}</span>
      <div><p><b>${hold.reason}</b></p><p class="soft">On ${scopeText(hold.scope)}, by ${hold.owner}, <${Time} at=${hold.since} />${hold.until === null ? ', until it is released' : html`, ends <${Time} at=${hold.until} />`}. ${hold.scope.label ? html`<a href=${listHref({ label: hold.scope.label.name, value: hold.scope.label.value, newest: true })}>What it holds</a>` : html`<a href="/holds">All holds</a>`}</p></div>
      ${mayDo(session, 'operator') ? html`<button type="button" class="button small" onClick=${() => setReleased(hold)}>Release hold ${hold.id}</button>` : null}</div>`,
    )}
    ${released ? html`<${ConfirmDialog} title=${`Release hold ${released.id}: ${released.reason}`} verb="Release" isReasonNeeded onClose=${() => setReleased(null)} onConfirm=${release}><p>It is on ${scopeText(released.scope)}. All that it holds goes on.</p><//>` : null}
  </div>`
}

/** Ids of the holds that an explanation names, for itself or for groups of its children. */
function holdIds(explanation: Explanation | null): ReadonlySet<number> {
  const { holds = [], children = [] } = (explanation?.facts ?? {}) as {
    readonly holds?: readonly Pick<Hold, 'id'>[]
    readonly children?: readonly { readonly hold: { readonly id: number } | null }[]
  }
  return new Set([...holds, ...children.map(({ hold }) => hold)].flatMap((hold) => (hold ? [hold.id] : [])))
}

export function scopeText({ machine, state, parent, entity, label }: HoldScope): string {
  const words = [
    label ? `${label.name} ${label.value}` : null,
    machine ? `machine ${machine}` : null,
    state ? `state ${state}` : null,
    parent === undefined ? null : `children of #${parent}`,
    entity === undefined ? null : `entity #${entity}`,
  ]
  return words.filter((word) => word !== null).join(', ')
}
