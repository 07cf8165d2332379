import { html, type VNode } from '../view.ts'

interface Named {
  readonly id: number
  readonly name?: string | null
  readonly parent?: number | null
  readonly lane?: string
}

/** The name that its machine declares, or its place if it is one of many. Null: only its number is known. */
export function titleOf({ name = null, parent = null, lane }: Named): string | null {
  const own = name ?? (parent === null ? undefined : lane)
  return own === undefined ? null : shortened(own)
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
