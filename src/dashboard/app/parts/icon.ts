import { wavePath } from '../sections.ts'
import { html, type VNode } from '../view.ts'

export function Wave(): VNode {
  return html`<svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="9" fill="var(--accent)" /><path d=${wavePath} fill="none" stroke="var(--accent-ink)" stroke-width="2.6" stroke-linecap="round" /></svg>`
}

export function Icon({ path }: { readonly path: string }): VNode {
  return html`<svg viewBox="0 0 24 24" aria-hidden="true"><path d=${path} /></svg>`
}
