import type { Detail } from '../../../control.ts'
import { Problem } from '../api.ts'
import { navigate } from '../route.ts'
import { Services } from '../services.ts'
import { html, useContext, useEffect, useRef, useState, type VNode } from '../view.ts'
import { EntityLink } from './entity-name.ts'
import { StateBadge } from './state-badge.ts'

/** Finds an entity by its number or its key, from every page. */
export function FindBox({ path }: { readonly path: string }): VNode {
  const { api } = useContext(Services)
  const input = useRef<HTMLInputElement>(null)
  const [typed, setTyped] = useState('')
  const [said, setSaid] = useState<string | null>(null)
  const [found, setFound] = useState<readonly Detail[]>([])
  const forget = () => {
    setSaid(null)
    setFound([])
  }
  useEffect(forget, [path])
  useEffect(() => {
    const focus = (event: KeyboardEvent) => {
      if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
      event.preventDefault()
      input.current?.focus()
    }
    addEventListener('keydown', focus)
    return () => removeEventListener('keydown', focus)
  }, [])
  const submit = async (event: Event) => {
    event.preventDefault()
    const text = typed.trim().replace(/^#(?=\d+$)/, '')
    forget()
    if (text === '') return
    try {
      const all = await api.find(text)
      if (all.length === 1) {
        setTyped('')
        navigate(`/entities/${all[0]!.id}`)
      } else if (all.length === 0) setSaid(`Nothing has the number or key “${text}”.`)
      else setFound(all)
    } catch (error) {
      setSaid(error instanceof Problem ? error.message : String(error))
    }
  }
  return html`<form class="find" role="search" aria-label="Find an entity" onSubmit=${submit}>
    <input ref=${input} type="search" name="find" value=${typed} placeholder="Number or key" aria-label="Number or key of an entity" title="Press / to type here" autocomplete="off" maxlength="200"
      onInput=${(event: Event) => setTyped((event.target as HTMLInputElement).value)} />
    <div role="status">${said === null ? null : html`<p class="soft break">${said}</p>`}
      ${found.length === 0 ? null : html`<ul>${found.map((entity) => html`<li key=${entity.id}><${EntityLink} entity=${entity} /> <${StateBadge} machine=${entity.machine} version=${entity.version} state=${entity.shown} /></li>`)}</ul>`}</div>
  </form>`
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest('input, textarea, select, dialog') !== null
}
