import { writeFile } from 'node:fs/promises'
import { SluiceError } from '../../errors.ts'
import type { Machine } from '../../machine.ts'
import { toMermaid } from '../../mermaid.ts'
import type { Host } from '../host.ts'
import { plain } from '../text.ts'
import { type ReachOptions, reach } from './reach.ts'

export interface DiagramOptions extends ReachOptions {
  readonly machineVersion?: number
  readonly output?: string
}

/** A machine as a Mermaid diagram, drawn from its declaration. */
export async function diagram(name: string, options: DiagramOptions, host: Host): Promise<number> {
  const reached = await reach(options, host)
  try {
    const machines = await reached.control.machines()
    const drawn = toMermaid(machineOf(machines, name, options.machineVersion))
    if (options.output === undefined) host.terminal.out(drawn.endsWith('\n') ? drawn : `${drawn}\n`, 'exact')
    else await writeFile(options.output, drawn)
    return 0
  } finally {
    await reached.close()
  }
}

/** The newest, if no version is named. */
function machineOf(machines: readonly Machine[], name: string, version: number | undefined): Machine {
  const found = machines
    .filter((machine) => machine.name === name && (version === undefined || machine.version === version))
    .sort((one, other) => other.version - one.version)[0]
  if (found) return found
  const known = machines.map((machine) => `${machine.name}@${machine.version}`).join(', ')
  throw new SluiceError(
    'not_found',
    `There is no machine ${plain(name, 100)}${version === undefined ? '' : ` of version ${version}`}. Known: ${known}.`,
  )
}
