import { z } from 'zod'

/** What every step gives out: which run gave it, and as the how manieth. */
export const item = z.strictObject({ run: z.int(), index: z.int() })

export type Item = z.infer<typeof item>

/** The name under which a run's outputs for the reducer are kept. */
export const forReducer = '→ reducer'

/** One run of one step, as the step itself tells it. */
export interface Run {
  readonly id: number
  readonly chunk: number
  /** By step, in the order in which they were given out; with those of the run whose cursor it went on from. */
  readonly given: Map<string, Item[]>
  hasSucceeded: boolean
}

/** Where a run goes on after a crash. */
export interface Cursor {
  readonly run: number
  readonly counts: Readonly<Record<string, number>>
}

/** How a job ended, told by its handler or by the job's own move. */
export interface Ended {
  readonly id: number
  readonly generation: number
  readonly state: string
}

/**
 * What the steps and handlers of a simulated world did, told by themselves. The store's history is held against it: what a chunk's
 * completion brought forth must be what one of its runs gave out, all of it and nothing else.
 */
export class Book {
  readonly #runs: Run[] = []
  readonly #byChunk = new Map<number, Run[]>()
  readonly #keys = new Map<string, number>()
  readonly #ends: Ended[] = []
  readonly #told = new Set<string>()
  readonly #complain: (invariant: string, message: string) => void

  constructor(complain: (invariant: string, message: string) => void) {
    this.#complain = complain
  }

  begin(chunk: number, key: string, cursor: unknown): Run {
    const begun = cursor as Cursor | null
    const given = new Map<string, Item[]>()
    for (const [lane, count] of Object.entries(begun?.counts ?? {})) {
      given.set(lane, this.#runs[begun!.run]!.given.get(lane)!.slice(0, count))
    }
    const run: Run = { id: this.#runs.length, chunk, given, hasSucceeded: false }
    this.#runs.push(run)
    const runs = this.#byChunk.get(chunk)
    if (runs) runs.push(run)
    else this.#byChunk.set(chunk, [run])
    const owner = this.#keys.get(key)
    if (owner !== undefined && owner !== chunk)
      this.#complain('A5 outputs', `Chunks ${owner} and ${chunk} share the idempotency key ${key}.`)
    this.#keys.set(key, chunk)
    return run
  }

  give({ given }: Run, lane: string, one: Item): void {
    const items = given.get(lane)
    if (items) items.push(one)
    else given.set(lane, [one])
  }

  cursorOf({ id, given }: Run): Cursor {
    return { run: id, counts: Object.fromEntries([...given].map(([lane, items]) => [lane, items.length])) }
  }

  /** Null: one of the chunk's runs that succeeded gave out exactly this. Otherwise what they gave out. */
  complaintOf(chunk: number, seen: ReadonlyMap<string, readonly Item[]>): string | null {
    const runs = (this.#byChunk.get(chunk) ?? []).filter(({ hasSucceeded }) => hasSucceeded)
    const text = textOf(seen)
    const texts = runs.map(({ given }) => textOf(given))
    if (texts.includes(text)) return null
    return `It brought forth ${text}; the runs that succeeded gave out ${texts.join(' or ') || 'nothing, for there is none'}.`
  }

  /** A job ended, and somebody wants to be told. */
  ended(ended: Ended): void {
    this.#ends.push(ended)
  }

  /** A handler was called. */
  told(ended: Ended, key: string): void {
    const expected = keyOf(ended)
    if (key !== expected)
      this.#complain('A11 handlers', `The end of job ${ended.id} was told with the key ${key} instead of ${expected}.`)
    this.#told.add(expected)
  }

  /** Ends of which nobody was told so far. */
  get untold(): readonly Ended[] {
    return this.#ends.filter((ended) => !this.#told.has(keyOf(ended)))
  }
}

function keyOf({ id, generation, state }: Ended): string {
  return `${id}:${generation}:notify_${state}`
}

function textOf(given: ReadonlyMap<string, readonly Item[]>): string {
  const lanes = [...given].filter(([, items]) => items.length > 0).sort(([one], [other]) => (one < other ? -1 : 1))
  return (
    lanes.map(([lane, items]) => `${lane}: ${items.map(({ run, index }) => `${run}.${index}`)}`).join('; ') || '(none)'
  )
}
