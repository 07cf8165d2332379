import { html, type View, type VNode } from '../view.ts'

export function Card({
  title,
  aside,
  flush,
  children,
}: {
  readonly title?: View
  readonly aside?: View
  readonly flush?: boolean
  readonly children?: View
}): VNode {
  return html`<section class="card">
    ${title ? html`<header><h2>${title}</h2>${aside ? html`<div class="aside">${aside}</div>` : null}</header>` : null}
    <div class=${flush ? 'body flush' : 'body'}>${children}</div>
  </section>`
}
