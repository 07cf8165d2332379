import type { Limits } from '../../limits.ts'
import type { HeartRequest } from '../../store.ts'

/** Where the heart's thread connects. */
export interface HeartPlace {
  readonly url: string
  readonly schema: string
}

/** What the heart's thread is started with. */
export interface HeartData extends HeartPlace {
  readonly limits: Limits
  readonly worker: number
  readonly identity: HeartRequest['identity']
  readonly leaseMs: number
  readonly renewMs: number
  readonly watched: SharedArrayBuffer
}

/** look: a deadline came in that may be earlier than the thread would look again. grow: the table has moved. */
export type ToThread =
  | { readonly kind: 'look' }
  | { readonly kind: 'grow'; readonly watched: SharedArrayBuffer }
  | { readonly kind: 'stop' }
export type FromThread = { readonly kind: 'lost' }

/** The thread looks at its table this often; a deadline that is nearer is announced. */
export const lookMs = 100
