import type { Entity, EntityId } from './entity.ts'
import { SluiceError } from './errors.ts'
import type { MoveRecord } from './event.ts'
import type { Hold } from './hold.ts'
import type { Lane, LaneStatus } from './lane.ts'
import type { Sums } from './outcome.ts'
import type { Tombstone } from './store.ts'

/**
 * A store as a whole, for whoever carries it into another one, perhaps of another kind. All that a store knows is told as records in the
 * words of the port; numbers that only it understands (of lines, words, paths) are left out, and so is what follows from the rest: where an
 * entity waits is worked out anew by the store that takes it in.
 */
export interface Transfer {
  /** What is known of transfers out of this store and into it. */
  marks(): Promise<Marks>

  /** All that `work` reads is of one moment. */
  reading<Result>(work: (dump: Dump) => Promise<Result>): Promise<Result>

  // As the source.

  /**
   * From now on the store changes for nobody, whoever has it open already, until it is released. Refused with `conflict` while somebody has
   * a lease: what a worker does meanwhile would be lost.
   */
  fence(mark: Mark, now: number): Promise<void>
  setStatus(status: SourceStatus): Promise<void>
  /** As if it had never been fenced. */
  unfence(): Promise<void>

  // As the target.

  /** Makes the tables and marks the store as unfinished. Refused with `conflict` if it holds anything of its own. */
  begin(mark: Mark, numbers: Numbers): Promise<void>
  /** A group of records and how far it leads, in one durable write. Sections come in their order, records in the order in which they were read. */
  write<Name extends Section>(section: Name, records: readonly Records[Name][], progress: Progress): Promise<void>
  /** The store is complete: from now on it may be used. */
  finish(report: Report): Promise<void>
  /** All that was written goes, and the mark with it. */
  wipe(): Promise<void>

  close(): Promise<void>
}

export interface Dump {
  /** How many records there are, about: for those who watch. */
  count(section: Section): Promise<number>
  /** In the order of the section's key; behind a cursor that an earlier portion gave. */
  read<Name extends Section>(section: Name, after: string | null): AsyncIterable<Portion<Name>>
  numbers(): Promise<Numbers>
  /** How many entities somebody has leased. */
  leases(): Promise<number>
}

export interface Portion<Name extends Section> {
  readonly records: readonly Records[Name][]
  /** Leads on behind the last of them. It means something to the store that gave it only. */
  readonly cursor: string
  /** Of all records, about. */
  readonly bytes: number
}

/** What must not go back: the latest time that was seen, and the last numbers that were given out. */
export interface Numbers {
  readonly time: number
  readonly entity: number
  readonly worker: number
  readonly hold: number
}

/** `closing`: all is in the other store, which may already be at work. `moved`: it is. */
export type SourceStatus = 'moving' | 'closing' | 'moved'
export type TargetStatus = 'moving' | 'finished'

export interface Mark {
  /** Of this one transfer: by it source and target know each other again. */
  readonly id: string
  /** The other store, as people name it; without a password. */
  readonly peer: string
}

export interface SourceMark extends Mark {
  readonly status: SourceStatus
}

export interface TargetMark extends Mark {
  readonly status: TargetStatus
  /** Null: nothing was written yet. */
  readonly progress: Progress | null
  readonly report: Report | null
}

export interface Marks {
  readonly source: SourceMark | null
  readonly target: TargetMark | null
}

export interface Progress {
  readonly section: Section
  readonly cursor: string
  /** Records of this section so far. */
  readonly done: number
}

export type Report = readonly SectionReport[]

export interface SectionReport {
  readonly name: Section
  readonly count: number
  /** SHA-256 over all records of the section, in its order. */
  readonly digest: string
}

/** In the order in which they are carried: what is placed comes behind what its place depends on. */
export const sections = [
  'machines',
  'lanes',
  'stagings',
  'entities',
  'history',
  'holds',
  'past_holds',
  'pools',
  'shares',
  'tombstones',
  'operations',
] as const

export type Section = (typeof sections)[number]

export interface Records {
  /** By name and version. */
  readonly machines: MachineRecord
  /** By parent, those of the roots first, and name. */
  readonly lanes: LaneRecord
  /** By source. */
  readonly stagings: StagingRecord
  /** By id. */
  readonly entities: EntityRecord
  /** By entity and seq. */
  readonly history: MoveRecord
  /** By id, both. */
  readonly holds: Hold
  readonly past_holds: Hold
  /** By name. */
  readonly pools: PoolRecord
  /** By pool and entity. */
  readonly shares: ShareRecord
  /** By id. */
  readonly tombstones: TombstoneRecord
  /** In the order of the feed. Positions are each store's own: whoever follows the feed starts anew. */
  readonly operations: OperationRecord
}

/** Without digest and declaration: entities of it were created before anybody declared it. */
export interface MachineRecord {
  readonly name: string
  readonly version: number
  readonly digest: string | null
  readonly labels: readonly string[]
  readonly declaration: string | null
}

export interface LaneRecord extends Lane {
  /** Its parent waits for children. */
  readonly awaited: boolean
  /** Only staged children were written so far, which nobody sees. */
  readonly hidden: boolean
}

/** What a source has staged and not published. */
export interface StagingRecord {
  readonly source: EntityId
  /** Ids in a row. */
  readonly births: readonly (readonly [first: EntityId, count: number])[]
  /** By parent and name of the lane. */
  readonly lanes: readonly StagedLaneRecord[]
}

/** What the staged children will add to one lane. */
export interface StagedLaneRecord {
  readonly parent: EntityId | null
  readonly lane: string
  readonly machine: string
  readonly version: number
  readonly watches: readonly string[]
  readonly figures: readonly StagedFigure[]
}

export interface StagedFigure {
  readonly state: string
  readonly settled: boolean
  readonly reason: string | null
  readonly sums: Sums
  readonly times: number
}

export interface EntityRecord extends Omit<Entity, 'owner' | 'stopped'> {
  /** Its source has not published it: nobody sees it. */
  readonly staged: boolean
  /** The order over its own lanes. */
  readonly standing: LaneStatus
  /** Pools of which it has a share. */
  readonly shares: readonly string[]
}

export interface PoolRecord {
  readonly name: string
  readonly ceiling: number
  readonly taken: number
  /** How many shares were ever taken. */
  readonly turns: number
}

export interface ShareRecord {
  readonly pool: string
  readonly entity: EntityId
  readonly amount: number
  readonly turn: number
}

export interface TombstoneRecord extends Omit<Tombstone, 'lanes' | 'purgedAt'> {
  /** JSON text. */
  readonly lanes: string
  /** Null: its tree is being removed. */
  readonly purgedAt: number | null
}

export interface OperationRecord {
  /** Null: nobody repeats it; it is kept for the feed. */
  readonly name: string | null
  readonly at: number
  readonly verdicts: string | null
  /** JSON text: `[seq, first, count]` for each run of entities. */
  readonly changes: string
}

/** What whoever opens the store is told, if it is not to be used; null: it is. */
export function refusalOfMarks({ source, target }: Marks, place: string): string | null {
  if (source?.status === 'moved') return movedText(place, source.peer)
  if (source) {
    return `The store at ${place} is being moved to ${source.peer}, and that is not finished. Run the same sluice move again, or with --abandon.`
  }
  if (target && target.status !== 'finished') {
    return `A move from ${target.peer} into the store at ${place} is not finished. Run the same sluice move again, or with --abandon.`
  }
  return null
}

export function movedText(place: string, peer: string): string {
  return `The store at ${place} was moved to ${peer}. Use that one.`
}

/** For the `migrate()` of a store: whoever opens it by mistake is told before anything is changed. */
export function refuseMarked(marks: Marks, place: string): void {
  const refusal = refusalOfMarks(marks, place)
  if (refusal !== null) throw new SluiceError('conflict', refusal, { place })
}

/** What a fence says to those who had the store open before it stood there. */
export function fenceText(peer: string): string {
  return `This store is being moved, or was moved, to ${peer}: it cannot be changed here any more`
}
