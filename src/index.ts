import './node-version.ts'
import { hostname } from 'node:os'
import type { Control } from './control.ts'
import { Engine, type EngineOptions } from './engine/engine.ts'
import type { Store } from './store.ts'
import { parseStoreAddress, postgresPlace } from './store-address.ts'

export { assertMachine, checkMachine } from './check-machine.ts'
export { type Clock, sleep, systemClock } from './clock.ts'
export type * from './control.ts'
export { actionsOf, decide, type Occurrence } from './decide.ts'
export { Engine, type EngineOptions } from './engine/engine.ts'
export { type WalkData, type WalkTally, walkMachine } from './engine/walk.ts'
export type { Checkpoint, Entity, EntityId, LaneRead, Request, Wait } from './entity.ts'
export { rootLane } from './entity.ts'
export { type ErrorCode, errorCodes, errorStatus, isSluiceError, messageOf, reasonOf, SluiceError } from './errors.ts'
export type { Event, MoveRecord } from './event.ts'
export type { Hold, HoldScope } from './hold.ts'
export {
  type Assign,
  type Change as EdgeChange,
  type Child,
  type ChildFilter,
  type Context,
  type Criterion,
  type Facts,
  type GroupProcessor,
  type Implementation,
  implement,
  inGroups,
  type LogLine,
  type Processor,
  type RunPolicy,
  type SiblingFilter,
  type Tuning,
  type View,
} from './implementation.ts'
export type { Lane, LaneStatus } from './lane.ts'
export type { Worker, WorkerIdentity } from './lease.ts'
export { defaultLimits, type Limits } from './limits.ts'
export {
  defineMachine,
  type Machine,
  type MachineDeclaration,
  type Schema,
  type State,
  type StateDeclaration,
} from './machine.ts'
export type { MachineFault, MachineFaultCode } from './machine-fault.ts'
export { type MachineWarning, type MachineWarningCode, machineWarnings } from './machine-warning.ts'
export { toMermaid } from './mermaid.ts'
export { done, elsewhere, fail, type Outcome, poll, retry, type Sums } from './outcome.ts'
export type { Decision } from './path.ts'
export { type Backoff, defaultPolicy, type Policy } from './policy.ts'
export type { Pool, PoolShare, Take } from './pool.ts'
export { outcomeOf, type StateOutcome, stateOutcomes } from './state-outcome.ts'
export type * from './store.ts'
export { type Cause, causes, type Edge, type Hop, type TransitionDeclaration } from './transition.ts'

export interface SluiceOptions
  extends Pick<EngineOptions, 'implementations' | 'limits' | 'log' | 'roles' | 'name' | 'clock'> {
  /**
   * The address of a store, or a store that was opened elsewhere. An address is a file name, `sqlite:FILE`, `memory:` or
   * `postgres://user@host/database[?schema=NAME]`, as the command line takes it. Default: ./sluice.db.
   */
  readonly store?: string | Store
}

/** The control over a running engine. */
export interface Sluice extends Control {
  /** Lets what runs end, gives the rest back, and closes the store if it was opened here. */
  stop(): Promise<void>
}

/** Opens the store, starts an engine on it, and gives the control over it. */
export async function openSluice(options: SluiceOptions): Promise<Sluice> {
  const { store: given = './sluice.db', ...rest } = options ?? {}
  const store = typeof given === 'string' ? await openStore(given, rest) : given
  let engine: Engine
  const close = async () => {
    if (store !== given) await store.close()
  }
  try {
    engine = new Engine({ ...rest, store, host: hostname(), pid: process.pid })
    await engine.start()
  } catch (error) {
    // Whoever could not start leaves nothing open behind.
    await close()
    throw error
  }
  const stop = async () => {
    await engine.stop()
    await close()
  }
  return Object.assign(engine.control, { stop })
}

export interface OpenStoreOptions extends Pick<SluiceOptions, 'clock' | 'limits'> {
  /** Of a PostgreSQL server: how many connections this process may have for its work. */
  readonly connectionsMax?: number
}

/** Opens the store at an address. Each kind is loaded only where it is used. */
export async function openStore(text: string, { connectionsMax, ...options }: OpenStoreOptions = {}): Promise<Store> {
  const address = parseStoreAddress(text)
  switch (address.kind) {
    case 'memory': {
      const { memoryStore } = await import('./store/memory/index.ts')
      return memoryStore(options)
    }
    case 'sqlite': {
      const { sqliteStore } = await import('./store/sqlite/index.ts')
      return sqliteStore({ file: address.file, ...options })
    }
    case 'postgres': {
      const { postgresStore } = await import('./store/postgres/index.ts')
      const connections = connectionsMax === undefined ? {} : { connectionsMax }
      return postgresStore({ ...postgresPlace(address), ...options, ...connections })
    }
    default:
      return address satisfies never
  }
}
