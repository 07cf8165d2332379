import type { Limits } from '../../limits.ts'
import type { HeartData } from '../../thread-heart.ts'

/** What the heart's thread opens. */
export interface HeartPlace {
  readonly file: string
  readonly limits: Limits
}

/** What the thread is started with. */
export type PlacedHeartData = HeartData & HeartPlace
