import type { JobOffer, Problem } from '../api.ts'
import { useLoaded } from '../loading.ts'
import { Card } from '../parts/card.ts'
import { ProblemNote } from '../parts/problem-note.ts'
import { useSchemaForm } from '../parts/schema-form.ts'
import { navigate, useRoute, withQuery } from '../route.ts'
import { Services } from '../services.ts'
import { html, useContext, useState, type VNode } from '../view.ts'

/** A form for every job that can be started, made from the schema of its parameters. */
export function SubmitJob(): VNode {
  const { api } = useContext(Services)
  const route = useRoute()
  const { value: offers, problem } = useLoaded('definitions', () => api.definitions(), { isLive: false })
  if (problem)
    return html`<${Card}>${problem.status === 404 || problem.status === 501 ? html`<p class="empty">No jobs are loaded here.</p>` : html`<${ProblemNote} problem=${problem} />`}<//>`
  if (!offers) return html`<div class="skeleton"></div>`
  if (offers.length === 0) return html`<${Card}><p class="empty">No jobs are loaded here.</p><//>`
  const asked = route.query.get('definition')
  const offer = offers.find(({ id, version }) => `${id}@${version}` === asked) ?? offers[0]!
  return html`<${Card}><div class="form">
    <label class="field">Job<select name="definition" onChange=${(event: Event) => navigate(withQuery(route, { definition: (event.target as HTMLSelectElement).value }), { replace: true })}>
      ${offers.map(({ id, version }) => html`<option key=${`${id}@${version}`} value=${`${id}@${version}`} selected=${id === offer.id && version === offer.version}>${id}, version ${version}</option>`)}</select></label>
    ${offer.description ? html`<p class="soft">${offer.description}</p>` : null}
    <p class="chips" aria-label="Steps">${offer.steps.map((step, index) => html`<span key=${step} class="badge note">${index + 1}. ${step}</span>`)}</p>
    <${JobForm} key=${`${offer.id}@${offer.version}`} offer=${offer} />
  </div><//>`
}

function JobForm({ offer }: { readonly offer: JobOffer }): VNode {
  const { api, toast } = useContext(Services)
  const { form, read } = useSchemaForm(offer.parameters, 'parameters')
  const [collection, setCollection] = useState('')
  const [key, setKey] = useState('')
  const [problem, setProblem] = useState<Problem | null>(null)
  const submit = async (event: Event) => {
    event.preventDefault()
    setProblem(null)
    try {
      const { id, existing } = await api.startJob({
        definition: offer.id,
        version: offer.version,
        parameters: read(),
        ...(key === '' ? {} : { key }),
        ...(collection === '' ? {} : { collection }),
      })
      toast(existing ? 'This key was used before: this is its job.' : 'The job has been started.')
      navigate(`/entities/${id}`)
    } catch (error) {
      setProblem(error as Problem)
    }
  }
  return html`<form class="form" onSubmit=${submit}>
    ${form}
    <div class="columns">
      <label class="field">Collection <span class="hint">optional</span><input name="collection" value=${collection} maxlength="200" onInput=${(event: Event) => setCollection((event.target as HTMLInputElement).value)} /></label>
      <label class="field">Key <span class="hint">optional; the same key is the same job</span><input name="key" value=${key} maxlength="200" onInput=${(event: Event) => setKey((event.target as HTMLInputElement).value)} /></label>
    </div>
    ${problem ? html`<${ProblemNote} problem=${problem} />` : null}
    <div class="buttons"><button type="submit" class="button main">Start</button></div>
  </form>`
}
