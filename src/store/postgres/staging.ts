import type { EntityId } from '../../entity.ts'
import type { LaneChange, LaneFigure } from '../../lane.ts'
import type { Sums } from '../../outcome.ts'
import type { Row } from './database.ts'

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
}

export function stagingOf([id, source, births, lanes]: Row): Staging {
  const staged = JSON.parse(lanes as string) as readonly StagedLane[]
  return {
    id: id as number,
    source: source as number,
    births: JSON.parse(births as string),
    lanes: new Map(staged.map((lane) => [lane.lane, lane])),
  }
}

/** Decisions change it, and may be taken again: each has a copy of its own. */
export function copyOf(staging: Staging): Staging {
  return stagingOf([staging.id, staging.source, JSON.stringify(staging.births), lanesText(staging)])
}

export function lanesText({ lanes }: Staging): string {
  return JSON.stringify([...lanes.values()])
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

export function countStaged(staged: StagedLane, { state, settled, reason, sums }: LaneFigure, times: 1 | -1): void {
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
