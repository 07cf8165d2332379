import { machineHref } from '../addresses.ts'
import { Problem } from '../api.ts'
import { wordsOf } from '../format.ts'
import { Card } from '../parts/card.ts'
import { ProblemNote } from '../parts/problem-note.ts'
import { navigate, useRoute, withQuery } from '../route.ts'
import { machineNamed, Services } from '../services.ts'
import { html, useContext, useState, type VNode } from '../view.ts'

/** Plain data for any machine whose entities stand for themselves. */
export function SubmitEntity(): VNode {
  const { api, machines, toast } = useContext(Services)
  const route = useRoute()
  const names = [
    ...new Set(machines.filter(({ parent, name }) => parent === null && name !== 'walk').map(({ name }) => name)),
  ]
  const name = route.query.get('machine') ?? names[0] ?? ''
  const machine = machineNamed(machines, name)
  const [json, setJson] = useState('{\n  \n}')
  const [key, setKey] = useState('')
  const [priority, setPriority] = useState('')
  const [problem, setProblem] = useState<Problem | null>(null)
  const submit = async (event: Event) => {
    event.preventDefault()
    setProblem(null)
    let data: unknown
    try {
      data = JSON.parse(json)
    } catch (error) {
      setProblem(new Problem(0, { detail: `The data must be JSON: ${(error as Error).message}` }))
      return
    }
    try {
      const { id, existing } = await api.submit(name, data, {
        ...(key === '' ? {} : { key }),
        ...(priority === '' ? {} : { priority: Number(priority) }),
      })
      toast(existing ? 'This key was used before: this is its entity.' : 'Submitted.')
      navigate(`/entities/${id}`)
    } catch (error) {
      setProblem(error as Problem)
    }
  }
  return html`<${Card}><form class="form" onSubmit=${submit}>
    <label class="field">Machine<select name="machine" onChange=${(event: Event) => navigate(withQuery(route, { machine: (event.target as HTMLSelectElement).value }), { replace: true })}>
      ${names.map((one) => html`<option key=${one} value=${one} selected=${one === name}>${wordsOf(one)}</option>`)}</select></label>
    ${machine ? html`<p class="faint"><a href=${machineHref(machine.name, machine.version)}>Its map</a>, version ${machine.version}${machine.labels.length > 0 ? `; labels are taken from ${machine.labels.join(', ')}` : ''}</p>` : null}
    <label class="field">Data<textarea class="code" name="data" spellcheck="false" value=${json} onInput=${(event: Event) => setJson((event.target as HTMLTextAreaElement).value)}></textarea></label>
    <div class="columns">
      <label class="field">Key <span class="hint">optional; the same key is the same entity</span><input name="key" value=${key} maxlength="200" onInput=${(event: Event) => setKey((event.target as HTMLInputElement).value)} /></label>
      <label class="field">Priority <span class="hint">optional; lower numbers first</span><input name="priority" type="number" value=${priority} onInput=${(event: Event) => setPriority((event.target as HTMLInputElement).value)} /></label>
    </div>
    ${problem ? html`<${ProblemNote} problem=${problem} />` : null}
    <div class="buttons"><button type="submit" class="button main">Submit</button></div>
  </form><//>`
}
