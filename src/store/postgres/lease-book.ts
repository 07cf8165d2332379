import type { EntityId } from '../../entity.ts'
import type { Move, Verdict } from '../../store.ts'

/** Leases that others have ended are looked for after so many claims. */
const tidyEvery = 64

interface Group {
  readonly worker: number
  readonly number: number
  /** The lane of all of them, if they are roots of one machine. */
  readonly rootLane: number | null
  left: number
}

/**
 * Which claims of this process are over. A claim's entities stand together in one row of `claimed`; when the last of them has been
 * committed or given back here, the row is of no use any more and goes with the next claim.
 */
export class LeaseBook {
  readonly #groups = new Map<EntityId, Group>()
  #over: Group[] = []
  #begun = 0

  /** Once for so many claims. */
  isDue(): boolean {
    if (this.#begun < tidyEvery) return false
    this.#begun = 0
    return true
  }

  begun(worker: number, number: number, ids: readonly EntityId[], rootLane: number | null): void {
    this.#begun += 1
    const group: Group = { worker, number, rootLane, left: ids.length }
    for (const id of ids) {
      this.#leave(id)
      this.#groups.set(id, group)
    }
  }

  ended(moves: readonly Move[], verdicts: readonly Verdict[]): void {
    for (let index = 0; index < moves.length; index += 1) {
      const { id, keep, by } = moves[index]!
      // One that is stale may still be leased, if only its lane was stopped: it stays in the book.
      if (verdicts[index]!.kind === 'saved' && !keep && by !== 'aside') this.#leave(id)
    }
  }

  /** The lane in which all of these were claimed, if they are roots of one machine. */
  rootLaneOf(moves: readonly Move[]): number | null {
    const lane = this.#groups.get(moves[0]!.id)?.rootLane ?? null
    if (lane !== null) for (const { id } of moves) if (this.#groups.get(id)?.rootLane !== lane) return null
    return lane
  }

  released(ids: readonly EntityId[]): void {
    for (const id of ids) this.#leave(id)
  }

  /** Rows of `claimed` that may go, of this worker. */
  over(worker: number): readonly number[] {
    return this.#over.filter((group) => group.worker === worker).map(({ number }) => number)
  }

  /** They are gone. */
  removed(worker: number, numbers: readonly number[]): void {
    if (numbers.length === 0) return
    const gone = new Set(numbers)
    this.#over = this.#over.filter((group) => group.worker !== worker || !gone.has(group.number))
  }

  /** Claims that have not come to their end here, though others may have ended their leases: the oldest first. */
  lingering(worker: number): readonly number[] {
    const numbers = new Set<number>()
    for (const group of this.#groups.values()) if (group.worker === worker) numbers.add(group.number)
    return [...numbers].sort((one, other) => one - other)
  }

  forget(worker: number, numbers: ReadonlySet<number>): void {
    for (const [id, group] of this.#groups)
      if (group.worker === worker && numbers.has(group.number)) this.#groups.delete(id)
  }

  #leave(id: EntityId): void {
    const group = this.#groups.get(id)
    if (!group) return
    this.#groups.delete(id)
    group.left -= 1
    if (group.left === 0) this.#over.push(group)
  }
}
