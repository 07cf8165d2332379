import type { Clock } from '../../clock.ts'
import { html, useCallback, useRef, useState, type VNode } from './view.ts'

export interface Toast {
  readonly id: number
  readonly text: string
  readonly kind: 'good' | 'bad'
}

const goodMs = 6_000
const badMs = 15_000
const toastsMax = 5

export function useToasts(clock: Clock) {
  const [toasts, setToasts] = useState<readonly Toast[]>([])
  const count = useRef(0)
  const dismiss = useCallback((id: number) => setToasts((all) => all.filter((toast) => toast.id !== id)), [])
  const toast = useCallback(
    (text: string, kind: 'good' | 'bad' = 'good') => {
      count.current += 1
      const id = count.current
      setToasts((all) => [...all, { id, text, kind }].slice(-toastsMax))
      clock.after(kind === 'good' ? goodMs : badMs, () => dismiss(id))
    },
    [clock, dismiss],
  )
  return { toasts, toast, dismiss }
}

/** The place is always there: a screen reader hears what comes into it. */
export function Toasts({
  toasts,
  dismiss,
}: {
  readonly toasts: readonly Toast[]
  readonly dismiss: (id: number) => void
}): VNode {
  return html`<div class="toasts" role="status" aria-live="polite">
    ${toasts.map(
      ({ id, text, kind }) => html`<div key=${id} class=${`toast ${kind}`}><span>${text}</span>
        <button type="button" aria-label="Dismiss" onClick=${() => dismiss(id)}>×</button></div>`,
    )}
  </div>`
}
