import type { Issue } from '../issue.ts'
import type { PutVerdict } from '../resources/putting.ts'
import type {
  IdQuery,
  NumberRange,
  Page,
  PageQuery,
  RangeQuery,
  ReindexVerdict,
  StoredResource,
  TypeCount,
  Within,
} from '../resources/resources.ts'
import type { ValidationSettings } from '../validation.ts'

/** A group of lines of one source, to be checked and stored together. */
export interface ImportGroup {
  /** What the lines belong to: it stands behind the ids of resources that come without one. */
  readonly source: string
  /**
   * Which reading of the source this is. Within one reading a later line counts whatever the order in which groups come;
   * between two readings whoever comes later counts, as files change. Default: all are one.
   */
  readonly reading?: string
  /** All resources are to be of this type; others are refused. */
  readonly type?: string
  /** Whose the resources are. Default: nobody's. */
  readonly collection?: string | null
  /** The same when the group comes again: it is then told what it was told before. */
  readonly key?: string
  /** Whether the terms for searching are made at once; if not, a re-index makes them. */
  readonly index: boolean
  readonly lines: readonly { readonly line: number; readonly text: string }[]
}

export type ImportVerdict = PutVerdict | 'refused'

export interface ImportAnswer {
  /** For each line. */
  readonly verdicts: readonly ImportVerdict[]
  /** Verdicts of the lines that were stored or stood there, by type. */
  readonly types: Readonly<Record<string, Readonly<Partial<Record<PutVerdict, number>>>>>
  readonly refused: readonly { readonly line: number; readonly issues: readonly Issue[] }[]
}

export interface ExportPage {
  /** Lines of JSON, each with its line feed. */
  readonly bytes: Uint8Array
  readonly resources: number
  /** The last number that was passed; null: there is no more. */
  readonly next: number | null
}

export interface ResourceQuery extends Within {
  readonly type: string
  /** The code of a search parameter of R4. */
  readonly param: string
  readonly value: string
  readonly limit: number
  readonly after?: string | null
}

/** A resource as it is handed out: with its version and time in its meta. */
export interface Served {
  readonly type: string
  readonly id: string
  readonly version: number
  readonly updatedAt: number
  /** Whether the index knows it as it stands. */
  readonly isIndexed: boolean
  readonly json: string
}

/** What the thread can be asked, and what it answers. */
export interface Verbs {
  readonly import: { readonly given: ImportGroup; readonly answer: ImportAnswer }
  readonly check: { readonly given: readonly string[]; readonly answer: readonly (readonly Issue[])[] }
  readonly reindex: { readonly given: readonly number[]; readonly answer: readonly ReindexVerdict[] }
  readonly types: { readonly given: Within; readonly answer: readonly TypeCount[] }
  readonly ranges: { readonly given: RangeQuery; readonly answer: Page<NumberRange> }
  readonly ids: {
    readonly given: { readonly range: NumberRange } & IdQuery
    readonly answer: Page<number>
  }
  readonly read: { readonly given: readonly number[]; readonly answer: readonly (StoredResource | null)[] }
  readonly export: { readonly given: PageQuery; readonly answer: ExportPage }
  readonly get: {
    readonly given: Within & { readonly type: string; readonly id: string }
    readonly answer: Served | null
  }
  readonly search: { readonly given: ResourceQuery; readonly answer: Page<Served, string> }
  readonly stop: { readonly given: null; readonly answer: null }
}

export type Verb = keyof Verbs

export interface Question {
  readonly id: number
  readonly verb: Verb
  readonly given: unknown
}

export type Answer =
  | { readonly id: number; readonly answer: unknown }
  | { readonly id: number; readonly failure: Failure }

/** An error on its way between threads: its code and its words, so that nobody has to guess. */
export interface Failure {
  readonly code: string | null
  readonly message: string
  readonly details: Readonly<Record<string, unknown>>
}

export interface DeskSettings {
  /** The file of the resources. */
  readonly file: string
  readonly validation: ValidationSettings
}
