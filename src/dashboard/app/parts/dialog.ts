import { html, useEffect, useRef, type View, type VNode } from '../view.ts'

/** The browser's own dialog: it keeps the focus inside, closes by Escape, and gives the focus back. */
export function Dialog({
  title,
  onClose,
  children,
}: {
  readonly title: string
  readonly onClose: () => void
  readonly children?: View
}): VNode {
  const element = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const dialog = element.current
    const before = document.activeElement
    if (dialog && !dialog.open) dialog.showModal()
    return () => {
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  return html`<dialog ref=${element} aria-labelledby="dialog-title" onClose=${onClose}
    onClick=${(event: MouseEvent) => event.target === element.current && onClose()}>
    <div class="card"><h2 id="dialog-title">${title}</h2>${children}</div>
  </dialog>`
}
