import type { EntityId } from '../../entity.ts'
import type { Session, Value } from './database.ts'
import { type EntityRow, isCold } from './row.ts'

/** A trail that is longer is moved to the history before more is added. */
export const trailMax = 2_048

/** Rows that one decision writes: each once, all of a kind in one statement. */
export class Writing {
  readonly #born = new Map<EntityId, EntityRow>()
  readonly #changed = new Map<EntityId, EntityRow>()
  readonly #data = new Map<EntityId, string>()
  readonly #added = new Map<EntityId, string>()
  readonly #removed = new Set<EntityId>()

  bear(row: EntityRow): void {
    this.#born.set(row.id, row)
  }

  change(row: EntityRow, data: string | null): void {
    const born = this.#born.get(row.id)
    if (born) {
      if (data !== null) row.data = data
      this.#born.set(row.id, row)
      return
    }
    this.#changed.set(row.id, row)
    if (data !== null) this.#data.set(row.id, data)
  }

  /** One more move of its history. */
  record(row: EntityRow, line: string): void {
    this.#added.set(row.id, (this.#added.get(row.id) ?? '') + line)
  }

  remove(row: EntityRow): void {
    if (this.#born.delete(row.id)) return
    this.#changed.delete(row.id)
    this.#added.delete(row.id)
    this.#removed.add(row.id)
  }

  flush(session: Session): void {
    if (this.#removed.size > 0) {
      const ids = [...this.#removed]
      session.send('DELETE FROM history WHERE entity = ANY($1::int8[])', [ids])
      session.send('DELETE FROM entity WHERE id = ANY($1::int8[])', [ids])
    }
    this.#insert(session, [...this.#born.values()])
    const changed = [...this.#changed.values()].sort((one, other) => one.id - other.id)
    if (changed.length === 0) return
    const long = changed.filter(({ id, trail }) => trail > trailMax && this.#added.has(id)).map(({ id }) => id)
    if (long.length > 0) {
      session.send(spill, [long])
      session.send("UPDATE entity SET trail = '' WHERE id = ANY($1::int8[])", [long])
    }
    session.send(update, [
      ...columns.map(([, , of]) => changed.map(of)),
      changed.map((row) => isCold(row)),
      changed.map(({ id }) => this.#data.get(id) ?? null),
      changed.map(({ id }) => this.#added.get(id) ?? ''),
    ])
  }

  #insert(session: Session, rows: readonly EntityRow[]): void {
    if (rows.length === 0) return
    const isPlain = rows.every(
      (row) =>
        row.labels === 0 &&
        row.reason === null &&
        row.sums === null &&
        row.key === null &&
        row.more === null &&
        row.shares === null &&
        !this.#added.has(row.id),
    )
    const [first] = rows as [EntityRow, ...EntityRow[]]
    if (isPlain && rows.length > 1 && alikeColumns.every(([, , of]) => rows.every((row) => of(row) === of(first)))) {
      // Children of one source are alike but for these: what they share is sent once.
      session.send(insertAlike, [
        ...ownColumns.map(([, , of]) => rows.map(of)),
        ...alikeColumns.map(([, , of]) => of(first)),
        isCold(first),
      ])
    } else if (isPlain)
      session.send(insertPlain, birthColumns.map(([, , of]) => rows.map(of)).concat([rows.map(isCold)]))
    else {
      session.send(insertFull, [
        ...bornColumns.map(([, , of]) => rows.map(of)),
        rows.map(isCold),
        rows.map(({ id }) => this.#added.get(id) ?? ''),
      ])
    }
  }
}

type Column = readonly [name: string, type: string, of: (row: EntityRow) => string | number | boolean | null]

/** What any change may touch. */
const columns: readonly Column[] = [
  ['id', 'int8', (row) => row.id],
  ['line', 'int4', (row) => row.line],
  ['rank', 'float8', (row) => row.rank],
  ['owner', 'int4', (row) => row.owner],
  ['plan', 'int2', (row) => row.plan],
  ['state', 'int4', (row) => row.state],
  ['settled', 'bool', (row) => row.settled],
  ['seq', 'int4', (row) => row.seq],
  ['epoch', 'int4', (row) => row.epoch],
  ['generation', 'int4', (row) => row.generation],
  ['attempts', 'int4', (row) => row.attempts],
  ['suspect', 'int4', (row) => row.suspect],
  ['wait', 'int2', (row) => row.wait],
  ['at', 'int8', (row) => row.at],
  ['priority', 'float8', (row) => row.priority],
  ['standing', 'int2', (row) => row.standing],
  ['changed_at', 'int8', (row) => row.changedAt],
  ['reason', 'text', (row) => row.reason],
  ['sums', 'text', (row) => row.sums],
  ['shares', 'text', (row) => row.shares],
  ['more', 'text', (row) => row.more],
  ['labels', 'int2', (row) => row.labels],
  ['label0', 'text', (row) => row.label0],
  ['label1', 'text', (row) => row.label1],
  ['label2', 'text', (row) => row.label2],
  ['label3', 'text', (row) => row.label3],
]

const birthColumns: readonly Column[] = [
  ['id', 'int8', (row) => row.id],
  ['line', 'int4', (row) => row.line],
  ['rank', 'float8', (row) => row.rank],
  ['machine', 'int4', (row) => row.machine],
  ['state', 'int4', (row) => row.state],
  ['settled', 'bool', (row) => row.settled],
  ['lane', 'int8', (row) => row.lane],
  ['source', 'int8', (row) => row.source],
  ['ordinal', 'int8', (row) => row.ordinal],
  ['staging', 'int8', (row) => row.staging],
  ['priority', 'float8', (row) => row.priority],
  ['wait', 'int2', (row) => row.wait],
  ['at', 'int8', (row) => row.at],
  ['plan', 'int2', (row) => row.plan],
  ['created_at', 'int8', (row) => row.createdAt],
  ['created_by', 'text', (row) => row.createdBy],
  ['data', 'text', (row) => row.data],
]

/** What most do not have at birth. Those that a later move of the same commit has changed are among them. */
const rareColumns: readonly Column[] = [
  ['born', 'int4', (row) => row.born],
  ['owner', 'int4', (row) => row.owner],
  ['seq', 'int4', (row) => row.seq],
  ['epoch', 'int4', (row) => row.epoch],
  ['generation', 'int4', (row) => row.generation],
  ['attempts', 'int4', (row) => row.attempts],
  ['suspect', 'int4', (row) => row.suspect],
  ['standing', 'int2', (row) => row.standing],
  ['changed_at', 'int8', (row) => row.changedAt],
  ['labels', 'int2', (row) => row.labels],
  ['label0', 'text', (row) => row.label0],
  ['label1', 'text', (row) => row.label1],
  ['label2', 'text', (row) => row.label2],
  ['label3', 'text', (row) => row.label3],
  ['reason', 'text', (row) => row.reason],
  ['sums', 'text', (row) => row.sums],
  ['key', 'text', (row) => row.key],
  ['shares', 'text', (row) => row.shares],
  ['more', 'text', (row) => row.more],
]

/** All that a new row has. */
export const bornColumns: readonly Column[] = [...birthColumns, ...rareColumns]

function unnested(used: readonly Column[], others: readonly (readonly [name: string, type: string])[]): string {
  const all = [...used.map(([name, type]) => [name, type] as const), ...others]
  const arrays = all.map(([, type], index) => `$${index + 1}::${type}[]`)
  return `unnest(${arrays.join(', ')}) AS u (${all.map(([name]) => name).join(', ')})`
}

const update = `UPDATE entity SET ${columns
  .slice(1)
  .map(([name]) => `${name} = u.${name}`)
  .join(', ')}, cold = u.cold, data = coalesce(u.data, entity.data), trail = entity.trail || u.added
  FROM ${unnested(columns, [
    ['cold', 'bool'],
    ['data', 'text'],
    ['added', 'text'],
  ])} WHERE entity.id = u.id`

const plainNames = birthColumns.map(([name]) => name).join(', ')
const insertPlain = `INSERT INTO entity (${plainNames}, cold, born, seq, epoch, generation, attempts, suspect, standing, labels, changed_at, trail)
  SELECT ${plainNames}, cold, state, 0, 0, 0, 0, 0, 0, 0, created_at, '' FROM ${unnested(birthColumns, [['cold', 'bool']])}`
const ownNames = ['id', 'ordinal', 'data']
const ownColumns = birthColumns.filter(([name]) => ownNames.includes(name))
const alikeColumns = birthColumns.filter(([name]) => !ownNames.includes(name))
const alikeValues = alikeColumns.map(([, type], index) => `$${ownColumns.length + index + 1}::${type}`)
const insertAlike = `INSERT INTO entity (${[...ownColumns, ...alikeColumns].map(([name]) => name).join(', ')},
    cold, born, seq, epoch, generation, attempts, suspect, standing, labels, changed_at, trail)
  SELECT u.*, ${alikeValues.join(', ')}, $${birthColumns.length + 1}::bool, ${shared('state')}, 0, 0, 0, 0, 0, 0, 0, ${shared('created_at')}, ''
  FROM ${unnested(ownColumns, [])}`

function shared(name: string): string {
  return alikeValues[alikeColumns.findIndex(([column]) => column === name)]!
}

const fullColumns = [...birthColumns, ...rareColumns]
const fullNames = fullColumns.map(([name]) => name).join(', ')
const insertFull = `INSERT INTO entity (${fullNames}, cold, trail) SELECT ${fullNames}, cold, added FROM ${unnested(
  fullColumns,
  [
    ['cold', 'bool'],
    ['added', 'text'],
  ],
)}`

/** The first number of a trail is that of its first move. */
const spill = `INSERT INTO history (entity, first, records)
  SELECT id, substring(trail FROM '^\\[(\\d+)')::int4, trail FROM entity WHERE id = ANY($1::int8[])`

export type { Value }
