/** What each queue that is measured must be able to do, in the scenario's process and in a worker's. */

/** Where a contender keeps its jobs: a database of its own, and a Redis of its own. */
export interface Place {
  readonly postgres: string
  readonly redis: string
}

export interface Contender {
  readonly title: string
  readonly version: string
  /** The configuration that was fastest here, in words. */
  readonly settings: string
  /** Makes the place ready, for submitting from this process. */
  open(place: Place): Promise<Submitter>
  /** Starts to work in this process; `handled` is told of everything that was worked on. */
  work(place: Place, handled: (count: number) => void): Promise<Stop>
  /** Submits and works in this process, one at a time, as quickly as the contender can. */
  idle(place: Place): Promise<Idle>
}

export interface Submitter {
  /** So many no-op jobs, by the fastest way that there is. */
  submit(count: number): Promise<void>
  /** Whether everything submitted is completed, durably. */
  finished(count: number): Promise<boolean>
  /** One parent with so many children and a step after the last of them; ends when that step is completed, durably. */
  readonly fanIn: ((children: number) => Promise<void>) | null
  close(): Promise<void>
}

export interface Idle {
  /** Ends when the job is completed, durably. */
  one(n: number): Promise<void>
  close(): Promise<void>
}

export type Stop = () => Promise<void>

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** The same in groups of one size, one after another. */
export async function inGroups(
  count: number,
  size: number,
  each: (from: number, size: number) => Promise<unknown>,
): Promise<void> {
  for (let from = 0; from < count; from += size) await each(from, Math.min(size, count - from))
}

export const numbers = <Item>(from: number, size: number, make: (n: number) => Item): Item[] =>
  Array.from({ length: size }, (_, index) => make(from + index))
