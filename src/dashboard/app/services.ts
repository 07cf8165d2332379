import type { Clock } from '../../clock.ts'
import type { Api, Session } from './api.ts'
import type { Contact } from './contact.ts'
import type { Live } from './live.ts'
import type { MachineShape } from './tone.ts'
import { createContext } from './view.ts'

/** What every page is handed. */
export interface ServicesShape {
  readonly api: Api
  readonly live: Live
  readonly contact: Contact
  readonly clock: Clock
  readonly session: Session
  readonly machines: readonly MachineShape[]
  /** Says something at the edge of the page, for a while. */
  readonly toast: (text: string, kind?: 'good' | 'bad') => void
}

export const Services = createContext<ServicesShape>(null as unknown as ServicesShape)

export function machineNamed(
  machines: readonly MachineShape[],
  name: string,
  version?: number,
): MachineShape | undefined {
  const known = machines.filter((machine) => machine.name === name)
  if (version !== undefined) return known.find((machine) => machine.version === version) ?? known.at(-1)
  return known.toSorted((one, other) => other.version - one.version)[0]
}

const rank = { submitter: 0, operator: 1, admin: 2 } as const

export function mayDo(session: Session, role: string): boolean {
  return rank[session.role] >= (Object.hasOwn(rank, role) ? rank[role as keyof typeof rank] : 0)
}
