import type { Limits } from '../../limits.ts'
import type { HeartData } from '../../thread-heart.ts'

/** Where the heart's thread connects. */
export interface HeartPlace {
  readonly url: string
  readonly schema: string
  readonly limits: Limits
}

/** What the thread is started with. */
export type PlacedHeartData = HeartData & HeartPlace
