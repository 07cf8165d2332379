import { SluiceError } from '../../errors.ts'
import type { Machine } from '../../machine.ts'

/** The states as they were typed, spaces or not; refused if the machine has no such state. */
export function statesOf(machine: Pick<Machine, 'states'>, typed?: readonly string[]): readonly string[] | undefined {
  return typed?.map((text) => {
    const state = text.toLowerCase().replaceAll(/[\s-]+/g, '_')
    if (Object.hasOwn(machine.states, state)) return state
    const known = Object.keys(machine.states).join(', ')
    throw new SluiceError('invalid', `There is no state ${text}. There are: ${known}.`, { state: text })
  })
}
