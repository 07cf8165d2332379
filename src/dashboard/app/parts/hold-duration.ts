import { html, type VNode } from '../view.ts'

const durations = [
  [null, 'until it is released'],
  [3_600_000, 'for an hour'],
  [86_400_000, 'for a day'],
  [604_800_000, 'for a week'],
] as const

interface DurationProps {
  readonly value: number | null
  readonly onChange: (forMs: number | null) => void
}

/** How long a hold stands. */
export function HoldDuration({ value, onChange }: DurationProps): VNode {
  const chosen = (event: Event) => {
    const { value: text } = event.target as HTMLSelectElement
    onChange(text === '' ? null : Number(text))
  }
  return html`<label class="field">How long<select name="until" onChange=${chosen}>${durations.map(
    ([ms, text]) => html`<option key=${text} value=${ms ?? ''} selected=${ms === value}>${text}</option>`,
  )}</select></label>`
}
