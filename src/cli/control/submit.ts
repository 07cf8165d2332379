import { SluiceError } from '../../errors.ts'
import type { Host } from '../host.ts'
import { jsonOf } from '../json-input.ts'
import { plain } from '../text.ts'
import type { AnswerOptions } from './answer.ts'
import { commandHere, type Reached, reach } from './reach.ts'
import { follow } from './watch.ts'

export interface SubmitOptions extends AnswerOptions {
  readonly key?: string
  readonly priority?: number
  readonly machineVersion?: number
  readonly state?: string
  /** In seconds, as times are typed. */
  readonly at?: number
  readonly wait?: boolean
  readonly quiet?: boolean
}

/** Makes an entity of a machine, and waits for its end if that is asked for. */
export async function submit(machine: string, given: string, options: SubmitOptions, host: Host): Promise<number> {
  const { key, priority, machineVersion: version, state, at, wait = false, json = false } = options
  const data = await jsonOf(given, host.input, 'The data')
  const reached = await reach(options, host)
  try {
    await refuseChild(reached, machine, version)
    const { id, existing } = await reached.control.submit(machine, data, {
      ...(key === undefined ? {} : { key }),
      ...(priority === undefined ? {} : { priority }),
      ...(version === undefined ? {} : { version }),
      ...(state === undefined ? {} : { state }),
      ...(at === undefined ? {} : { at: at * 1_000 }),
      ...(reached.client === null ? { actor: host.user } : {}),
    })
    if (wait) return await follow(reached, id, options, host)
    const known = existing ? ' The key was known: it is that one.' : ''
    const next = commandHere(options, 'watch', String(id))
    host.terminal.out(
      json ? `${JSON.stringify({ id, existing })}\n` : `${machine} ${id}.${known} Watch it by: ${next}\n`,
    )
    return 0
  } finally {
    await reached.close()
  }
}

/** A child that nobody counts would never be part of what its parent reports. */
async function refuseChild({ control }: Reached, name: string, version: number | undefined): Promise<void> {
  const machine = (await control.machines())
    .filter((one) => one.name === name && (version === undefined || one.version === version))
    .sort((one, other) => other.version - one.version)[0]
  if (machine?.parent === undefined || machine.parent === null) return
  throw new SluiceError(
    'conflict',
    `${plain(name, 60)} is a child of ${plain(machine.parent, 60)}, whose processor makes it. Submit a ${plain(machine.parent, 60)} instead.`,
    { machine: name },
  )
}
