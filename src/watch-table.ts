import type { EntityId } from './entity.ts'

/** One run that must not outlast its deadline. */
export interface Watched {
  readonly id: EntityId
  readonly epoch: number
  readonly deadline: number
}

const fields = 3

/**
 * The runs that the heart's thread watches, in memory that both threads see: writing down a run costs nanoseconds, and the
 * thread sees it even if the event loop is blocked from then on. Each slot has a version that is odd while it is written.
 */
export class WatchTable {
  readonly buffer: SharedArrayBuffer
  readonly size: number
  readonly #versions: Int32Array
  readonly #values: Float64Array

  constructor(buffer: SharedArrayBuffer) {
    this.buffer = buffer
    this.size = Math.floor(buffer.byteLength / (8 * fields + 8))
    this.#values = new Float64Array(buffer, 0, this.size * fields)
    this.#versions = new Int32Array(buffer, this.size * fields * 8, this.size)
  }

  static ofSize(slots: number): WatchTable {
    return new WatchTable(new SharedArrayBuffer(slots * (8 * fields + 8)))
  }

  /** A deadline of 0 empties the slot. */
  set(slot: number, id: EntityId, epoch: number, deadline: number): void {
    Atomics.add(this.#versions, slot, 1)
    this.#values[slot * fields] = id
    this.#values[slot * fields + 1] = epoch
    this.#values[slot * fields + 2] = deadline
    Atomics.add(this.#versions, slot, 1)
  }

  /** Null: the slot is empty, or is being written and will be read at the next look. */
  get(slot: number): Watched | null {
    const version = Atomics.load(this.#versions, slot)
    const deadline = this.#values[slot * fields + 2]!
    if (deadline === 0) return null
    const [id, epoch] = [this.#values[slot * fields]!, this.#values[slot * fields + 1]!]
    const isWhole = version % 2 === 0 && Atomics.load(this.#versions, slot) === version
    return isWhole ? { id, epoch, deadline } : null
  }
}
