import type { MoveRecord } from '../../event.ts'
import type { Hold, HoldActor } from '../../hold.ts'
import type {
  EntityRecord,
  LaneRecord,
  MachineRecord,
  OperationRecord,
  PoolRecord,
  Records,
  Section,
  ShareRecord,
  StagingRecord,
  TombstoneRecord,
} from '../../transfer.ts'
import type { Value } from './database.ts'
import { standings } from './lanes.ts'
import type { Ledger } from './ledger.ts'
import { edgeOf, place } from './placing.ts'
import { type EntityRow, type More, setLabels, textOfMore, textOfShares, waitAt, waitCode } from './row.ts'
import { actorText } from './row-writing.ts'
import type { StagedLane } from './stagings.ts'

/**
 * Takes in what another store has told, inside of a write. `time` is the latest that the other store had seen: whoever waits for a later one
 * stands in no line yet, and is put into it by the first claim that comes after.
 */
export function writeRecords<Name extends Section>(
  ledger: Ledger,
  section: Name,
  records: readonly Records[Name][],
  time: number,
): void {
  const write = writers[section]
  for (const record of records) write(ledger, record, time)
}

type Writer<Name extends Section> = (ledger: Ledger, record: Records[Name], time: number) => void

const writers: { readonly [Name in Section]: Writer<Name> } = {
  machines: writeMachine,
  lanes: writeLane,
  stagings: writeStaging,
  entities: writeEntity,
  history: writeMove,
  holds: writeHold,
  past_holds: writePastHold,
  pools: writePool,
  shares: writeShare,
  tombstones: writeTombstone,
  operations: writeOperation,
}

function writeMachine({ dictionary }: Ledger, { name, version, digest, labels, declaration }: MachineRecord): void {
  if (digest === null) dictionary.machine(name, version)
  else dictionary.define({ name, version, digest, labels, declaration: declaration ?? '' })
}

function writeLane({ database, dictionary }: Ledger, lane: LaneRecord): void {
  database.run(
    `INSERT INTO lane (parent, name, machine, counts, total, open, reasons, sums, wake, seen, watches, entered, gate, status, awaited, hidden)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    lane.parent,
    lane.name,
    lane.machine === '' ? null : dictionary.machine(lane.machine, lane.version).id,
    JSON.stringify(lane.counts),
    lane.total,
    lane.open,
    JSON.stringify(lane.reasons),
    JSON.stringify(lane.sums),
    lane.wake,
    lane.seen,
    JSON.stringify(lane.watches),
    JSON.stringify(lane.entered),
    lane.gate,
    lane.status,
    lane.awaited ? 1 : 0,
    lane.hidden ? 1 : 0,
  )
}

function writeStaging({ database, dictionary, lanes }: Ledger, { source, births, lanes: staged }: StagingRecord): void {
  const id = database.take('staging', 1)
  database.run('INSERT INTO staging (id, source, births) VALUES (?, ?, ?)', id, source, JSON.stringify(births))
  for (const { parent, lane, machine, version, watches, figures } of staged) {
    const figure: StagedLane = {
      lane: lanes.find(parent, lane)!.id,
      machine: dictionary.machine(machine, version).id,
      watches,
      figures: [...figures],
    }
    database.run(
      'INSERT INTO staging_lane (staging, lane, figures) VALUES (?, ?, ?)',
      id,
      figure.lane,
      JSON.stringify(figure),
    )
  }
}

const entityColumns = [
  ...['id', 'line', 'rank', 'machine', 'state', 'born', 'seq', 'epoch', 'generation', 'settled', 'attempts', 'suspect'],
  ...['lane', 'source', 'ordinal', 'staging', 'labels', 'label0', 'label1', 'label2', 'label3', 'priority', 'wait'],
  ...[
    'at',
    'plan',
    'standing',
    'reason',
    'sums',
    'key',
    'shares',
    'more',
    'created_at',
    'created_by',
    'changed_at',
    'data',
  ],
]
const insertEntity = `INSERT INTO entity (${entityColumns.join(', ')}) VALUES (${entityColumns.map(() => '?').join(', ')})`

function writeEntity(ledger: Ledger, record: EntityRecord, time: number): void {
  const lane = ledger.lanes.find(record.parent, record.lane)!
  const row = rowOfRecord(ledger, record, lane.id)
  place(ledger, row, lane, edgeOf(ledger, row), time)
  ledger.database.run(insertEntity, ...valuesOf(row))
}

function rowOfRecord({ dictionary, stagings }: Ledger, record: EntityRecord, lane: number): EntityRow {
  const row: EntityRow = {
    ...{ id: record.id, line: null, rank: null, plan: null },
    machine: dictionary.machine(record.machine, record.version).id,
    state: dictionary.word(record.state),
    born: dictionary.word(record.born),
    ...{ seq: record.seq, epoch: record.epoch, generation: record.generation },
    settled: record.settled ? 1 : 0,
    ...{ attempts: record.attempts, suspect: record.suspect, lane, source: record.source, ordinal: record.ordinal },
    staging: record.staged ? (stagings.of(record.source!)?.id ?? null) : null,
    ...{ labels: 0, label0: null, label1: null, label2: null, label3: null },
    priority: record.priority,
    wait: waitCode(record.wait),
    at: waitAt(record.wait),
    standing: standings.indexOf(record.standing),
    reason: record.reason,
    sums: record.sums === null ? null : JSON.stringify(record.sums),
    key: record.key,
    shares: textOfShares({ own: record.shares }),
    more: moreText(record),
    ...{ createdAt: record.createdAt, createdBy: record.createdBy, changedAt: record.changedAt, data: record.data },
  }
  setLabels(row, record.labels)
  return row
}

function moreText({ request, checkpoint, progress, error, spawned, wait }: EntityRecord): string | null {
  const more: More = {}
  if (request !== null) more.request = request
  if (checkpoint !== null) more.checkpoint = checkpoint
  if (progress !== null) more.progress = progress
  if (error !== null) more.error = error
  if (spawned !== 0) more.spawned = spawned
  if (wait.for === 'run' && wait.pool !== undefined) more.pool = wait.pool
  if (wait.for === 'run' && wait.timedOut) more.timedOut = true
  return textOfMore(more)
}

/** In the order of `entityColumns`. */
function valuesOf(row: EntityRow): readonly Value[] {
  return [
    ...[row.id, row.line, row.rank, row.machine, row.state, row.born, row.seq, row.epoch, row.generation, row.settled],
    ...[row.attempts, row.suspect, row.lane, row.source, row.ordinal, row.staging, row.labels],
    ...[row.label0, row.label1, row.label2, row.label3, row.priority, row.wait, row.at, row.plan, row.standing],
    ...[row.reason, row.sums, row.key, row.shares, row.more, row.createdAt, row.createdBy, row.changedAt, row.data],
  ]
}

function writeMove({ database, dictionary }: Ledger, move: MoveRecord): void {
  database.run(
    'INSERT INTO history (entity, seq, epoch, generation, at, path, actor, error) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    move.entity,
    move.seq,
    move.epoch,
    move.generation,
    move.at,
    dictionary.path(move.cause, move.hops),
    actorText(move),
    move.error,
  )
}

function writeHold({ database }: Ledger, hold: Hold): void {
  database.run(
    'INSERT INTO hold (id, scope, reason, owner, until, since, set_by) VALUES (?, ?, ?, ?, ?, ?, ?)',
    ...holdValues(hold),
  )
}

function writePastHold({ database }: Ledger, hold: Hold): void {
  database.run(
    'INSERT INTO past_hold (id, scope, reason, owner, until, since, set_by, ended_at, ended_by) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
    ...holdValues(hold),
    hold.ended?.at ?? hold.since,
    hold.ended?.by ? holderText(hold.ended.by) : null,
  )
}

function holdValues({ id, scope, reason, owner, until, since, by }: Hold): readonly Value[] {
  return [id, JSON.stringify(scope), reason, owner, until, since, holderText(by)]
}

/** Unlike that of a move it is never left out: nobody at all is told from nobody known. */
function holderText({ actor, role, reason, requestId }: HoldActor): string {
  return JSON.stringify([actor, role, reason, requestId])
}

function writePool({ database }: Ledger, { name, ceiling, taken, turns }: PoolRecord): void {
  database.run('INSERT INTO pool (name, ceiling, taken, turns) VALUES (?, ?, ?, ?)', name, ceiling, taken, turns)
}

function writeShare({ database }: Ledger, { pool, entity, amount, turn }: ShareRecord): void {
  database.run('INSERT INTO pool_share (pool, entity, amount, turn) VALUES (?, ?, ?, ?)', pool, entity, amount, turn)
}

function writeTombstone({ database }: Ledger, tombstone: TombstoneRecord): void {
  const { id, machine, version, state, key, data, lanes, createdAt, purgedAt } = tombstone
  database.run(
    'INSERT INTO tombstone (id, machine, version, state, key, data, lanes, created_at, purged_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
    ...[id, machine, version, state, key, data, lanes, createdAt, purgedAt],
  )
}

function writeOperation({ database }: Ledger, { name, at, verdicts, changes }: OperationRecord): void {
  database.run('INSERT INTO operation (name, at, verdicts, changes) VALUES (?, ?, ?, ?)', name, at, verdicts, changes)
}
