import type { EntityId } from '../../entity.ts'

/** What a decision asked for that was not read yet. */
export type Need =
  | { readonly kind: 'rows'; readonly ids: readonly EntityId[] }
  | { readonly kind: 'lanes'; readonly ids: readonly number[] }
  | { readonly kind: 'lanesOf'; readonly parents: readonly EntityId[] }
  | { readonly kind: 'lanesNamed'; readonly lanes: readonly LaneName[] }
  | { readonly kind: 'lane'; readonly lane: LaneName; readonly hidden: boolean }
  | { readonly kind: 'linesOf'; readonly lanes: readonly number[] }
  | { readonly kind: 'line'; readonly line: NewLine }
  | { readonly kind: 'children'; readonly source: EntityId; readonly ordinals: readonly number[] }
  | { readonly kind: 'surplus'; readonly source: EntityId; readonly from: number; readonly staging: number }
  | { readonly kind: 'staging'; readonly source: EntityId }
  | { readonly kind: 'pools'; readonly names: readonly string[] }
  | { readonly kind: 'shares'; readonly shares: readonly ShareName[] }
  | { readonly kind: 'holders'; readonly pool: string }

export interface LaneName {
  readonly parent: EntityId | null
  readonly name: string
}

export interface ShareName {
  readonly pool: string
  readonly entity: EntityId
}

export type LineKind = 'shared' | 'lane' | 'hold' | 'pool' | 'label'

/** A line that is to be made if it is not there. */
export interface NewLine {
  readonly name: string
  readonly kind: LineKind
  readonly suspect: boolean
  readonly machine: number
  readonly state: number
  readonly edge: number
  readonly lane: number | null
  readonly gated: boolean
  readonly staging: number | null
  readonly hold: number | null
  readonly holdable: boolean
  readonly pool: string | null
  readonly shut: boolean
  readonly idle: boolean
}

/**
 * Thrown by a decision in the middle of its work: what it needs is read, and it decides anew from the beginning. Most of what is needed is
 * known beforehand and read at once; this is for the rest.
 */
export class Missing extends Error {
  readonly need: Need

  constructor(need: Need) {
    super(`Not read yet: ${need.kind}.`)
    this.need = need
  }
}
