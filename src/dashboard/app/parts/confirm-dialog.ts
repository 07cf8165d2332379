import { Problem } from '../api.ts'
import { html, useEffect, useRef, useState, type View, type VNode } from '../view.ts'
import { Dialog } from './dialog.ts'
import { ProblemNote } from './problem-note.ts'

/** Whether Enter is held down now, wherever the cursor is. */
let isEnterDown = false
const track = (isDown: boolean) => (event: KeyboardEvent) => {
  if (event.key === 'Enter') isEnterDown = isDown
}
addEventListener('keydown', track(true), true)
addEventListener('keyup', track(false), true)
addEventListener('blur', () => {
  isEnterDown = false
})

interface ConfirmProps {
  readonly title: string
  readonly verb: string
  readonly warning?: string | null
  readonly isDangerous?: boolean
  readonly isReasonNeeded?: boolean
  /** Default true. */
  readonly hasReason?: boolean
  readonly isReady?: boolean
  readonly onClose: () => void
  /** What is thrown is shown, and the dialog stays. */
  readonly onConfirm: (reason: string) => Promise<void>
  readonly children?: View
}

/** Says what will happen, asks why, and does it. */
export function ConfirmDialog(props: ConfirmProps): VNode {
  const {
    title,
    verb,
    warning,
    isDangerous,
    isReasonNeeded,
    hasReason = true,
    isReady = true,
    onClose,
    onConfirm,
    children,
  } = props
  const [reason, setReason] = useState('')
  const [problem, setProblem] = useState<Problem | null>(null)
  const [isBusy, setBusy] = useState(false)
  // Enter on a button opens this dialog and puts the cursor into the reason: the same press must not confirm it too.
  const isOpening = useRef(isEnterDown)
  useEffect(() => {
    const release = (event: KeyboardEvent) => {
      if (event.key === 'Enter') isOpening.current = false
    }
    addEventListener('keyup', release, true)
    return () => removeEventListener('keyup', release, true)
  }, [])
  const submit = async (event: Event) => {
    event.preventDefault()
    if (isBusy || !isReady || isOpening.current) return
    setBusy(true)
    setProblem(null)
    try {
      await onConfirm(reason.trim())
    } catch (error) {
      setProblem(error instanceof Problem ? error : new Problem(0, { detail: String(error) }))
    }
    setBusy(false)
  }
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <form class="stack" onSubmit=${submit}>
      ${children}
      ${warning ? html`<p class="warning">${warning}</p>` : null}
      ${
        hasReason
          ? html`<label class="field">Reason${isReasonNeeded ? '' : ' (optional)'}
        <input name="reason" value=${reason} required=${isReasonNeeded} maxlength="500" autocomplete="off" autofocus
          placeholder="Stands in the history" onInput=${(event: InputEvent) => setReason((event.target as HTMLInputElement).value)} />
      </label>`
          : null
      }
      ${problem ? html`<${ProblemNote} problem=${problem} />` : null}
      <div class="buttons">
        <button type="submit" class=${`button main${isDangerous ? ' danger' : ''}`} disabled=${isBusy || !isReady}>${verb}</button>
        <button type="button" class="button" onClick=${onClose}>Back</button>
      </div>
    </form>
  <//>`
}
