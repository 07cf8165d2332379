import type { Checkpoint, Entity, Request, Wait } from '../../entity.ts'
import type { Lane, LaneFigure } from '../../lane.ts'
import type { Sums } from '../../outcome.ts'
import type { Row } from './database.ts'
import type { Dictionary } from './dictionary.ts'

/** An entity as its row has it. Read by position: this is the hottest path of the store. */
export interface EntityRow {
  id: number
  line: number | null
  /** The worker that has its lease. */
  owner: number | null
  rank: number | null
  machine: number
  state: number
  born: number
  seq: number
  epoch: number
  generation: number
  settled: boolean
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
  /** How long the trail of its latest moves is; those that are written now are added to it. */
  trail: number
  /** In which part of the table it was found; null: it is new. */
  cold: boolean | null
}

/** In the order in which the table has them; data last, for it may be long. */
const columnsWithoutData =
  'id, rank, at, lane, source, ordinal, staging, created_at, changed_at, priority, line, owner, machine, state, born, ' +
  'seq, epoch, generation, attempts, suspect, wait, plan, standing, labels, settled, cold, ' +
  'label0, label1, label2, label3, reason, sums, key, shares, more, created_by, length(trail)'

export const rowColumns = `${columnsWithoutData}, data`
export const rowColumnsWithoutData = columnsWithoutData

export function rowOf(row: Row): EntityRow {
  return {
    id: row[0] as number,
    rank: row[1] as number | null,
    at: row[2] as number | null,
    lane: row[3] as number,
    source: row[4] as number | null,
    ordinal: row[5] as number | null,
    staging: row[6] as number | null,
    createdAt: row[7] as number,
    changedAt: row[8] as number,
    priority: row[9] as number,
    line: row[10] as number | null,
    owner: row[11] as number | null,
    machine: row[12] as number,
    state: row[13] as number,
    born: row[14] as number,
    seq: row[15] as number,
    epoch: row[16] as number,
    generation: row[17] as number,
    attempts: row[18] as number,
    suspect: row[19] as number,
    wait: row[20] as number,
    plan: row[21] as number | null,
    standing: row[22] as number,
    labels: row[23] as number,
    settled: row[24] as boolean,
    cold: row[25] as boolean,
    label0: row[26] as string | null,
    label1: row[27] as string | null,
    label2: row[28] as string | null,
    label3: row[29] as string | null,
    reason: row[30] as string | null,
    sums: row[31] as string | null,
    key: row[32] as string | null,
    shares: row[33] as string | null,
    more: row[34] as string | null,
    createdBy: row[35] as string | null,
    trail: row[36] as number,
    data: (row[37] ?? '') as string,
  }
}

/** Longer data is read only of those that are taken. */
export const dataAtOnceMax = 2_048

/** What rows that were made together have in common. */
const commonColumns = [
  ...['rank float8', 'at int8', 'lane int8', 'source int8', 'created_at int8', 'changed_at int8', 'priority float8'],
  ...[
    'born int4',
    'seq int4',
    'epoch int4',
    'generation int4',
    'attempts int4',
    'suspect int4',
    'wait int2',
    'labels int2',
  ],
  ...['staging int8', 'standing int2', 'trail_length int4', 'settled bool'],
]
const ownColumns = ['id', 'ordinal', 'created_by', 'rare', 'long_bytes', 'short_data']
const rareColumns = ['label0', 'label1', 'label2', 'label3', 'reason', 'sums', 'key', 'shares', 'more']

/**
 * Rows that stand in a line, as they are sent; machine, state and place are the line's own. Each column costs as much as what stands in
 * it: so what rows have in common is one text, and not even that where it is what the asker has seen last, which it names from this
 * parameter on.
 */
export function sentColumns(from: string, number: string, parameter: number): string {
  const types = [' int4', ...commonColumns].map((column) => column.split(' ')[1]!)
  const rare = rareColumns.map((name) => `${from}.${name}`).join(', ')
  const data = `${from}.data`
  const made: Readonly<Record<string, string>> = {
    trail_length: `length(${from}.trail)`,
    rare: `CASE WHEN coalesce(${rare}) IS NOT NULL THEN json_build_array(${rare})::text END`,
    long_bytes: `CASE WHEN octet_length(${data}) > ${dataAtOnceMax} THEN octet_length(${data}) END`,
    short_data: `CASE WHEN octet_length(${data}) <= ${dataAtOnceMax} THEN ${data} END`,
  }
  const of = (column: string) => made[column] ?? `${from}.${column}`
  const common = `ROW(${[number, ...commonColumns.map((column) => of(column.split(' ')[0]!))].join(', ')})`
  const seen = `ROW(${types.map((type, index) => `$${parameter + index}::${type}`).join(', ')})`
  const text = `CASE WHEN ${common} IS DISTINCT FROM ${seen} THEN ${common}::text END`
  return [text, ...ownColumns.map(of)].join(', ')
}

/** What rows have in common: the number of their line among those that were asked for, then the columns. */
export interface Common {
  readonly text: string
  readonly numbers: readonly (number | null)[]
  readonly settled: boolean
}

const nothingSeen: Common = { text: '', numbers: commonColumns.map(() => null), settled: false }
let lastSeen = nothingSeen

/** What the rows before had: those to come mostly have the same. */
export function commonSeen(): Common {
  return lastSeen
}

export function valuesOf({ numbers, settled }: Common): readonly (number | boolean | null)[] {
  return [...numbers, settled]
}

export function commonOf(sent: Row, seen: Common): Common {
  const text = sent[0] as string | null
  if (text === null) return seen
  // Rows that follow one another have the same even where it is new.
  if (text === lastSeen.text) return lastSeen
  const parts = text.slice(1, -1).split(',')
  const settled = parts.pop() === 't'
  lastSeen = { text, numbers: parts.map((part) => (part === '' ? null : Number(part))), settled }
  return lastSeen
}

const nothingRare: readonly (string | null)[] = []

export interface StandingRow {
  readonly row: EntityRow
  readonly bytes: number
}

export function standingRowOf(
  sent: Row,
  { numbers, settled }: Common,
  line: { id: number; machine: number; state: number },
): StandingRow {
  const [, id, ordinal, createdBy, rareText, longBytes, shortData] = sent
  const rare: readonly (string | null)[] = rareText === null ? nothingRare : JSON.parse(rareText as string)
  const data = (shortData ?? '') as string
  const row: EntityRow = {
    id: id as number,
    rank: numbers[1]!,
    at: numbers[2]!,
    lane: numbers[3]!,
    source: numbers[4]!,
    ordinal: ordinal as number | null,
    createdAt: numbers[5]!,
    changedAt: numbers[6]!,
    priority: numbers[7]!,
    born: numbers[8]!,
    seq: numbers[9]!,
    epoch: numbers[10]!,
    generation: numbers[11]!,
    attempts: numbers[12]!,
    suspect: numbers[13]!,
    wait: numbers[14]!,
    labels: numbers[15]!,
    settled,
    createdBy: createdBy as string | null,
    label0: rare[0] ?? null,
    label1: rare[1] ?? null,
    label2: rare[2] ?? null,
    label3: rare[3] ?? null,
    reason: rare[4] ?? null,
    sums: rare[5] ?? null,
    key: rare[6] ?? null,
    shares: rare[7] ?? null,
    more: rare[8] ?? null,
    staging: numbers[16]!,
    standing: numbers[17]!,
    trail: numbers[18]!,
    line: line.id,
    owner: null,
    machine: line.machine,
    state: line.state,
    plan: null,
    cold: false,
    data,
  }
  return { row, bytes: (longBytes as number | null) ?? Buffer.byteLength(data) }
}

/** At rest: nobody has it, it waits for nothing but its retention, and it is settled. */
export function isCold({ settled, owner, line, plan }: EntityRow): boolean {
  return settled && owner === null && line === null && (plan === null || plan === plans.purge)
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

/** What the row adds to its lane. */
export function figureOf(row: EntityRow, dictionary: Dictionary): LaneFigure {
  return { state: dictionary.text(row.state), settled: row.settled, reason: row.reason, sums: sumsOf(row) }
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
    settled: row.settled,
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
    owner: row.owner,
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
