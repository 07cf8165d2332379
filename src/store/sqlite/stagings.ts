import type { EntityId } from '../../entity.ts'
import type { LaneChange, LaneFigure } from '../../lane.ts'
import type { Sums } from '../../outcome.ts'
import type { Database } from './database.ts'

/** What staged children will add to one lane when they are published. */
export interface StagedLane {
  readonly lane: number
  machine: number
  watches: readonly string[]
  /** Alike children together; their sums are added up. */
  readonly figures: { state: string; settled: boolean; reason: string | null; sums: Sums; times: number }[]
}

export interface Staging {
  readonly id: number
  readonly source: EntityId
  /** Ids in a row: first and count. */
  readonly births: [first: EntityId, count: number][]
  readonly lanes: Map<number, StagedLane>
  dirty: boolean
}

/** What sources have staged and not published. A staged row is unseen for as long as its staging stands here. */
export class Stagings {
  readonly #database: Database
  readonly #bySource = new Map<EntityId, Staging>()
  #open: Set<number> | null = null

  constructor(database: Database) {
    this.#database = database
    database.onForget(() => {
      this.#bySource.clear()
      this.#open = null
    })
  }

  /** Whether a row with this staging is unseen. */
  isOpen(staging: number | null): boolean {
    return staging !== null && this.open().has(staging)
  }

  open(): ReadonlySet<number> {
    this.#open ??= new Set(this.#database.all('SELECT id FROM staging').map(([id]) => id as number))
    return this.#open
  }

  of(source: EntityId): Staging | null {
    const known = this.#bySource.get(source)
    if (known) return known
    if (this.open().size === 0) return null
    const row = this.#database.get('SELECT id, births FROM staging WHERE source = ?', source)
    if (!row) return null
    const id = row[0] as number
    const lanes = this.#database.all('SELECT lane, figures FROM staging_lane WHERE staging = ?', id)
    const staging: Staging = {
      id,
      source,
      births: JSON.parse(row[1] as string),
      lanes: new Map(lanes.map(([lane, figures]) => [lane as number, JSON.parse(figures as string)])),
      dirty: false,
    }
    this.#bySource.set(source, staging)
    return staging
  }

  make(source: EntityId): Staging {
    const known = this.of(source)
    if (known) return known
    const id = this.#database.take('staging', 1)
    this.#database.run("INSERT INTO staging (id, source, births) VALUES (?, ?, '[]')", id, source)
    const staging: Staging = { id, source, births: [], lanes: new Map(), dirty: false }
    this.#bySource.set(source, staging)
    this.#open?.add(id)
    return staging
  }

  born(staging: Staging, id: EntityId): void {
    const last = staging.births.at(-1)
    if (last && last[0] + last[1] === id) last[1] += 1
    else staging.births.push([id, 1])
    staging.dirty = true
  }

  add(staging: Staging, lane: number, machine: number, watches: readonly string[], figure: LaneFigure): void {
    let staged = staging.lanes.get(lane)
    if (!staged) {
      staged = { lane, machine, watches: [], figures: [] }
      staging.lanes.set(lane, staged)
    }
    const news = watches.filter((state) => !staged.watches.includes(state))
    if (news.length > 0) staged.watches = [...staged.watches, ...news]
    count(staged, figure, 1)
    staging.dirty = true
  }

  /** It was replaced by its source's next attempt, or dropped. */
  take(staging: Staging, lane: number, figure: LaneFigure): void {
    const staged = staging.lanes.get(lane)
    if (staged) count(staged, figure, -1)
    staging.dirty = true
  }

  /** From now on its rows are seen. */
  close(staging: Staging): void {
    this.#database.run('DELETE FROM staging WHERE id = ?', staging.id)
    this.#database.run('DELETE FROM staging_lane WHERE staging = ?', staging.id)
    this.#bySource.delete(staging.source)
    this.#open?.delete(staging.id)
    staging.dirty = false
  }

  flush(): void {
    for (const staging of this.#bySource.values()) {
      if (!staging.dirty) continue
      this.#database.run('UPDATE staging SET births = ? WHERE id = ?', JSON.stringify(staging.births), staging.id)
      for (const staged of staging.lanes.values()) {
        this.#database.run(
          'INSERT OR REPLACE INTO staging_lane (staging, lane, figures) VALUES (?, ?, ?)',
          staging.id,
          staged.lane,
          JSON.stringify(staged),
        )
      }
      staging.dirty = false
    }
    // A source stages now and then; what it staged is read again when it does.
    this.#bySource.clear()
  }
}

/** What publishing does to the lane: one child of each kind carries the sums of all that are alike. */
export function changesOf(staged: StagedLane): readonly LaneChange[] {
  return staged.figures.flatMap(({ state, settled, reason, sums, times }) => {
    if (times === 0) return []
    const one = {
      from: null,
      to: { state, settled, reason, sums: Object.keys(sums).length > 0 ? sums : null },
      times: 1,
    }
    if (times === 1) return [one]
    return [one, { from: null, to: { state, settled, reason, sums: null }, times: times - 1 }]
  })
}

function count(staged: StagedLane, { state, settled, reason, sums }: LaneFigure, times: 1 | -1): void {
  let figure = staged.figures.find(
    (other) => other.state === state && other.settled === settled && other.reason === reason,
  )
  if (!figure) {
    figure = { state, settled, reason, sums: {}, times: 0 }
    staged.figures.push(figure)
  }
  figure.times += times
  if (sums === null) return
  const total: Record<string, number> = { ...figure.sums }
  for (const [name, amount] of Object.entries(sums)) {
    total[name] = (total[name] ?? 0) + amount * times
    if (total[name] === 0) delete total[name]
  }
  figure.sums = total
}
