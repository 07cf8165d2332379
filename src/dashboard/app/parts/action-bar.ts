import type { Detail } from '../../../control.ts'
import { wordsOf } from '../format.ts'
import { machineNamed, mayDo, Services } from '../services.ts'
import { stateText, toneOf } from '../tone.ts'
import { html, useContext, useState, type VNode } from '../view.ts'
import { ConfirmDialog } from './confirm-dialog.ts'
import { nameOf as titleOf } from './entity-name.ts'

type Choice = Detail['actions'][number]

/** Exactly what may be asked of this entity now, by this reader. */
export function ActionBar({ detail, onDone }: { readonly detail: Detail; readonly onDone: () => void }): VNode | null {
  const { api, machines, session, toast } = useContext(Services)
  const [chosen, setChosen] = useState<Choice | null>(null)
  const machine = machineNamed(machines, detail.machine, detail.version)
  const roleOf = ({ action, to }: Choice) =>
    machine?.edges.find((edge) => edge.action === action && edge.to === to && edge.from === detail.state)?.role ??
    'operator'
  const allowed = detail.actions.filter((choice) => choice.refusal === null && mayDo(session, roleOf(choice)))
  const isShared = ({ action }: Choice) => detail.actions.filter((other) => other.action === action).length > 1
  const nameOf = (choice: Choice) =>
    `${wordsOf(choice.action)}${isShared(choice) ? ` to ${choice.to.replaceAll('_', ' ')}` : ''}`
  const isDangerous = ({ to, warning }: Choice) => warning !== null || toneOf(machine, to) === 'bad'
  if (allowed.length === 0) return null
  return html`<div class="buttons" role="group" aria-label="Actions">
    ${allowed.map(
      (
        choice,
      ) => html`<button type="button" key=${`${choice.action} ${choice.to}`} class=${`button${isDangerous(choice) ? ' danger' : ''}`}
      onClick=${() => setChosen(choice)}>${nameOf(choice)}</button>`,
    )}
    ${
      chosen
        ? html`<${ConfirmDialog} title=${`${nameOf(chosen)}: ${titleOf(detail)}`} verb=${nameOf(chosen)} warning=${chosen.warning} isDangerous=${isDangerous(chosen)}
          onClose=${() => setChosen(null)} onConfirm=${act}>
          <p>${wordsOf(detail.machine)} <b>${titleOf(detail)}</b> goes from <b>${stateText(machine, detail.state)}</b> to <b>${stateText(machine, chosen.to)}</b>.</p>
        <//>`
        : null
    }
  </div>`

  async function act(reason: string): Promise<void> {
    const choice = chosen!
    const result = await api.act(detail.id, choice.action, {
      ...(reason === '' ? {} : { reason }),
      ...(isShared(choice) ? { to: choice.to } : {}),
      // What is at rest must be as the reader saw it; what moves by itself would refuse every other click.
      ...(detail.settled ? { seq: detail.seq } : {}),
      ...(choice.warning === null ? {} : { confirmed: true }),
    })
    setChosen(null)
    toast(
      result.kind === 'done'
        ? `Done: ${titleOf(detail)} is ${stateText(machine, result.state)} now.`
        : `Asked for: ${wordsOf(choice.action)} of ${titleOf(detail)} runs next.`,
    )
    onDone()
  }
}
