import { SluiceError } from './errors.ts'

/**
 * Everything has a limit. Each is passed explicitly to whoever keeps it; a user may set any of them.
 */
export interface Limits {
  /** Data of one entity. What is bigger lies elsewhere, and the data holds a reference. */
  readonly dataBytesMax: number
  /** Entities in one create. */
  readonly createMax: number
  /** Moves in one commit. */
  readonly commitMax: number
  /** Children in one move or checkpoint; a fan-out beyond it is written in checkpoints. */
  readonly spawnMax: number
  /** Entities claimed at once, and their data together. */
  readonly claimMax: number
  readonly claimBytesMax: number
  /** Up to here the children of a lane share their machine's line; beyond it the lane has a line of its own. */
  readonly laneSharedMax: number
  /** Rows that one claim may move aside because they are held or limited. */
  readonly asideMax: number
  /** Hops of one decision: a machine that goes round in circles is stopped, loudly. */
  readonly hopsMax: number
  /** Rows of one page. */
  readonly pageMax: number
  /** Characters of a name (machine, state, transition, label value, key, actor). */
  readonly nameMax: number
  /** Characters of a reason or an error that a history row keeps. */
  readonly reasonMax: number
  /** Different failure reasons that a lane counts; the rest is counted together. */
  readonly reasonsMax: number
  /** How long the verdicts of an operation, and the feed of events, are kept. */
  readonly operationMs: number
  /** Lease of a worker process, and how often it is renewed. */
  readonly leaseMs: number
  readonly renewMs: number
  /** A woken parent is judged at most this often. */
  readonly judgeMs: number
  /** The safety net under lost signals. */
  readonly pollMs: number
  /** A worker claims what it can start within this time at its measured rate. */
  readonly claimAheadMs: number
  /** How long a process that starts waits for a store that does not answer yet, as a server that starts at the same moment does not. */
  readonly startMs: number
  /** How long a graceful stop waits for running processors before it aborts them. */
  readonly drainMs: number
  /** One step of priority is worth this much waiting: rank = waiting since + priority × ageing. */
  readonly ageingMs: number
}

export const defaultLimits: Limits = {
  dataBytesMax: 256 * 1024,
  createMax: 10_000,
  commitMax: 1_000,
  spawnMax: 1_000,
  claimMax: 1_000,
  claimBytesMax: 16 * 1024 * 1024,
  laneSharedMax: 1_000,
  asideMax: 1_000,
  hopsMax: 100,
  pageMax: 1_000,
  nameMax: 200,
  reasonMax: 2_000,
  reasonsMax: 100,
  operationMs: 60 * 60 * 1_000,
  leaseMs: 30_000,
  renewMs: 10_000,
  judgeMs: 5,
  pollMs: 1_000,
  claimAheadMs: 200,
  startMs: 30_000,
  drainMs: 20_000,
  ageingMs: 60_000,
}

/** How many fields of its data an entity shows as labels: each is a column, and an index, in SQL stores. */
export const labelsMax = 4

/** Priorities go from minus this to this; lower numbers come first. */
export const priorityMax = 1_000

/** The defaults with what a user gave; anything that makes no sense is refused, all of it at once. */
export function limitsOf(given: Partial<Limits> = {}): Limits {
  const limits = {
    ...defaultLimits,
    ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
  }
  const faults = Object.entries(limits).flatMap(([name, value]) => {
    if (!Object.hasOwn(defaultLimits, name)) return [`there is no limit ${name}`]
    return Number.isFinite(value) && value > 0 ? [] : [`${name} must be a number above 0; it was ${value}`]
  })
  if (limits.renewMs >= limits.leaseMs) {
    faults.push(`renewMs (${limits.renewMs}) must be less than leaseMs (${limits.leaseMs}), or every lease is lost`)
  }
  if (faults.length > 0) throw new SluiceError('invalid', `The limits do not fit: ${faults.join('; ')}.`, { faults })
  return limits
}
