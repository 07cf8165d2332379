import type { EntityRecord } from '../../transfer.ts'
import { standings } from './lane-row.ts'
import { decided, Ledger } from './ledger.ts'
import type { LaneName } from './need.ts'
import { edgeOf, place } from './placing.ts'
import { type EntityRow, isCold, type More, setLabels, textOfMore, textOfShares, waitAt, waitCode } from './row.ts'
import { Stock } from './stock.ts'
import { type Group, uniqueLanes } from './transfer-group.ts'
import { type Columns, insert } from './transfer-insert.ts'

/** Entities, each where it waits by the rules of this store. */
export async function writeEntities({ desk, session, facts }: Group, records: readonly EntityRecord[]): Promise<void> {
  const stock = new Stock(session, desk.dictionary)
  const names = uniqueLanes(records.map(({ parent, lane }): LaneName => ({ parent, name: lane })))
  const sources = new Set(records.flatMap(({ staged, source }) => (staged && source !== null ? [source] : [])))
  await Promise.all([stock.loadLanes({ names }), sources.size > 0 ? stock.loadStagings([...sources]) : undefined])
  await stock.loadLines([...stock.lanes.keys()])
  const { ledger, result } = await decided(
    stock,
    () => new Ledger(desk, facts, stock, { entities: [], stagings: [] }),
    (ledger) => records.map((record) => placed(ledger, record)),
  )
  insert(session, 'entity', columnsOf(result))
  ledger.flush(session)
}

function placed(ledger: Ledger, record: EntityRecord): EntityRow {
  const lane = ledger.lanes.find(record.parent, record.lane)!
  const row = rowOfRecord(ledger, record, lane.id)
  place(ledger, row, lane, edgeOf(ledger, row))
  return row
}

function rowOfRecord({ dictionary, stagings }: Ledger, record: EntityRecord, lane: number): EntityRow {
  const row: EntityRow = {
    ...{ id: record.id, line: null, rank: null, plan: null, owner: null, trail: 0, cold: null },
    machine: dictionary.machine(record.machine, record.version).id,
    state: dictionary.word(record.state),
    born: dictionary.word(record.born),
    ...{ seq: record.seq, epoch: record.epoch, generation: record.generation, settled: record.settled },
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

/** Its moves are written apart: the trail begins anew. */
function columnsOf(rows: readonly EntityRow[]): Columns {
  return {
    id: ['int8', rows.map((row) => row.id)],
    rank: ['float8', rows.map((row) => row.rank)],
    at: ['int8', rows.map((row) => row.at)],
    lane: ['int8', rows.map((row) => row.lane)],
    source: ['int8', rows.map((row) => row.source)],
    ordinal: ['int8', rows.map((row) => row.ordinal)],
    staging: ['int8', rows.map((row) => row.staging)],
    created_at: ['int8', rows.map((row) => row.createdAt)],
    changed_at: ['int8', rows.map((row) => row.changedAt)],
    priority: ['float8', rows.map((row) => row.priority)],
    line: ['int4', rows.map((row) => row.line)],
    machine: ['int4', rows.map((row) => row.machine)],
    state: ['int4', rows.map((row) => row.state)],
    born: ['int4', rows.map((row) => row.born)],
    seq: ['int4', rows.map((row) => row.seq)],
    epoch: ['int4', rows.map((row) => row.epoch)],
    generation: ['int4', rows.map((row) => row.generation)],
    attempts: ['int4', rows.map((row) => row.attempts)],
    suspect: ['int4', rows.map((row) => row.suspect)],
    wait: ['int2', rows.map((row) => row.wait)],
    plan: ['int2', rows.map((row) => row.plan)],
    standing: ['int2', rows.map((row) => row.standing)],
    labels: ['int2', rows.map((row) => row.labels)],
    settled: ['bool', rows.map((row) => row.settled)],
    cold: ['bool', rows.map(isCold)],
    label0: ['text', rows.map((row) => row.label0)],
    label1: ['text', rows.map((row) => row.label1)],
    label2: ['text', rows.map((row) => row.label2)],
    label3: ['text', rows.map((row) => row.label3)],
    reason: ['text', rows.map((row) => row.reason)],
    sums: ['text', rows.map((row) => row.sums)],
    key: ['text', rows.map((row) => row.key)],
    shares: ['text', rows.map((row) => row.shares)],
    more: ['text', rows.map((row) => row.more)],
    created_by: ['text', rows.map((row) => row.createdBy)],
    trail: ['text', rows.map(() => '')],
    data: ['text', rows.map((row) => row.data)],
  }
}
