import type { SearchQuery } from '../catalogue/catalogue.ts'
import type { FileCheck } from '../files/file-check.ts'
import type { Cursor } from '../files/file-fault.ts'
import type { ElementGroup } from '../files/file-walk.ts'
import type { Repeat } from './file-repeats.ts'
import type { FoundPage, Hierarchy, HierarchyQuery } from './found.ts'

/** Where the items of a call lie, by position. Arrays, because a call names a thousand of them. */
export interface Places {
  readonly entities: Float64Array
  readonly batches: Float64Array
  readonly files: Uint32Array
  readonly offsets: Float64Array
  readonly lengths: Uint32Array
  /** Of the few whose id an earlier element of their file has too. */
  readonly repeats: readonly Repeat[]
}

/** A group of elements as the desk answers it. */
export interface RepeatedElements extends ElementGroup {
  readonly repeats: readonly Repeat[]
}

export interface LoadedGroup extends VerdictGroup {
  /** Position of the type in itemTypes. */
  readonly types: Uint8Array
  /** NaN: none. */
  readonly hnIds: Float64Array
  readonly parents: Float64Array
  readonly knownParents: Uint8Array
  /** The few that have a fault or a warning. */
  readonly remarks: readonly Remark[]
}

export interface Remark {
  readonly position: number
  readonly fault: { readonly reason: string; readonly message: string } | null
  readonly warnings: readonly string[] | null
}

/**
 * What the catalogue says of an item. fine: it is new, or not decided yet. duplicate: of what another batch put. repeat: of an
 * earlier element of the same file.
 */
export const verdicts = { fine: 0, merged: 1, duplicate: 2, repeat: 3 } as const

/** Verdicts by position; `of`: the entity that put what a duplicate repeats, or the index of the earlier element. */
export interface VerdictGroup {
  readonly codes: Uint8Array
  readonly of: Float64Array
}

/** Who put a row of the catalogue. */
export interface KnownPlace {
  readonly hnId: number
  readonly entity: number
  readonly batch: number
}

/** By which it can be told whether a catalogue belongs to a store: which ids it knows, and its first and its last row. */
export interface Evidence {
  readonly known: readonly boolean[]
  readonly places: readonly KnownPlace[]
}

/** What the thread can be asked, with what, and what it answers. */
export interface Verbs {
  check: { given: { sha256: string }; answer: FileCheck }
  follow: { given: { path: string; bytes: number }; answer: null }
  followed: { given: { path: string; sha256: string | null }; answer: null }
  elements: { given: { sha256: string; cursor: Cursor | null; limit: number }; answer: RepeatedElements }
  number: { given: { sha256: string }; answer: number }
  evidence: { given: { hnIds: readonly number[] }; answer: Evidence }
  register: { given: { number: number; sha256: string }; answer: null }
  load: { given: Places; answer: LoadedGroup }
  compare: { given: Places; answer: VerdictGroup }
  known: { given: Places; answer: Uint8Array }
  index: { given: Places; answer: VerdictGroup }
  unresolved: { given: { batch: number }; answer: number }
  search: { given: SearchQuery; answer: FoundPage }
  hierarchy: { given: HierarchyQuery; answer: Hierarchy }
  beginRebuild: { given: null; answer: null }
  rebuildWith: { given: Places; answer: number }
  finishRebuild: { given: null; answer: number }
  abandonRebuild: { given: null; answer: null }
  stop: { given: null; answer: null }
}

export type Verb = keyof Verbs

export type Question =
  | { readonly id: number; readonly verb: Verb; readonly given: unknown }
  | { readonly cancel: number }

export type Answer =
  | { readonly id: number; readonly answer: unknown }
  | { readonly id: number; readonly failure: Failure }
  | { readonly id: number; readonly progress: number }

/** An error as it crosses threads: its code and its words, so that nobody has to guess. */
export interface Failure {
  readonly code: string | null
  readonly message: string
  readonly details: Readonly<Record<string, unknown>>
}

export interface DeskSettings {
  readonly folder: string
  readonly catalogue: string
  readonly textIndex: boolean
  readonly itemBytesMax: number
  readonly depthMax: number
}
