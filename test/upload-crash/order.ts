import type { Limits } from '../../src/limits.ts'

/** What a process of the test is told, as JSON. */
export interface UploadOrder {
  /** Where its store, its files and its catalogue lie. */
  readonly folder: string
  /** The file to be uploaded. */
  readonly file: string
  /** Small ones leave many places to die. */
  readonly groupMax: number
  readonly limits: Partial<Limits>
}

/** What the process says at its end, in one line. */
export interface UploadReport {
  readonly state: string
  readonly total: number
  readonly completed: number
  readonly failed: number
  readonly skipped: number
  readonly merged: number
  readonly unresolvedLinks: number
  readonly reasons: Readonly<Record<string, number>>
  /** By index in the file. */
  readonly items: readonly ReportedItem[]
  /** Every document of the catalogue, by hnId. */
  readonly documents: readonly (readonly [hnId: number, json: string])[]
  /** What a recount of the tallies complains about. */
  readonly drifts: number
}

export interface ReportedItem {
  readonly hnId: number | null
  readonly state: string
  readonly reason: string | null
}
