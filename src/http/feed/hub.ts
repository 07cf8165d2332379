import { type Clock, sleep } from '../../clock.ts'
import type { Change, Control } from '../../control.ts'
import type { Role } from '../access.ts'
import { answerText } from '../internals.ts'

/** One change as everybody hears it. */
export class Entry {
  /** Counts up from the first that this hub has read. */
  readonly index: number
  /** Where the one before it ended. */
  readonly begin: number
  readonly change: Change
  readonly #texts = new Map<Role, string>()

  constructor(index: number, begin: number, change: Change) {
    this.index = index
    this.begin = begin
    this.change = change
  }

  /** Written once for all of this role who hear all of it. */
  textFor(role: Role): string {
    let text = this.#texts.get(role)
    if (text === undefined) {
      text = changeText(this.change, role)
      this.#texts.set(role, text)
    }
    return text
  }

  get size(): number {
    return this.change.events.length + this.change.births.length
  }
}

/** JSON has no line breaks of its own, so one data line holds it all: no text of anybody's data can begin another message. */
export function changeText(change: Change, role: Role): string {
  return `event: change\nid: ${change.position}\ndata: ${answerText({ role }, change)}\n\n`
}

/** Told whenever there is more to read. */
export type Hearer = () => void

export interface HubOptions {
  readonly control: Pick<Control, 'watch'>
  readonly clock: Clock
  /** So many entries are kept for those who are behind. */
  readonly entriesMax: number
  failed(error: unknown): void
}

const sizeMax = 20_000
const retryMs = 1_000
/** Whoever comes back soon finds the feed running. */
const lingerMs = 5 * 60_000

/**
 * One reader of the feed for all who listen, and only while there are some. It keeps the latest changes for those who are a little behind;
 * nobody's slowness holds up anybody, or costs more than these.
 */
export class FeedHub {
  readonly #options: HubOptions
  readonly #hearers = new Set<Hearer>()
  #entries: Entry[] = []
  #size = 0
  #end = 0
  #position: number | null = null
  #reading: AbortController | null = null
  #begun: Promise<number> = Promise.resolve(0)
  #cancelLinger = () => {}
  #isClosed = false

  constructor(options: HubOptions) {
    this.#options = options
  }

  /** Keeps the feed being read for a while. The position from which everything is heard. */
  wake(): Promise<number> {
    if (!this.#reading && !this.#isClosed) this.#start()
    this.#linger()
    return this.#begun
  }

  /** Returns a function that ends it. */
  listen(hearer: Hearer): () => void {
    this.#hearers.add(hearer)
    this.#cancelLinger()
    return () => {
      this.#hearers.delete(hearer)
      this.#linger()
    }
  }

  get position(): number | null {
    return this.#position
  }

  /** The index of the next entry. */
  get end(): number {
    return this.#end
  }

  /** Undefined: it is not there yet, or not any more. */
  at(index: number): Entry | undefined {
    return this.#entries[index - this.#end + this.#entries.length]
  }

  /** The first entry behind exactly this position; null: no entry begins there. */
  indexBehind(position: number): number | null {
    if (position === this.#position) return this.#end
    return this.#entries.find(({ begin }) => begin === position)?.index ?? null
  }

  close(): void {
    this.#isClosed = true
    this.#hearers.clear()
    this.#stop()
  }

  #linger(): void {
    this.#cancelLinger()
    if (this.#hearers.size > 0 || this.#isClosed) return
    this.#cancelLinger = this.#options.clock.after(lingerMs, () => this.#stop())
  }

  #start(): void {
    const reading = new AbortController()
    this.#reading = reading
    this.#begun = new Promise((resolve, reject) => {
      const begun = (position: number) => {
        this.#position ??= position
        resolve(this.#position)
      }
      this.#read(reading.signal, begun).catch(reject)
    })
    // Whoever waits for it gets the error; it is in the log already.
    this.#begun.catch(() => {})
  }

  #stop(): void {
    this.#cancelLinger()
    this.#reading?.abort()
    this.#reading = null
    this.#entries = []
    this.#size = 0
    this.#position = null
  }

  async #read(signal: AbortSignal, begun: (position: number) => void): Promise<void> {
    const { control, clock, failed } = this.#options
    while (!signal.aborted) {
      try {
        const after = this.#position
        for await (const change of control.watch({ signal, begun, ...(after === null ? {} : { after }) })) {
          if (signal.aborted) return
          this.#append(change)
        }
        // The engine has stopped: there is nothing more to hear.
        return
      } catch (error) {
        failed(error)
        await sleep(clock, retryMs, signal)
      }
    }
  }

  #append(change: Change): void {
    const entry = new Entry(this.#end, this.#position ?? change.position, change)
    this.#entries.push(entry)
    this.#end += 1
    this.#size += entry.size
    this.#position = change.position
    while (this.#entries.length > 1 && (this.#entries.length > this.#options.entriesMax || this.#size > sizeMax)) {
      this.#size -= this.#entries.shift()?.size ?? 0
    }
    for (const hearer of [...this.#hearers]) hearer()
  }
}
