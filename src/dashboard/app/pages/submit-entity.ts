import { machineHref } from '../addresses.ts'
import type { Problem } from '../api.ts'
import { wordsOf } from '../format.ts'
import { Card } from '../parts/card.ts'
import { ProblemNote } from '../parts/problem-note.ts'
import { useSchemaForm } from '../parts/schema-form.ts'
import { navigate, useRoute, withQuery } from '../route.ts'
import { machineNamed, Services } from '../services.ts'
import type { MachineShape } from '../tone.ts'
import { html, useContext, useState, type VNode } from '../view.ts'

/** Data for a machine: a form where its schema is known, otherwise JSON. */
export function SubmitEntity(): VNode {
  const { machines } = useContext(Services)
  const route = useRoute()
  const names = [
    ...new Set(machines.filter(({ submitPath }) => submitPath === '/api/entities').map(({ name }) => name)),
  ]
  const asked = route.query.get('machine')
  const machine = machineNamed(machines, asked !== null && names.includes(asked) ? asked : (names[0] ?? ''))
  if (!machine) return html`<${Card}><p class="empty">No machine takes data by itself here.</p><//>`
  return html`<${Card}><div class="form">
    <label class="field">Machine<select name="machine" onChange=${(event: Event) => navigate(withQuery(route, { machine: (event.target as HTMLSelectElement).value }), { replace: true })}>
      ${names.map((one) => html`<option key=${one} value=${one} selected=${one === machine.name}>${wordsOf(one)}</option>`)}</select></label>
    <p class="faint"><a href=${machineHref(machine.name, machine.version)}>Its map</a>, version ${machine.version}${machine.labels.length > 0 ? `; labels are taken from ${machine.labels.join(', ')}` : ''}</p>
    <${EntityForm} key=${machine.name} machine=${machine} />
  </div><//>`
}

function EntityForm({ machine }: { readonly machine: MachineShape }): VNode {
  const { api, toast } = useContext(Services)
  const { form, read } = useSchemaForm(machine.data, 'data')
  const [key, setKey] = useState('')
  const [priority, setPriority] = useState('')
  const [problem, setProblem] = useState<Problem | null>(null)
  const submit = async (event: Event) => {
    event.preventDefault()
    setProblem(null)
    try {
      const { id, existing } = await api.submit(machine.name, read(), {
        ...(key === '' ? {} : { key }),
        ...(priority === '' ? {} : { priority: Number(priority) }),
      })
      toast(existing ? 'This key was used before: this is its entity.' : 'Submitted.')
      navigate(`/entities/${id}`)
    } catch (error) {
      setProblem(error as Problem)
    }
  }
  return html`<form class="form" onSubmit=${submit}>
    ${form}
    <div class="columns">
      <label class="field">Key <span class="hint">optional; the same key is the same entity</span><input name="key" value=${key} maxlength="200" onInput=${(event: Event) => setKey((event.target as HTMLInputElement).value)} /></label>
      <label class="field">Priority <span class="hint">optional; lower numbers first</span><input name="priority" type="number" value=${priority} onInput=${(event: Event) => setPriority((event.target as HTMLInputElement).value)} /></label>
    </div>
    ${problem ? html`<${ProblemNote} problem=${problem} />` : null}
    <div class="buttons"><button type="submit" class="button main">Submit</button></div>
  </form>`
}
