import type { Hold, HoldScope } from '../../../hold.ts'
import { entityHref, listHref } from '../addresses.ts'
import { Problem } from '../api.ts'
import { wordsOf } from '../format.ts'
import { useLoaded } from '../loading.ts'
import { Card } from '../parts/card.ts'
import { ConfirmDialog } from '../parts/confirm-dialog.ts'
import { HoldDuration } from '../parts/hold-duration.ts'
import { ProblemNote } from '../parts/problem-note.ts'
import { Time } from '../parts/time.ts'
import { machineNamed, mayDo, Services } from '../services.ts'
import { html, useContext, useState, type VNode } from '../view.ts'

export function Holds(): VNode {
  const { api, session, toast } = useContext(Services)
  const { value: holds, problem, reload } = useLoaded('holds', () => api.holds())
  const past = useLoaded('past holds', () => api.pastHolds())
  const [released, setReleased] = useState<Hold | null>(null)
  const isOperator = mayDo(session, 'operator')
  const release = async (reason: string) => {
    await api.release(released!.id, reason)
    setReleased(null)
    toast('Released: what it held goes on.')
    reload()
  }
  return html`<div class="stack">
    <div class="head"><div class="title"><h1>Holds</h1><p class="soft">A hold keeps what it names from being started, until somebody releases it.</p></div></div>
    ${problem ? html`<${ProblemNote} problem=${problem} />` : null}
    <div class="columns wide-left">
      <${Card} title="In force" flush>${
        holds === null
          ? html`<div class="skeleton"></div>`
          : holds.length === 0
            ? html`<p class="empty">Nothing is held.</p>`
            : html`<ul class="rows">${holds.map(
                (hold) => html`<li key=${hold.id}>
        <div class="text"><span class="what">${hold.reason}</span><span class="why"><${Scope} scope=${hold.scope} /></span>
          <span class="faint">by ${hold.owner}, <${Time} at=${hold.since} />${hold.until === null ? '' : html`, ends <${Time} at=${hold.until} />`}</span></div>
        ${isOperator ? html`<button type="button" class="button small" onClick=${() => setReleased(hold)}>Release</button>` : null}</li>`,
              )}</ul>`
      }<//>
      ${isOperator ? html`<${NewHold} onDone=${reload} />` : null}
    </div>
    ${past.value && past.value.length > 0 ? html`<${Past} holds=${past.value} />` : null}
    ${released ? html`<${ConfirmDialog} title=${`Release hold ${released.id}: ${released.reason}`} verb="Release" isReasonNeeded onClose=${() => setReleased(null)} onConfirm=${release}><p>It is on: <${Scope} scope=${released.scope} /></p><p class="soft">All that it holds goes on.</p><//>` : null}
  </div>`
}

/** Who held what, and who released it: the latest first. */
function Past({ holds }: { readonly holds: readonly Hold[] }): VNode {
  return html`<${Card} title="Ended" flush><ul class="rows">${holds.map(
    ({
      id,
      reason,
      scope,
      owner,
      since,
      ended,
    }) => html`<li key=${id}><div class="text"><span class="what">${reason}</span><span class="why"><${Scope} scope=${scope} /></span>
      <span class="faint">by ${owner}, <${Time} at=${since} />${ended ? html`; ${ended.by === null ? 'its time was over' : `released by ${ended.by.actor ?? 'nobody'}${ended.by.reason ? `: ${ended.by.reason}` : ''}`} <${Time} at=${ended.at} />` : null}</span></div></li>`,
  )}</ul><//>`
}

function Scope({ scope }: { readonly scope: HoldScope }): VNode {
  const { machine, state, parent, entity, label } = scope
  return html`<span class="chips">
    ${label ? html`<a class="chip" href=${listHref({ machine, label: label.name, value: label.value, newest: true })}>${label.name} is ${label.value}</a>` : null}
    ${machine ? html`<a class="chip" href=${listHref({ machine, state, newest: true })}>machine ${machine}</a>` : null}
    ${state ? html`<span class="chip">state ${state}</span>` : null}
    ${parent === undefined ? null : html`<a class="chip" href=${entityHref(parent)}>children of #${parent}</a>`}
    ${entity === undefined ? null : html`<a class="chip" href=${entityHref(entity)}>entity #${entity}</a>`}
  </span>`
}

function NewHold({ onDone }: { readonly onDone: () => void }): VNode {
  const { api, live, machines, toast } = useContext(Services)
  const [typed, setTyped] = useState({
    label: 'collection',
    value: '',
    machine: '',
    state: '',
    parent: '',
    reason: '',
    entity: '',
  })
  const [forMs, setForMs] = useState<number | null>(null)
  const [problem, setProblem] = useState<Problem | null>(null)
  const type = (name: keyof typeof typed) => (event: Event) =>
    setTyped({ ...typed, [name]: (event.target as HTMLInputElement).value })
  const labels = [...new Set(['collection', ...machines.flatMap((machine) => machine.labels)])]
  const names = [...new Set(machines.map(({ name }) => name))]
  const states = typed.machine === '' ? [] : Object.keys(machineNamed(machines, typed.machine)?.states ?? {})
  const submit = async (event: Event) => {
    event.preventDefault()
    setProblem(null)
    try {
      const { label, value, machine, state, parent, entity, reason } = typed
      const scope: HoldScope = {
        ...(value === '' ? {} : { label: { name: label, value } }),
        ...(machine === '' ? {} : { machine }),
        ...(state === '' ? {} : { state }),
        ...(parent === '' ? {} : { parent: Number(parent) }),
        ...(entity === '' ? {} : { entity: Number(entity) }),
      }
      await api.hold(scope, reason, forMs === null ? null : live.now + forMs)
      setTyped({ ...typed, value: '', reason: '', parent: '', entity: '' })
      toast('It is held now.')
      onDone()
    } catch (error) {
      setProblem(error instanceof Problem ? error : new Problem(0, { detail: String(error) }))
    }
  }
  return html`<${Card} title="Hold something"><form class="form" onSubmit=${submit}>
    <div class="columns"><label class="field">Label<select name="label" onChange=${type('label')}>${labels.map((label) => html`<option key=${label} value=${label} selected=${label === typed.label}>${label}</option>`)}</select></label>
      <label class="field">Its value<input name="value" value=${typed.value} onInput=${type('value')} autocomplete="off" /></label></div>
    <div class="columns"><label class="field">Machine<select name="machine" onChange=${type('machine')}><option value="">any</option>${names.map((name) => html`<option key=${name} value=${name} selected=${name === typed.machine}>${wordsOf(name)}</option>`)}</select></label>
      <label class="field">State<select name="state" onChange=${type('state')}><option value="">any</option>${states.map((state) => html`<option key=${state} value=${state} selected=${state === typed.state}>${state}</option>`)}</select></label></div>
    <div class="columns"><label class="field">Children of<input name="parent" inputmode="numeric" pattern="[0-9]*" placeholder="number of a batch" value=${typed.parent} onInput=${type('parent')} /></label>
      <label class="field">One entity<input name="entity" inputmode="numeric" pattern="[0-9]*" placeholder="its number" value=${typed.entity} onInput=${type('entity')} /></label></div>
    <${HoldDuration} value=${forMs} onChange=${setForMs} />
    <label class="field">Reason<input name="reason" required maxlength="500" value=${typed.reason} onInput=${type('reason')} autocomplete="off" placeholder="For whoever wonders why nothing moves" /></label>
    ${problem ? html`<${ProblemNote} problem=${problem} />` : null}
    <div class="buttons"><button type="submit" class="button main">Hold</button></div>
  </form><//>`
}
