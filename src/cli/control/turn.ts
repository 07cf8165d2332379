import type { Detail } from '../../control.ts'
import { SluiceError } from '../../errors.ts'
import type { Machine } from '../../machine.ts'
import type { Host } from '../host.ts'
import { plain } from '../text.ts'
import { type AskOptions, actOnOne, toldOf } from './act.ts'
import { stateText } from './outcome.ts'
import { reach } from './reach.ts'

type Choice = Detail['actions'][number]

/** Sets something going again that has ended: by whatever its machine calls that. */
export function resume(id: number, options: AskOptions, host: Host): Promise<number> {
  return turn(id, 'resume', options, host, (choice, machine) => !machine?.settled.includes(choice.to))
}

/** Ends something that is still open, by whatever its machine calls that. */
export function cancel(id: number, options: AskOptions, host: Host): Promise<number> {
  return turn(
    id,
    'cancel',
    options,
    host,
    ({ to }, machine) => machine?.settled.includes(to) === true && !/complete/.test(to),
  )
}

async function turn(
  id: number,
  word: 'resume' | 'cancel',
  options: AskOptions,
  host: Host,
  fits: (choice: Choice, machine: Machine | undefined) => boolean,
): Promise<number> {
  const reached = await reach(options, host)
  try {
    const entity = await reached.control.get(id)
    const machines = await reached.control.machines()
    const machine = machines.find(({ name, version }) => name === entity.machine && version === entity.version)
    const action = chosen(entity, word, (choice) => isOtherWay(entity, word) && fits(choice, machine))
    const result = await actOnOne(reached, id, action, options, host)
    if (result === null) return 5
    host.terminal.out(
      options.json ? `${JSON.stringify({ ...result, action })}\n` : `${toldOf(result, action, options)}\n`,
    )
    return 0
  } finally {
    await reached.close()
  }
}

/** What is open cannot be resumed, and what has ended cannot be cancelled. */
function isOtherWay({ settled }: Detail, word: 'resume' | 'cancel'): boolean {
  return settled === (word === 'resume')
}

/** The action of that name, or the only one that does the same. */
function chosen(entity: Detail, word: string, fits: (choice: Choice) => boolean): string {
  const { id, machine, state, actions } = entity
  if (actions.some(({ action }) => action === word)) return word
  const possible = [
    ...new Set(actions.filter((choice) => choice.refusal === null && fits(choice)).map(({ action }) => action)),
  ]
  const [only] = possible
  if (only !== undefined && possible.length === 1) return only
  const names = possible.map((action) => `sluice act ${plain(action, 60)} ${id}`).join(', or ')
  const refusals = actions
    .filter(fits)
    .flatMap(({ action, refusal }) => (refusal === null ? [] : [`${action}: ${refusal}`]))
  throw new SluiceError(
    'conflict',
    possible.length > 1
      ? `There are several ways to ${word} ${machine} ${id}: ${names}.`
      : `${machine} ${id} is ${stateText(state)}; there is no way to ${word} it now.${refusals.map((text) => ` ${text}`).join('')}`,
    { id },
  )
}
