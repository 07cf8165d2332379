import type { MoveRecord } from '../../event.ts'
import type { Hold, HoldActor } from '../../hold.ts'
import { emptyLane, type Lane, type LaneStatus } from '../../lane.ts'
import { nobody } from '../../store.ts'
import type {
  Dump,
  EntityRecord,
  LaneRecord,
  Numbers,
  Portion,
  Records,
  Section,
  StagingRecord,
} from '../../transfer.ts'
import type { Database, Row, Value } from './database.ts'
import { Dictionary } from './dictionary.ts'
import { standings } from './lanes.ts'
import { entityOf, rowOf, selectRows, sharesOf } from './row.ts'
import type { StagedLane } from './stagings.ts'

/** One portion: what is read before others have their turn. */
const portionMax = 500
const portionBytesMax = 2 * 1024 * 1024
/** Of how many lanes parent and name are kept at hand. */
const lanesMax = 10_000

/** How a section is read: in the order of its key, so that any row leads on to those behind it. */
interface Reading<Name extends Section> {
  readonly select: string
  readonly key: readonly string[]
  readonly where?: string
  /** Columns of the row that hold the key, in its order. */
  readonly keyAt: readonly number[]
  record(row: Row): Records[Name]
}

/** All of one file, at one moment: the connection has a transaction open for as long as it reads. */
export class SqliteDump implements Dump {
  readonly #database: Database
  readonly #dictionary: Dictionary
  readonly #staged: ReadonlySet<number>
  readonly #lanes = new Map<number, Lane>()
  readonly #readings: { readonly [Name in Section]: Reading<Name> }

  constructor(database: Database) {
    this.#database = database
    this.#dictionary = new Dictionary(database)
    this.#staged = new Set(database.all('SELECT id FROM staging').map(([id]) => id as number))
    this.#readings = this.#makeReadings()
  }

  async count(section: Section): Promise<number> {
    const where = this.#readings[section].where
    const table = tables[section]
    return this.#database.number(`SELECT count(*) FROM ${table}${where ? ` WHERE ${where}` : ''}`) ?? 0
  }

  async *read<Name extends Section>(section: Name, after: string | null): AsyncIterable<Portion<Name>> {
    const { select, key, keyAt, where, record } = this.#readings[section]
    const begin: readonly Value[] = after === null ? [] : JSON.parse(after)
    const behind = after === null ? [] : [`(${key.join(', ')}) > (${key.map(() => '?').join(', ')})`]
    const conditions = [...(where ? [where] : []), ...behind]
    const sql = `${select}${conditions.length > 0 ? ` WHERE ${conditions.join(' AND ')}` : ''} ORDER BY ${key.join(', ')}`
    let records: Records[Name][] = []
    let bytes = 0
    let last: Row | null = null
    const portion = (row: Row): Portion<Name> => ({
      records,
      bytes,
      cursor: JSON.stringify(keyAt.map((at) => row[at])),
    })
    for (const row of rowsOf(this.#database, sql, begin)) {
      last = row
      records.push(record(row))
      bytes += bytesOf(row)
      if (records.length < portionMax && bytes < portionBytesMax) continue
      yield portion(row)
      records = []
      bytes = 0
    }
    if (last && records.length > 0) yield portion(last)
  }

  async numbers(): Promise<Numbers> {
    const counters = new Map(
      this.#database.all('SELECT name, value FROM counter') as readonly unknown[] as [string, number][],
    )
    const latest = this.#database.number('SELECT at FROM operation ORDER BY position DESC LIMIT 1') ?? 0
    const of = (name: string): number => counters.get(name) ?? 0
    return { time: Math.max(of('time'), latest), entity: of('entity'), worker: of('worker'), hold: of('hold') }
  }

  async leases(): Promise<number> {
    return this.#database.number('SELECT count(*) FROM entity WHERE line < 0 AND rank IS NOT NULL') ?? 0
  }

  #makeReadings(): { readonly [Name in Section]: Reading<Name> } {
    return {
      machines: {
        select: 'SELECT name, version, digest, labels, declaration FROM machine',
        ...{ key: ['name', 'version'], keyAt: [0, 1] },
        record: ([name, version, digest, labels, declaration]) => ({
          name: name as string,
          version: version as number,
          digest: digest as string | null,
          labels: JSON.parse(labels as string),
          declaration: declaration as string | null,
        }),
      },
      lanes: {
        select: `SELECT coalesce(parent, 0), name, parent, machine, counts, total, open, reasons, sums, wake, seen, watches, entered, gate, status,
          awaited, hidden FROM lane`,
        ...{ key: ['coalesce(parent, 0)', 'name'], keyAt: [0, 1] },
        record: (row) => this.#laneRecord(row),
      },
      stagings: {
        select: 'SELECT source, id, births FROM staging',
        ...{ key: ['source'], keyAt: [0] },
        record: (row) => this.#stagingRecord(row),
      },
      entities: { select: selectRows, key: ['id'], keyAt: [0], record: (row) => this.#entityRecord(row) },
      history: {
        select: 'SELECT entity, seq, epoch, generation, at, path, actor, error FROM history',
        ...{ key: ['entity', 'seq'], keyAt: [0, 1] },
        record: (row) => this.#moveRecord(row),
      },
      holds: { select: `SELECT ${holdColumns} FROM hold`, key: ['id'], keyAt: [0], record: holdOf },
      past_holds: {
        select: `SELECT ${holdColumns}, ended_at, ended_by FROM past_hold`,
        ...{ key: ['id'], keyAt: [0] },
        record: (row) => ({ ...holdOf(row), ended: { at: row[7] as number, by: actorOf(row[8] as string | null) } }),
      },
      pools: {
        select: 'SELECT name, ceiling, taken, turns FROM pool',
        ...{ key: ['name'], keyAt: [0], where: '(turns > 0 OR taken <> 0)' },
        record: ([name, ceiling, taken, turns]) => ({
          name: name as string,
          ceiling: ceiling as number,
          taken: taken as number,
          turns: turns as number,
        }),
      },
      shares: {
        select: 'SELECT pool, entity, amount, turn FROM pool_share',
        ...{ key: ['pool', 'entity'], keyAt: [0, 1] },
        record: ([pool, entity, amount, turn]) => ({
          pool: pool as string,
          entity: entity as number,
          amount: amount as number,
          turn: turn as number,
        }),
      },
      tombstones: {
        select: 'SELECT id, machine, version, state, key, data, lanes, created_at, purged_at FROM tombstone',
        ...{ key: ['id'], keyAt: [0] },
        record: ([id, machine, version, state, key, data, lanes, createdAt, purgedAt]) => ({
          id: id as number,
          machine: machine as string,
          version: version as number,
          state: state as string,
          key: key as string | null,
          data: data as string,
          lanes: lanes as string,
          createdAt: createdAt as number,
          purgedAt: purgedAt as number | null,
        }),
      },
      operations: {
        select: 'SELECT position, name, at, verdicts, changes FROM operation',
        ...{ key: ['position'], keyAt: [0] },
        record: ([, name, at, verdicts, changes]) => ({
          name: name as string | null,
          at: at as number,
          verdicts: verdicts as string | null,
          changes: changes as string,
        }),
      },
    }
  }

  #laneRecord(row: Row): LaneRecord {
    const [, name, parent, machine, counts, total, open, reasons, sums, wake, seen, ...rest] = row
    const [watches, entered, gate, status, awaited, hidden] = rest
    const entry = machine === null ? null : this.#dictionary.machineOf(machine as number)
    return {
      parent: parent as number | null,
      name: name as string,
      machine: entry?.name ?? '',
      version: entry?.version ?? 0,
      counts: JSON.parse(counts as string),
      total: total as number,
      open: open as number,
      reasons: JSON.parse(reasons as string),
      sums: JSON.parse(sums as string),
      wake: wake as number,
      seen: seen as number,
      watches: JSON.parse(watches as string),
      entered: JSON.parse(entered as string),
      gate: gate as LaneRecord['gate'],
      status: status as LaneStatus,
      awaited: awaited === 1,
      hidden: hidden === 1,
    }
  }

  #stagingRecord([source, id, births]: Row): StagingRecord {
    const rows = this.#database.all(
      `SELECT coalesce(lane.parent, 0), lane.name, lane.parent, staging_lane.figures FROM staging_lane JOIN lane ON lane.id = staging_lane.lane
       WHERE staging = ? ORDER BY 1, 2`,
      id as number,
    )
    const lanes = rows.map(([, lane, parent, text]) => {
      const { machine, watches, figures } = JSON.parse(text as string) as StagedLane
      const { name, version } = this.#dictionary.machineOf(machine)
      return { parent: parent as number | null, lane: lane as string, machine: name, version, watches, figures }
    })
    return { source: source as number, births: JSON.parse(births as string), lanes }
  }

  #entityRecord(values: Row): EntityRecord {
    const row = rowOf(values)
    const { owner: _, stopped: __, ...entity } = entityOf(row, this.#laneOf(row.lane), this.#dictionary)
    return {
      ...entity,
      staged: row.staging !== null && this.#staged.has(row.staging),
      standing: standings[row.standing] ?? 'stopped',
      shares: sharesOf(row).own ?? [],
    }
  }

  #moveRecord([entity, seq, epoch, generation, at, path, actor, error]: Row): MoveRecord {
    return {
      ...{ entity: entity as number, seq: seq as number, epoch: epoch as number, generation: generation as number },
      at: at as number,
      ...this.#dictionary.pathOf(path as number),
      ...(actorOf(actor as string | null) ?? nobody),
      error: error as string | null,
    }
  }

  /** Parent and name of it; nothing else is asked for. */
  #laneOf(id: number): Lane {
    const known = this.#lanes.get(id)
    if (known) return known
    const [parent, name] = this.#database.get('SELECT parent, name FROM lane WHERE id = ?', id) ?? [null, '']
    if (this.#lanes.size >= lanesMax) this.#lanes.clear()
    const lane = emptyLane(parent as number | null, name as string, '', 0, [])
    this.#lanes.set(id, lane)
    return lane
  }
}

const holdColumns = 'id, scope, reason, owner, until, since, set_by'

function holdOf([id, scope, reason, owner, until, since, by]: Row): Hold {
  return {
    id: id as number,
    scope: JSON.parse(scope as string),
    reason: reason as string,
    owner: owner as string,
    until: until as number | null,
    since: since as number,
    by: actorOf(by as string | null) ?? nobody,
    ended: null,
  }
}

function actorOf(text: string | null): HoldActor | null {
  if (text === null) return null
  const [actor, role, reason, requestId] = JSON.parse(text)
  return { actor: actor ?? null, role: role ?? null, reason: reason ?? null, requestId: requestId ?? null }
}

/** One by one: the connection keeps no more than it has given. */
function rowsOf(database: Database, sql: string, values: readonly Value[]): Iterable<Row> {
  return database.statement(sql).iterate(...values) as Iterable<unknown> as Iterable<Row>
}

const tables: Readonly<Record<Section, string>> = {
  machines: 'machine',
  lanes: 'lane',
  stagings: 'staging',
  entities: 'entity',
  history: 'history',
  holds: 'hold',
  past_holds: 'past_hold',
  pools: 'pool',
  shares: 'pool_share',
  tombstones: 'tombstone',
  operations: 'operation',
}

function bytesOf(row: Row): number {
  let bytes = 0
  for (const value of row) bytes += typeof value === 'string' ? value.length : 8
  return bytes
}
