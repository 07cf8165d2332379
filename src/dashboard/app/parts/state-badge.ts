import { machineNamed, Services } from '../services.ts'
import { stateText, toneOf } from '../tone.ts'
import { html, useContext, type VNode } from '../view.ts'

/** A state in its colour. The colour is never alone: the word stands beside it. */
export function StateBadge({
  machine,
  version,
  state,
}: {
  readonly machine: string
  readonly version?: number
  readonly state: string
}): VNode {
  const { machines } = useContext(Services)
  const shape = machineNamed(machines, machine, version)
  const tone = toneOf(shape, state)
  const purpose = shape && Object.hasOwn(shape.states, state) ? shape.states[state]!.purpose : undefined
  return html`<span class=${`badge ${tone}`} title=${purpose}>${stateText(shape, state)}</span>`
}
