import { html, type VNode } from '../view.ts'

interface Named {
  readonly id: number
  readonly data: unknown
  readonly parent?: number | null
  readonly lane?: string
}

/** What people call an entity, without its number. Null: only its number is known. */
export function titleOf({ data, parent = null, lane }: Named): string | null {
  const fields = (typeof data === 'object' && data !== null ? data : {}) as Readonly<Record<string, unknown>>
  const asked = parent === null ? ['fileName', 'definition', 'name', 'title', 'action'] : ['name', 'title']
  const own = asked.map((field) => fields[field]).find((value) => typeof value === 'string' && value !== '')
  const name = own ?? (parent === null ? undefined : lane)
  return name === undefined ? null : shortened(String(name))
}

/** For headings and sentences: its title and always its number. */
export function nameOf(entity: Named): string {
  const title = titleOf(entity)
  return title === null ? `#${entity.id}` : `${title} #${entity.id}`
}

/** A link whose title may be cut by a narrow column; the number never is. */
export function EntityLink({ entity }: { readonly entity: Named }): VNode {
  const title = titleOf(entity)
  return html`<a class="entity" href=${`/entities/${entity.id}`} title=${nameOf(entity)}>${
    title === null ? null : html`<span>${title}</span>`
  }<span class="id">#${entity.id}</span></a>`
}

function shortened(text: string): string {
  return text.length > 60 ? `${text.slice(0, 57)}…` : text
}
