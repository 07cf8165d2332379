import type { Detail, Progress } from '../../control.ts'
import type { Machine } from '../../machine.ts'
import { outcomeOf } from '../../state-outcome.ts'
import { plain } from '../text.ts'

/** 0 success, 1 not all of it (attention, neutral, or some below failed), 2 failure or still open. */
export function exitOfEntity(
  machines: readonly Machine[],
  { machine: name, version, state, settled }: Pick<Detail, 'machine' | 'version' | 'state' | 'settled'>,
  progress: Progress | null,
): 0 | 1 | 2 {
  if (!settled) return 2
  const outcome = outcomeOf(
    machines.find((one) => one.name === name && one.version === version),
    state,
  )
  switch (outcome) {
    case 'failure':
      return 2
    case 'attention':
    case 'neutral':
      return 1
    case 'success': {
      const { failure = 0, attention = 0 } = progress?.outcomes ?? {}
      return failure + attention > 0 ? 1 : 0
    }
    default:
      return outcome satisfies never
  }
}

/** Said beside an answer that is not whole for it. */
export function unknownOutcome(machines: readonly string[]): string {
  const names = machines.map((name) => plain(name, 80)).join(', ')
  return `Which outcome a state of ${names} is, is not known here. Name the file that exports it by --machines, or ask a server that has it.`
}

export function stateText(state: string): string {
  return state.replaceAll('_', ' ')
}
