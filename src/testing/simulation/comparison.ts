import type { EntityId } from '../../entity.ts'
import type { Move, Release, Store } from '../../store.ts'
import type { Calls } from './calls.ts'
import type { WorkloadRules } from './facts.ts'
import { type Judge, nameOf } from './judge.ts'
import type { Known, Model } from './model.ts'

/** Compares what the store says with what the model knows: rows that were touched, the lanes that count them, the pools they share. */
export class Comparison {
  readonly #store: Store
  readonly #model: Model
  readonly #calls: Calls
  readonly #judge: Judge
  readonly #rules: WorkloadRules
  readonly #touched = new Set<EntityId>()
  /** Whose leases were ended without a move, and what was saved, since the last comparison. */
  readonly #releases = new Map<EntityId, Release['kind']>()
  readonly #saved = new Map<EntityId, Move | null>()
  /** Moves without hops that were under way when their row was read: the row may have shown their effect before their answer. */
  readonly #early = new WeakSet<Move>()
  #purged = false

  constructor(store: Store, model: Model, calls: Calls, judge: Judge, rules: WorkloadRules) {
    this.#store = store
    this.#model = model
    this.#calls = calls
    this.#judge = judge
    this.#rules = rules
  }

  touch(id: EntityId): void {
    this.#touched.add(id)
  }

  released(id: EntityId, kind: Release['kind']): void {
    this.#touched.add(id)
    this.#releases.set(id, kind)
  }

  saved(move: Move): void {
    this.#touched.add(move.id)
    // The rows before and after it do not show what this move did: another move is between them, or the row before shows its effect.
    const isUnclear = this.#saved.has(move.id) || this.#early.has(move)
    this.#saved.set(move.id, isUnclear ? null : move)
  }

  /** Some of this tree may be gone. */
  purged(root: EntityId): void {
    this.#model.purging.add(root)
    this.#purged = true
  }

  async compare(): Promise<void> {
    if (this.#purged) this.#touchPurged()
    if (this.#touched.size === 0) return
    const ids = [...this.#touched]
    this.#touched.clear()
    const rows = await this.#store.get(ids)
    const parents = new Set<EntityId | null>()
    const gone: Known[] = []
    let isSharing = false
    for (const [index, row] of rows.entries()) {
      const known = this.#model.find(ids[index]!)
      if (!known) {
        this.#judgeUnknown(ids[index]!)
        continue
      }
      if (!row) gone.push(known)
      else {
        const released = this.#releases.get(row.id) ?? null
        const isUnderWay = this.#calls.underWay(row.id).length > 0
        const saved = this.#savedAlone(row.id)
        const fact = { row, before: known.row, known, model: this.#model, released, saved, isUnderWay }
        known.row = row
        this.#judge.check('row', fact, () => nameOf(known))
      }
      parents.add(known.parent)
      isSharing ||= this.#rules.shares.some(({ machine }) => machine === known.machine.name)
    }
    this.#releases.clear()
    this.#saved.clear()
    this.#forget(gone)
    if (isSharing) await this.#comparePools()
    await this.#compareLanes(parents)
  }

  /** The one move that was saved since the row was last read. Null: none, or another one may have changed the row as well. */
  #savedAlone(id: EntityId): Move | null {
    const saved = this.#saved.get(id) ?? null
    // A move with hops is seen in the feed when it is applied. One without hops is seen when it is answered.
    const others = this.#calls.underWay(id).filter((move) => move !== saved && move.hops.length === 0)
    for (const move of others) this.#early.add(move)
    return others.length === 0 ? saved : null
  }

  #judgeUnknown(id: EntityId): void {
    if (this.#model.purged.has(id)) return
    this.#judge.complain('G6 durability', `Entity ${id} was acknowledged, and never born.`)
  }

  #touchPurged(): void {
    this.#purged = false
    for (const known of this.#model.all) if (this.#model.isPurging(known)) this.#touched.add(known.id)
  }

  #forget(gone: readonly Known[]): void {
    const unasked = gone.find((known) => !this.#model.isPurging(known))
    if (unasked) this.#judge.complainOf('G6 durability', unasked, 'It is gone, and nobody purged it.')
    for (const known of gone) this.#model.forget(known)
  }

  async #comparePools(): Promise<void> {
    const { pools, shares } = this.#rules
    for (const { name, taken } of await this.#store.pools(Object.keys(pools))) {
      this.#judge.check('pool', { name, max: pools[name]!, taken }, () => 'the store says')
    }
    for (const { pool, machine, states, amount } of shares) {
      let taken = 0
      for (const known of this.#model.all) {
        if (known.machine.name === machine && states.includes(known.state)) taken += amount(JSON.parse(known.row.data))
      }
      this.#judge.check('pool', { name: pool, max: pools[pool]!, taken }, () => 'counted by states')
    }
  }

  async #compareLanes(parents: ReadonlySet<EntityId | null>): Promise<void> {
    const asked = [...parents].filter((parent) => {
      const known = parent === null ? undefined : this.#model.find(parent)
      return parent === null || (known && !this.#model.isPurging(known))
    })
    if (asked.length === 0) return
    let said = 0
    for (const lane of await this.#store.lanes(asked)) {
      const tally = this.#model.tally(lane.parent, lane.name)
      if (tally) said += 1
      this.#judge.check('lane', { lane, tally }, () => `lane ${lane.name} of ${lane.parent ?? 'the roots'}`)
    }
    const kept = asked.reduce<number>((sum, parent) => sum + this.#model.lanesOf(parent).size, 0)
    if (said !== kept)
      this.#judge.complain('G9 conservation', `${kept - said} lanes of ${asked.join(', ')} are not there.`)
  }

  /** Everything once more, from the beginning: rows, lanes, whole histories. */
  async recount(): Promise<void> {
    const known = [...this.#model.all]
    for (const { id } of known) this.#touched.add(id)
    await this.compare()
    const parents = known.filter((one) => !this.#model.isPurging(one)).map(({ id }) => id)
    const [drift] = await this.#store.recount([null, ...parents], null)
    if (drift) this.#judge.complain('G9 conservation', `Recounting gives another figure: ${JSON.stringify(drift)}`)
    for (const one of this.#model.all) await this.#rereadHistory(one)
  }

  async #rereadHistory(known: Known): Promise<void> {
    let seq = 0
    let state = known.row.born
    for (;;) {
      const { moves } = await this.#store.events({ entity: known.id, afterSeq: seq, limit: 1_000 })
      if (moves.length === 0) break
      for (const move of moves) {
        const from = move.hops[0]?.from
        if (move.seq !== seq + 1 || from !== state) {
          this.#judge.complainOf('G2 chain', known, `Row ${move.seq} from ${from} follows row ${seq} in ${state}.`)
        }
        seq = move.seq
        state = move.hops.at(-1)!.to
      }
    }
    if (seq === known.seq && state === known.state) return
    this.#judge.complainOf('G6 durability', known, `Its history ends at seq ${seq} in ${state}.`)
  }
}
