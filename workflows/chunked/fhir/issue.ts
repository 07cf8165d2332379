/** Why a line or a resource was not accepted. Reports count by these. */
export const issueCodes = [
  'not_utf8',
  'not_json',
  'not_object',
  'too_long',
  'too_deep',
  'unknown_type',
  'wrong_type',
  'bad_id',
  'structure',
  'unknown_code',
  'invariant',
] as const
export type IssueCode = (typeof issueCodes)[number]

export interface Issue {
  /** Where in the resource, as in Patient.name[0].family; empty if it is about the whole line. */
  readonly path: string
  readonly code: IssueCode
  readonly message: string
}

/** Collects up to a bound: a resource that is wrong everywhere says so in a few lines. */
export class Issues {
  readonly list: Issue[] = []
  readonly #max: number
  readonly #paths = new Set<string>()

  constructor(max: number) {
    this.#max = max
  }

  get isFull(): boolean {
    return this.list.length >= this.#max
  }

  /** One issue for each place: the first one said. What lies below a place that is wrong is not worth another. */
  add(path: string, code: IssueCode, message: string): void {
    if (this.isFull || this.#isCovered(path)) return
    this.#paths.add(path)
    this.list.push({ path, code, message })
  }

  #isCovered(path: string): boolean {
    if (this.#paths.size === 0) return false
    if (this.#paths.has(path)) return true
    for (let end = path.length - 1; end > 0; end -= 1) {
      const character = path[end]
      // The resource as a whole does not cover its fields.
      if (
        (character === '.' || character === '[') &&
        path.lastIndexOf('.', end) > 0 &&
        this.#paths.has(path.slice(0, end))
      )
        return true
    }
    return false
  }
}
