import type { Machine } from '../../machine.ts'
import { outcomeOf } from '../../state-outcome.ts'
import { painted } from '../paint.ts'
import { plain } from '../text.ts'
import { stateText } from './outcome.ts'

/** A state as people read it, in the colour of the outcome that its machine declares. */
export function stateCell(
  machines: readonly Machine[],
  { machine, version }: { readonly machine: string; readonly version: number },
  state: string,
): string {
  return painted(plain(stateText(state), 60), outcomeOf(machineOf(machines, machine, version), state))
}

export function machineOf(machines: readonly Machine[], name: string, version: number): Machine | undefined {
  return machines.find((one) => one.name === name && one.version === version)
}

/** `collection=acme owner=ada`: a label is known by its name. Where the machine is not known, the values stand alone. */
export function labelsText(labels: readonly (string | null)[], machine: Machine | undefined, valueMax: number): string {
  return labels
    .flatMap((value, index) => {
      if (value === null) return []
      const name = machine?.labels[index]
      return [`${name === undefined ? '' : `${plain(name, 60)}=`}${plain(value, valueMax)}`]
    })
    .join(' ')
}
