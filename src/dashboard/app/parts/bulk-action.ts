import type { DryRun, Problem } from '../api.ts'
import { countText, wordsOf } from '../format.ts'
import { navigate } from '../route.ts'
import { mayDo, Services } from '../services.ts'
import { actionsOf, type MachineShape } from '../tone.ts'
import { html, useContext, useState, type VNode } from '../view.ts'
import { ConfirmDialog } from './confirm-dialog.ts'
import { ProblemNote } from './problem-note.ts'

interface BulkProps {
  readonly machine: MachineShape
  /** As the API takes it. */
  readonly filter: Readonly<Record<string, unknown>>
  readonly state?: string | undefined
  /** The filter in words: what the dialog acts on. */
  readonly subject: string
}

/** One action on all that a list shows: counted first, then confirmed, then a walk that can be watched. */
export function BulkAction({ machine, filter, state, subject }: BulkProps): VNode | null {
  const { api, session, toast } = useContext(Services)
  const [chosen, setChosen] = useState<{
    readonly action: string
    readonly run: DryRun | null
    readonly problem: Problem | null
  } | null>(null)
  const offered = actionsOf(machine).filter(({ edges }) =>
    edges.some(({ from, role }) => (state === undefined || from === state) && mayDo(session, role)),
  )
  if (offered.length === 0 || !mayDo(session, 'operator')) return null
  const choose = async (action: string) => {
    setChosen({ action, run: null, problem: null })
    try {
      setChosen({ action, run: await api.dryRun(filter, action, {}), problem: null })
    } catch (error) {
      setChosen({ action, run: null, problem: error as Problem })
    }
  }
  return html`<div class="buttons" role="group" aria-label="Act on all that match">
    <span class="faint">All that match:</span>
    ${offered.map(({ action }) => html`<button type="button" key=${action} class="button small" onClick=${() => choose(action)}>${wordsOf(action)} all</button>`)}
    ${
      chosen
        ? html`<${ConfirmDialog} title=${`${wordsOf(chosen.action)}: ${subject}`} verb=${chosen.run ? `${wordsOf(chosen.action)} ${countText(chosen.run.matching)}` : 'Counting…'}
          isDangerous=${(chosen.run?.warnings.length ?? 0) > 0} isReady=${chosen.run !== null && chosen.run.matching > 0} isReasonNeeded
          onClose=${() => setChosen(null)} onConfirm=${confirm}>
          ${chosen.problem ? html`<${ProblemNote} problem=${chosen.problem} />` : null}
          ${
            chosen.run
              ? html`<p aria-live="polite"><span class="count">${chosen.run.exact ? '' : 'at least '}${countText(chosen.run.matching)}</span> <span class="soft">match now. Each is asked in turn; those that cannot do it say why.</span></p>
              ${chosen.run.warnings.map((warning) => html`<p class="warning">${warning}</p>`)}`
              : chosen.problem
                ? null
                : html`<p class="soft" aria-live="polite">Counting…</p>`
          }
        <//>`
        : null
    }
  </div>`

  async function confirm(reason: string): Promise<void> {
    const { action, run } = chosen!
    // Counted once more, now with the reason: it stands in the history of each.
    const { confirmation } = await api.dryRun(filter, action, { reason })
    const { walk } = await api.confirm(confirmation)
    setChosen(null)
    toast(`Started: ${wordsOf(action)} on ${countText(run!.matching)}.`)
    navigate(`/entities/${walk}`)
  }
}
