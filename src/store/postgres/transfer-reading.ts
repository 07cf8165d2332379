import type { MoveRecord } from '../../event.ts'
import { emptyLane } from '../../lane.ts'
import type { Dump, EntityRecord, Numbers, Portion, Records, Section, StagingRecord } from '../../transfer.ts'
import type { Row, Session, Value } from './database.ts'
import type { Dictionary } from './dictionary.ts'
import { actorOf, type HoldColumns, holdOf } from './facts.ts'
import { linesOf, recordOf } from './history.ts'
import { laneColumns, laneOf, standings } from './lane-row.ts'
import { entityOf, rowColumns, rowOf, sharesOf } from './row.ts'
import type { StagedLane } from './staging.ts'
import { bytesOf, TransferCursor } from './transfer-cursor.ts'

/** One portion: what is read before it is handed on. */
const portionMax = 500
const portionBytesMax = 2 * 1024 * 1024

/** How a section is read: in the order of its key, so that any row leads on to those behind it. Names are ordered by their bytes. */
interface Reading<Name extends Section> {
  /** Its first columns are the key. */
  readonly select: string
  readonly key: readonly (readonly [expression: string, type: string])[]
  readonly where?: string
  record(row: Row): Records[Name]
}

type Readings = { readonly [Name in Exclude<Section, 'history'>]: Reading<Name> }

/** All of one schema, at one moment: within one transaction. */
export class PostgresDump implements Dump {
  readonly #session: Session
  readonly #dictionary: Dictionary
  readonly #staged: ReadonlySet<number>
  readonly #readings: Readings
  #cursors = 0

  private constructor(session: Session, dictionary: Dictionary, staged: ReadonlySet<number>) {
    this.#session = session
    this.#dictionary = dictionary
    this.#staged = staged
    this.#readings = this.#makeReadings()
  }

  static async of(session: Session, dictionary: Dictionary): Promise<PostgresDump> {
    // It waits for the other store now and then, and a large table is sorted once: no limit that is meant for daily work may end it.
    await session.exec('SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL statement_timeout = 0')
    const staged = await session.all('SELECT id FROM staging')
    // Only now, when the moment is fixed: all names that it has are known.
    await dictionary.learn({})
    return new PostgresDump(session, dictionary, new Set(staged.map(([id]) => id as number)))
  }

  async count(section: Section): Promise<number> {
    if (section === 'history') return this.#number('SELECT coalesce(sum(seq), 0)::int8 FROM entity')
    const { where } = this.#readings[section]
    return this.#number(`SELECT count(*) FROM ${tables[section]}${where ? ` WHERE ${where}` : ''}`)
  }

  read<Name extends Section>(section: Name, after: string | null): AsyncIterable<Portion<Name>> {
    return section === 'history'
      ? (this.#history(after) as AsyncIterable<Portion<Section>> as AsyncIterable<Portion<Name>>)
      : this.#rows(section as Exclude<Name, 'history'>, after)
  }

  async numbers(): Promise<Numbers> {
    const row = await this.#session.one(
      `SELECT greatest((SELECT value FROM counter WHERE name = 'time'), (SELECT at FROM operation ORDER BY position DESC LIMIT 1)),
       ${['entity_id', 'worker_id', 'hold_id'].map((sequence) => `(SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM ${sequence})`).join(', ')}`,
    )
    const [time, entity, worker, hold] = row as [number, number, number, number]
    return { time, entity, worker, hold }
  }

  async leases(): Promise<number> {
    return this.#number('SELECT count(*) FROM entity_hot WHERE owner IS NOT NULL')
  }

  async *#rows<Name extends Exclude<Section, 'history'>>(
    section: Name,
    after: string | null,
  ): AsyncGenerator<Portion<Name>> {
    const { select, key, where, record } = this.#readings[section] as Reading<Name>
    const begin: readonly Value[] = after === null ? [] : JSON.parse(after)
    const expressions = key.map(([expression]) => expression).join(', ')
    const behind = key.map(([, type], index) => `$${index + 1}::${type}`).join(', ')
    const conditions = [...(where ? [where] : []), ...(after === null ? [] : [`(${expressions}) > (${behind})`])]
    const cursor = this.#cursor(
      `${select}${conditions.length > 0 ? ` WHERE ${conditions.join(' AND ')}` : ''} ORDER BY ${expressions}`,
      begin,
    )
    let records: Records[Name][] = []
    let bytes = 0
    while ((await cursor.peek()) !== null) {
      const row = cursor.take()
      records.push(record(row))
      bytes += bytesOf(row)
      // What was fetched at once is handed on at once.
      if (cursor.isAtHand) continue
      yield { records, bytes, cursor: JSON.stringify(row.slice(0, key.length)) }
      records = []
      bytes = 0
    }
  }

  /** Of each entity first what has left its row, then what is still there. */
  async *#history(after: string | null): AsyncGenerator<Portion<'history'>> {
    const [entity, seq] = after === null ? [0, 0] : (JSON.parse(after) as [number, number])
    const older = this.#cursor('SELECT entity, records FROM history WHERE entity >= $1 ORDER BY entity, first', [
      entity,
    ])
    const newer = this.#cursor("SELECT id, trail FROM entity WHERE id >= $1 AND trail <> '' ORDER BY id", [entity])
    let records: MoveRecord[] = []
    let bytes = 0
    const portion = (): Portion<'history'> => {
      const last = records.at(-1)!
      return { records, bytes, cursor: JSON.stringify([last.entity, last.seq]) }
    }
    for (;;) {
      const [one, other] = [await older.peek(), await newer.peek()]
      if (one === null && other === null) break
      const isOlder = one !== null && (other === null || (one[0] as number) <= (other[0] as number))
      const [id, text] = (isOlder ? older : newer).take() as [number, string]
      for (const line of linesOf(text)) {
        const record = recordOf(id, JSON.parse(line), this.#dictionary)
        if (id > entity || record.seq > seq) records.push(record)
      }
      bytes += text.length
      if (records.length < portionMax && bytes < portionBytesMax) continue
      if (records.length > 0) yield portion()
      records = []
      bytes = 0
    }
    if (records.length > 0) yield portion()
  }

  #cursor(sql: string, values: readonly Value[]): TransferCursor {
    this.#cursors += 1
    return new TransferCursor(this.#session, `dump_${this.#cursors}`, sql, values)
  }

  async #number(sql: string): Promise<number> {
    return ((await this.#session.one(sql))?.[0] as number | undefined) ?? 0
  }

  #makeReadings(): Readings {
    return {
      machines: {
        select: 'SELECT name, version, digest, labels, declaration FROM machine',
        ...{ key: [named('name'), ['version', 'int4']] },
        record: ([name, version, digest, labels, declaration]) => ({
          name: name as string,
          version: version as number,
          digest: digest as string | null,
          labels: JSON.parse(labels as string),
          declaration: declaration as string | null,
        }),
      },
      lanes: {
        select: `SELECT coalesce(parent, 0), name, ${laneColumns} FROM lane`,
        ...{ key: [['coalesce(parent, 0)', 'int8'], named('name')] },
        record: (row) => {
          const { lane, awaited, hidden } = laneOf(row.slice(2), this.#dictionary)
          return { ...lane, awaited, hidden }
        },
      },
      stagings: {
        select: `SELECT source, births, lanes, (
            SELECT json_agg(json_build_array(id, parent, name) ORDER BY coalesce(parent, 0), name COLLATE "C")::text FROM lane
            WHERE id IN (SELECT (staged ->> 'lane')::int8 FROM json_array_elements(staging.lanes::json) staged)) FROM staging`,
        key: [['source', 'int8']],
        record: (row) => this.#stagingRecord(row),
      },
      entities: {
        select: `SELECT ${rowColumns}, (SELECT json_build_array(parent, name)::text FROM lane WHERE lane.id = entity.lane) FROM entity`,
        key: [['id', 'int8']],
        record: (row) => this.#entityRecord(row),
      },
      holds: {
        select: `SELECT ${holdColumns} FROM hold`,
        key: [['id', 'int4']],
        record: (row) => holdOf(row as readonly unknown[] as HoldColumns),
      },
      past_holds: {
        select: `SELECT ${holdColumns}, ended_at, ended_by FROM past_hold`,
        key: [['id', 'int4']],
        record: (row) => {
          const [at, by] = row.slice(-2) as [number, string | null]
          const ended = { at, by: by === null ? null : actorOf(by) }
          return { ...holdOf(row as readonly unknown[] as HoldColumns), ended }
        },
      },
      pools: {
        select: 'SELECT name, ceiling, taken, turns FROM pool',
        // Whoever looked at one that was not there has left a row that means the same.
        ...{ key: [named('name')], where: '(turns > 0 OR taken <> 0)' },
        record: ([name, ceiling, taken, turns]) => ({
          name: name as string,
          ceiling: ceiling as number,
          taken: taken as number,
          turns: turns as number,
        }),
      },
      shares: {
        select: 'SELECT pool, entity, amount, turn FROM pool_share',
        ...{ key: [named('pool'), ['entity', 'int8']] },
        record: ([pool, entity, amount, turn]) => ({
          pool: pool as string,
          entity: entity as number,
          amount: amount as number,
          turn: turn as number,
        }),
      },
      tombstones: {
        select: 'SELECT id, machine, version, state, key, data, lanes, created_at, purged_at FROM tombstone',
        key: [['id', 'int8']],
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
        key: [['position', 'int8']],
        record: ([, name, at, verdicts, changes]) => ({
          name: name as string | null,
          at: at as number,
          verdicts: verdicts as string | null,
          changes: changes as string,
        }),
      },
    }
  }

  #stagingRecord([source, births, lanes, named]: Row): StagingRecord {
    const staged = new Map((JSON.parse(lanes as string) as StagedLane[]).map((lane) => [lane.lane, lane]))
    const names = JSON.parse((named as string | null) ?? '[]') as [number, number | null, string][]
    return {
      source: source as number,
      births: JSON.parse(births as string),
      lanes: names.map(([id, parent, lane]) => {
        const { machine, watches, figures } = staged.get(id)!
        const { name, version } = this.#dictionary.machineOf(machine)
        return { parent, lane, machine: name, version, watches, figures }
      }),
    }
  }

  #entityRecord(values: Row): EntityRecord {
    const row = rowOf(values)
    const [parent, name] = JSON.parse(values.at(-1) as string) as [number | null, string]
    const { owner: _, stopped: __, ...entity } = entityOf(row, emptyLane(parent, name, '', 0, []), this.#dictionary)
    return {
      ...entity,
      staged: row.staging !== null && this.#staged.has(row.staging),
      standing: standings[row.standing] ?? 'stopped',
      shares: sharesOf(row).own ?? [],
    }
  }
}

const holdColumns = 'id, scope, reason, owner, until, since, set_by'

/** Whatever the database's own order of letters is. */
function named(column: string): readonly [string, string] {
  return [`${column} COLLATE "C"`, 'text']
}

const tables: Readonly<Record<Exclude<Section, 'history'>, string>> = {
  machines: 'machine',
  lanes: 'lane',
  stagings: 'staging',
  entities: 'entity',
  holds: 'hold',
  past_holds: 'past_hold',
  pools: 'pool',
  shares: 'pool_share',
  tombstones: 'tombstone',
  operations: 'operation',
}
