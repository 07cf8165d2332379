import type { Lane } from '../../lane.ts'
import type { Database, Row } from './database.ts'

/**
 * Where entities wait to run. All of one machine, state and edge share one line, save for what may be shut or put aside as a
 * whole: the children of a large, gated or resting lane, what a source has staged, what a hold or a full pool stops. Suspects
 * stand in lines of their own in each of these places, for a claim takes them first and apart.
 */
export type LineKind = 'shared' | 'lane' | 'hold' | 'pool' | 'label'

/** What a worker takes up: one machine version (its number), state and requested edge (words; 0: none). */
export interface Run {
  readonly machine: number
  readonly state: number
  readonly edge: number
}

export interface Line extends Run {
  readonly id: number
  readonly kind: LineKind
  readonly suspect: boolean
  readonly lane: number | null
  readonly gated: boolean
  readonly staging: number | null
  readonly hold: number | null
  readonly holdable: boolean
  readonly pool: string | null
  shut: boolean
  idle: boolean
  /** What a row of it last had in data, about: so that a claim reads no more of it than it may hand out. */
  rowBytes: number
}

/** Before anybody has read a line its rows may be long. */
const rowBytesFirst = 64 * 1024

interface Place {
  readonly suspect: boolean
  readonly lane?: number | null
  readonly gated?: boolean
  readonly staging?: number | null
  readonly hold?: number | null
  readonly holdable?: boolean
  readonly pool?: string | null
}

/** Beyond so many the connection forgets what it knows of lines and reads them again. */
const keptMax = 50_000
const select =
  'SELECT id, kind, suspect, machine, state, edge, lane, gated, staging, hold, holdable, pool, shut, idle FROM line'

export class Lines {
  readonly #database: Database
  readonly #byName = new Map<string, Line>()
  readonly #byId = new Map<number, Line>()
  /** Lines by run that a claim must look at: neither shut nor idle. */
  readonly #active = new Map<string, Set<Line>>()
  /** Most entities of a group go to the same line. */
  #lastShared: Line | null = null
  #lastOfLane: Line | null = null

  constructor(database: Database) {
    this.#database = database
    database.onForget(() => this.#forget())
  }

  shared(run: Run, suspect: boolean): Line {
    const last = this.#lastShared
    if (last && !suspect && last.machine === run.machine && last.state === run.state && last.edge === run.edge)
      return last
    const line = this.#find('shared', run, { suspect }, false)
    if (!suspect) this.#lastShared = line
    return line
  }

  /** Of one lane's children, staged ones apart. It is shut unless the lane lets them through and they are published. */
  ofLane(run: Run, lane: number, figures: Lane, gated: boolean, staging: number | null, suspect: boolean): Line {
    // Children are spawned by the thousand, into the same line: its name is put together once.
    const last = this.#lastOfLane
    const isSame =
      last &&
      last.lane === lane &&
      last.staging === staging &&
      last.gated === gated &&
      last.suspect === suspect &&
      last.machine === run.machine &&
      last.state === run.state &&
      last.edge === run.edge
    if (isSame) return last
    const isShut = staging !== null || !letsThrough(figures, gated)
    const line = this.#find('lane', run, { lane, gated, staging, suspect }, isShut)
    this.#lastOfLane = line
    return line
  }

  /** Of what a hold stopped, by whether the claim called the state holdable. Claims pass by while the hold stands. */
  ofHold(run: Run, hold: number, holdable: boolean, suspect: boolean): Line {
    return this.#find('hold', run, { hold, holdable, suspect }, false)
  }

  /** Of those whose wait names this pool. */
  ofPool(run: Run, pool: string, suspect: boolean): Line {
    return this.#find('pool', run, { pool, suspect }, false)
  }

  /** Of those that the claim itself limits by the value of a label: the pool is of that value. */
  ofLabel(run: Run, pool: string, suspect: boolean): Line {
    return this.#find('label', run, { pool, suspect }, false)
  }

  byId(id: number): Line | null {
    const known = this.#byId.get(id)
    if (known) return known
    const row = this.#database.get(`${select} WHERE id = ?`, id)
    return row ? this.#keep(row) : null
  }

  active(run: Run): readonly Line[] {
    return [...this.#activeOf(run)]
  }

  /** Somebody stands in the line from now on. */
  enter(line: Line): number {
    if (line.idle) {
      line.idle = false
      this.#database.run('UPDATE line SET idle = 0 WHERE id = ?', line.id)
      this.#file(line)
    }
    return line.id
  }

  /** Nobody stands in it: claims pass by until somebody enters. */
  rest(line: Line): void {
    if (line.idle || (line.kind === 'shared' && !line.suspect)) return
    line.idle = true
    this.#database.run('UPDATE line SET idle = 1 WHERE id = ?', line.id)
    this.#file(line)
  }

  /** The lane's order or gate has changed. */
  follow(lane: number, figures: Lane, isStaged: (staging: number) => boolean): void {
    for (const [id] of this.#database.all('SELECT id FROM line WHERE lane = ?', lane)) {
      const line = this.byId(id as number)!
      const staged = line.staging !== null && isStaged(line.staging)
      this.#shut(line, staged || !letsThrough(figures, line.gated))
    }
  }

  publish(staging: number, laneOf: (lane: number) => Lane): void {
    for (const [id] of this.#database.all('SELECT id FROM line WHERE staging = ?', staging)) {
      const line = this.byId(id as number)!
      this.#shut(line, !letsThrough(laneOf(line.lane!), line.gated))
    }
  }

  /** The lane is purged, and nobody stands in its lines any more. */
  removeOf(lane: number): void {
    for (const [id] of this.#database.all('SELECT id FROM line WHERE lane = ?', lane)) {
      const line = this.byId(id as number)!
      line.shut = true
      this.#file(line)
      this.#byId.delete(line.id)
      this.#lastOfLane = null
      this.#byName.delete(nameOf(line.kind, line, line))
    }
    this.#database.run('DELETE FROM line WHERE lane = ?', lane)
  }

  /** Called between transactions. */
  trim(): void {
    if (this.#byId.size > keptMax) this.#forget()
  }

  #shut(line: Line, shut: boolean): void {
    if (line.shut === shut) return
    line.shut = shut
    this.#database.run('UPDATE line SET shut = ? WHERE id = ?', shut ? 1 : 0, line.id)
    this.#file(line)
  }

  #find(kind: LineKind, run: Run, place: Place, shut: boolean): Line {
    const { suspect, lane = null, gated = false, staging = null, hold = null, holdable = false, pool = null } = place
    const name = nameOf(kind, run, place)
    const known = this.#byName.get(name)
    if (known) return known
    const row = this.#database.get(`${select} WHERE name = ?`, name)
    if (row) return this.#keep(row, name)
    const idle = kind !== 'shared' || suspect
    const id = this.#database.number(
      `INSERT INTO line (name, kind, suspect, machine, state, edge, lane, gated, staging, hold, holdable, pool, shut, idle)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`,
      name,
      kind,
      suspect ? 1 : 0,
      run.machine,
      run.state,
      run.edge,
      lane,
      gated ? 1 : 0,
      staging,
      hold,
      holdable ? 1 : 0,
      pool,
      shut ? 1 : 0,
      idle ? 1 : 0,
    )!
    const { machine, state, edge } = run
    return this.#add(
      {
        id,
        kind,
        suspect,
        machine,
        state,
        edge,
        lane,
        gated,
        staging,
        hold,
        holdable,
        pool,
        shut,
        idle,
        rowBytes: rowBytesFirst,
      },
      name,
    )
  }

  #keep(row: Row, name?: string): Line {
    const [id, kind, suspect, machine, state, edge, lane, gated, staging, hold, holdable, pool, shut, idle] = row
    const known = this.#byId.get(id as number)
    if (known) {
      if (name !== undefined) this.#byName.set(name, known)
      return known
    }
    const line = {
      id,
      kind,
      suspect: suspect === 1,
      machine,
      state,
      edge,
      lane,
      gated: gated === 1,
      staging,
      hold,
      holdable: holdable === 1,
      pool,
      shut: shut === 1,
      idle: idle === 1,
      rowBytes: rowBytesFirst,
    } as Line
    return this.#add(line, name)
  }

  #add(line: Line, name?: string): Line {
    this.#byId.set(line.id, line)
    if (name !== undefined) this.#byName.set(name, line)
    this.#file(line)
    return line
  }

  #file(line: Line): void {
    const active = this.#active.get(runKey(line))
    if (!active) return
    if (line.shut || line.idle) active.delete(line)
    else active.add(line)
  }

  #activeOf(run: Run): Set<Line> {
    const key = runKey(run)
    let active = this.#active.get(key)
    if (!active) {
      const rows = this.#database.all(
        `${select} WHERE machine = ? AND state = ? AND edge = ? AND shut = 0 AND idle = 0`,
        run.machine,
        run.state,
        run.edge,
      )
      active = new Set(rows.map((row) => this.#keep(row)))
      this.#active.set(key, active)
    }
    return active
  }

  #forget(): void {
    this.#byName.clear()
    this.#byId.clear()
    this.#active.clear()
    this.#lastShared = null
    this.#lastOfLane = null
  }
}

function nameOf(kind: LineKind, run: Run, { suspect, lane, gated, staging, hold, holdable, pool }: Place): string {
  return `${kind}/${suspect ? 1 : 0}/${run.machine}/${run.state}/${run.edge}/${lane ?? ''}/${gated ? 1 : 0}/${staging ?? ''}/${hold ?? ''}/${holdable ? 1 : 0}/${pool ?? ''}`
}

export function runKey({ machine, state, edge }: Run): string {
  return `${machine}/${state}/${edge}`
}

/** Whether a lane lets its children start. */
export function letsThrough({ status, gate }: Lane, gated: boolean): boolean {
  return status === 'going' && (!gated || gate === 'open')
}
