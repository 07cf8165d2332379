import type { Session } from './database.ts'
import type { Desk } from './desk.ts'
import type { Facts } from './facts.ts'
import type { LaneName } from './need.ts'
import { laneKey } from './stock.ts'

/** Within which transaction a group of records is written. The time of its facts is the latest that the other store had seen. */
export interface Group {
  readonly desk: Desk
  readonly session: Session
  readonly facts: Facts
}

export function uniqueLanes(names: readonly LaneName[]): readonly LaneName[] {
  return [...new Map(names.map((lane) => [laneKey(lane.parent, lane.name), lane])).values()]
}
