import type { Logger } from 'pino'
import type { Clock } from '../clock.ts'
import type { Control } from '../control.ts'
import type { RunFigures } from '../run-figures.ts'
import type { Access } from './access.ts'
import type { Collections } from './collections.ts'
import type { Families } from './families.ts'
import type { FeedHub } from './feed/hub.ts'
import type { Listener } from './feed/listener.ts'
import type { HttpLimits } from './http-limits.ts'
import type { Origins } from './origins.ts'
import type { Replay } from './replay.ts'
import type { Sessions } from './sessions.ts'

/** What routes are made of. */
export interface Context {
  readonly control: Control
  readonly families: Families
  readonly access: Access
  readonly sessions: Sessions
  readonly collections: Collections
  readonly origins: Origins
  readonly hub: FeedHub
  readonly figures: (() => RunFigures) | null
  /** Who listens to the feed now. */
  readonly listeners: Set<Listener>
  readonly replay: Replay
  readonly limits: HttpLimits
  readonly clock: Clock
  readonly log: Logger
  /** Bound to this machine alone. */
  readonly isLoopback: boolean
}
