import type { Checkpoint, Entity, Request, Wait } from '../../entity.ts'
import type { Lane, LaneFigure } from '../../lane.ts'
import type { Sums } from '../../outcome.ts'
import type { Row } from './database.ts'
import type { Dictionary } from './dictionary.ts'

/** An entity as its row has it. Read by position: this is the hottest path of the store. */
export interface EntityRow {
  id: number
  line: number | null
  rank: number | null
  machine: number
  state: number
  born: number
  seq: number
  epoch: number
  generation: number
  settled: number
  attempts: number
  suspect: number
  lane: number
  source: number | null
  ordinal: number | null
  staging: number | null
  labels: number
  label0: string | null
  label1: string | null
  label2: string | null
  label3: string | null
  priority: number
  wait: number
  at: number | null
  plan: number | null
  standing: number
  reason: string | null
  sums: string | null
  key: string | null
  shares: string | null
  more: string | null
  createdAt: number
  createdBy: string | null
  changedAt: number
  /** Empty where only the rest was read. */
  data: string
}

/** Columns that most rows leave empty are read as one: each column that is read costs as much as a number in it. */
const rareColumns = 'label0, label1, label2, label3, reason, sums, key, shares, more'
const rare = `CASE WHEN coalesce(${rareColumns}) IS NULL THEN NULL ELSE json_array(${rareColumns}) END`
const columnsWithoutData =
  'id, line, rank, machine, state, born, seq, epoch, generation, settled, attempts, suspect, lane, source, ordinal, ' +
  `staging, labels, priority, wait, at, plan, standing, created_at, created_by, changed_at, ${rare}`
const columns = `${columnsWithoutData}, data`

export const selectRows = `SELECT ${columns} FROM entity`
/** For judging: data may be long, and nobody asks for it. */
export const selectRowsWithoutData = `SELECT ${columnsWithoutData} FROM entity`
/** Enough to judge a move that changes nothing but state, wait and proof. The last says that the row has more to it. */
export const selectPlainRows =
  'SELECT id, line, machine, state, seq, epoch, settled, lane, staging, wait, coalesce(reason, sums, shares, more) IS NOT NULL OR suspect > 0 FROM entity'

/** In these, rows that stand in a line are mostly the same as the one before them. */
const commonColumns =
  'born, seq, epoch, generation, settled, attempts, suspect, lane, source, staging, labels, priority, wait, created_by'

/** What a row has in common with others, in the order of `commonColumns`. */
export type Common = Row

export const selectCommon = `SELECT ${commonColumns} FROM entity`

/**
 * Rows that stand in a line: machine, state and place are the line's own. What they have in common is given, and read only where it is
 * different: to compare a column costs a third of handing it over.
 */
export const selectStandingRows = `SELECT id, rank, ordinal, at, created_at, ${rare}, data,
  CASE WHEN ${commonColumns.replaceAll(',', ' IS ? AND')} IS ? AND changed_at = created_at THEN NULL
  ELSE json_array(${commonColumns}, changed_at) END FROM entity`

type Rare = readonly (string | null)[]
const nothingRare: Rare = []

export function rowOf(row: Row): EntityRow {
  const text = row[25]
  const rare: Rare = text === null ? nothingRare : JSON.parse(text as string)
  return {
    id: row[0] as number,
    line: row[1] as number | null,
    rank: row[2] as number | null,
    machine: row[3] as number,
    state: row[4] as number,
    born: row[5] as number,
    seq: row[6] as number,
    epoch: row[7] as number,
    generation: row[8] as number,
    settled: row[9] as number,
    attempts: row[10] as number,
    suspect: row[11] as number,
    lane: row[12] as number,
    source: row[13] as number | null,
    ordinal: row[14] as number | null,
    staging: row[15] as number | null,
    labels: row[16] as number,
    label0: rare[0] ?? null,
    label1: rare[1] ?? null,
    label2: rare[2] ?? null,
    label3: rare[3] ?? null,
    priority: row[17] as number,
    wait: row[18] as number,
    at: row[19] as number | null,
    plan: row[20] as number | null,
    standing: row[21] as number,
    reason: rare[4] ?? null,
    sums: rare[5] ?? null,
    key: rare[6] ?? null,
    shares: rare[7] ?? null,
    more: rare[8] ?? null,
    createdAt: row[22] as number,
    createdBy: row[23] as string | null,
    changedAt: row[24] as number,
    data: (row[26] ?? '') as string,
  }
}

/** A row as `selectStandingRows` reads it. The order over its own lanes is not read: it must never be written back whole. */
export function standingRowOf(
  row: Row,
  line: { id: number; machine: number; state: number },
  given: Common,
): EntityRow {
  const text = row[5] as string | null
  const rare: Rare = text === null ? nothingRare : JSON.parse(text)
  const own = row[7] as string | null
  const common: Common = own === null ? given : JSON.parse(own)
  const createdAt = row[4] as number
  return {
    id: row[0] as number,
    line: line.id,
    rank: row[1] as number,
    machine: line.machine,
    state: line.state,
    born: common[0] as number,
    seq: common[1] as number,
    epoch: common[2] as number,
    generation: common[3] as number,
    settled: common[4] as number,
    attempts: common[5] as number,
    suspect: common[6] as number,
    lane: common[7] as number,
    source: common[8] as number | null,
    ordinal: row[2] as number | null,
    staging: common[9] as number | null,
    labels: common[10] as number,
    label0: rare[0] ?? null,
    label1: rare[1] ?? null,
    label2: rare[2] ?? null,
    label3: rare[3] ?? null,
    priority: common[11] as number,
    wait: common[12] as number,
    at: row[3] as number | null,
    plan: null,
    standing: 0,
    reason: rare[4] ?? null,
    sums: rare[5] ?? null,
    key: rare[6] ?? null,
    shares: rare[7] ?? null,
    more: rare[8] ?? null,
    createdAt,
    createdBy: common[13] as string | null,
    changedAt: own === null ? createdAt : (common[14] as number),
    data: row[6] as string,
  }
}

/** What the row would have in common with those behind it. */
export function commonOf(row: EntityRow): Common {
  return [
    row.born,
    row.seq,
    row.epoch,
    row.generation,
    row.settled,
    row.attempts,
    row.suspect,
    row.lane,
    row.source,
    row.staging,
    row.labels,
    row.priority,
    row.wait,
    row.createdBy,
  ]
}

/** A row as `selectPlainRows` reads it. What was not read is empty, so it must never be written back. */
export function plainRowOf(row: Row): EntityRow | null {
  if (row[10] !== 0) return null
  return {
    id: row[0] as number,
    line: row[1] as number | null,
    rank: null,
    machine: row[2] as number,
    state: row[3] as number,
    born: 0,
    seq: row[4] as number,
    epoch: row[5] as number,
    generation: 0,
    settled: row[6] as number,
    attempts: 0,
    suspect: 0,
    lane: row[7] as number,
    source: null,
    ordinal: null,
    staging: row[8] as number | null,
    labels: 0,
    label0: null,
    label1: null,
    label2: null,
    label3: null,
    priority: 0,
    wait: row[9] as number,
    at: null,
    plan: null,
    standing: 0,
    reason: null,
    sums: null,
    key: null,
    shares: null,
    more: null,
    createdAt: 0,
    createdBy: null,
    changedAt: 0,
    data: '',
  }
}

/** What few entities have, as one JSON text. */
export interface More {
  request?: Request
  checkpoint?: Checkpoint
  progress?: string
  error?: string
  spawned?: number
  /** The pool that its wait names. */
  pool?: string
  /** What its wait says. */
  timedOut?: boolean
}

export const nothingMore: More = {}

export function moreOf(row: EntityRow): More {
  return row.more === null ? nothingMore : JSON.parse(row.more)
}

export function textOfMore(more: More): string | null {
  const text = JSON.stringify(more)
  return text === '{}' ? null : text
}

/** Pools of which the entity has a share: for good, and for as long as its lease lasts. */
export interface Shares {
  own?: readonly string[]
  lease?: readonly string[]
}

export function sharesOf(row: EntityRow): Shares {
  return row.shares === null ? {} : JSON.parse(row.shares)
}

export function textOfShares(shares: Shares): string | null {
  const own = shares.own?.length ? shares.own : undefined
  const lease = shares.lease?.length ? shares.lease : undefined
  return own || lease ? JSON.stringify({ own, lease }) : null
}

export const waits = { nothing: 0, run: 1, gatedRun: 2, children: 3, time: 4, purge: 5 } as const
export const plans = { run: 1, look: 2, timer: 3, purge: 4 } as const

export function waitCode(wait: Wait): number {
  switch (wait.for) {
    case 'run':
      return wait.gated ? waits.gatedRun : waits.run
    case 'children':
      return waits.children
    case 'time':
      return waits.time
    case 'purge':
      return waits.purge
    case 'nothing':
      return waits.nothing
    default:
      return wait satisfies never
  }
}

export function waitAt(wait: Wait): number | null {
  return wait.for === 'nothing' ? null : wait.at
}

export function isRun(code: number): boolean {
  return code === waits.run || code === waits.gatedRun
}

const nothing: Wait = { for: 'nothing' }

function waitOf(row: EntityRow, more: More): Wait {
  const at = row.at ?? 0
  switch (row.wait) {
    case waits.run:
      return isPlain(more) ? { for: 'run', at } : { for: 'run', at, ...waitMoreOf(more) }
    case waits.gatedRun:
      return isPlain(more) ? { for: 'run', at, gated: true } : { for: 'run', at, gated: true, ...waitMoreOf(more) }
    case waits.children:
      return { for: 'children', at: row.at }
    case waits.time:
      return { for: 'time', at }
    case waits.purge:
      return { for: 'purge', at }
    default:
      return nothing
  }
}

/** Most waits to run have no more than a time. */
function isPlain({ pool, timedOut }: More): boolean {
  return pool === undefined && timedOut === undefined
}

function waitMoreOf({ pool, timedOut }: More): Pick<More, 'pool' | 'timedOut'> {
  return { ...(pool === undefined ? {} : { pool }), ...(timedOut === undefined ? {} : { timedOut }) }
}

const noLabels: readonly (string | null)[] = []

export function labelsOf(row: EntityRow): readonly (string | null)[] {
  switch (row.labels) {
    case 0:
      return noLabels
    case 1:
      return [row.label0]
    case 2:
      return [row.label0, row.label1]
    case 3:
      return [row.label0, row.label1, row.label2]
    default:
      return [row.label0, row.label1, row.label2, row.label3]
  }
}

export function setLabels(row: EntityRow, labels: readonly (string | null)[]): void {
  row.labels = labels.length
  row.label0 = labels[0] ?? null
  row.label1 = labels[1] ?? null
  row.label2 = labels[2] ?? null
  row.label3 = labels[3] ?? null
}

export function sumsOf(row: EntityRow): Sums | null {
  return row.sums === null ? null : JSON.parse(row.sums)
}

export function ownerOf(row: EntityRow): number | null {
  return row.line !== null && row.line < 0 ? -row.line : null
}

/** What the row adds to its lane. */
export function figureOf(row: EntityRow, dictionary: Dictionary): LaneFigure {
  return { state: dictionary.text(row.state), settled: row.settled === 1, reason: row.reason, sums: sumsOf(row) }
}

export function entityOf(row: EntityRow, lane: Lane, dictionary: Dictionary): Entity {
  const machine = dictionary.machineOf(row.machine)
  const more = row.more === null ? nothingMore : moreOf(row)
  return {
    id: row.id,
    machine: machine.name,
    version: machine.version,
    state: dictionary.text(row.state),
    born: dictionary.text(row.born),
    seq: row.seq,
    epoch: row.epoch,
    generation: row.generation,
    settled: row.settled === 1,
    attempts: row.attempts,
    suspect: row.suspect,
    parent: lane.parent,
    lane: lane.name,
    source: row.source,
    ordinal: row.ordinal,
    labels: labelsOf(row),
    priority: row.priority,
    data: row.data,
    wait: waitOf(row, more),
    request: more.request ?? null,
    owner: ownerOf(row),
    stopped: lane.status === 'stopped',
    spawned: more.spawned ?? 0,
    checkpoint: more.checkpoint ?? null,
    progress: more.progress ?? null,
    reason: row.reason,
    sums: row.sums === null ? null : sumsOf(row),
    error: more.error ?? null,
    key: row.key,
    createdAt: row.createdAt,
    createdBy: row.createdBy,
    changedAt: row.changedAt,
  }
}
