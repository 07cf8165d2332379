import type { EntityId } from '../../entity.ts'
import type { MoveRecord } from '../../event.ts'
import type { Move, Store } from '../../store.ts'
import type { Calls } from './calls.ts'
import type { Comparison } from './comparison.ts'
import type { Applied, WorkloadRules } from './facts.ts'
import { recordText } from './gist.ts'
import { type Judge, nameOf } from './judge.ts'
import type { Known, Model } from './model.ts'
import type { World } from './world.ts'

/** Reads what was born and what moved, in the order of the commits, judges it and writes it into the model. */
export class FeedReader {
  readonly #world: World
  readonly #store: Store
  readonly #model: Model
  readonly #calls: Calls
  readonly #comparison: Comparison
  readonly #judge: Judge
  readonly #rules: WorkloadRules
  readonly #applied = new WeakMap<Move, Applied>()
  /** Ordinals that may have been staged: the checkpoint was sent. */
  readonly #perhapsStaged = new Map<EntityId, Set<number>>()
  #position = 0
  moves = 0

  constructor(
    world: World,
    store: Store,
    model: Model,
    calls: Calls,
    comparison: Comparison,
    judge: Judge,
    rules: WorkloadRules,
  ) {
    this.#world = world
    this.#store = store
    this.#model = model
    this.#calls = calls
    this.#comparison = comparison
    this.#judge = judge
    this.#rules = rules
  }

  /** Whether this move's record was seen. */
  wasApplied(move: Move): Applied {
    return this.#applied.get(move) ?? 'no'
  }

  /** A checkpoint was sent: what it stages may be there from now on. */
  sent(moves: readonly Move[]): void {
    this.#note(moves, this.#perhapsStaged)
  }

  /** It was saved: what it stages is there. */
  saved(moves: readonly Move[]): void {
    this.#note(moves, this.#model.staged)
  }

  #note(moves: readonly Move[], staged: Map<EntityId, Set<number>>): void {
    for (const { id, staging, children } of moves) {
      if (staging !== 'stage') continue
      const ordinals = staged.get(id) ?? new Set()
      for (const { ordinal } of children) if (!this.#model.spawnedBy(id).has(ordinal)) ordinals.add(ordinal)
      staged.set(id, ordinals)
    }
  }

  async read(): Promise<void> {
    const births: EntityId[] = []
    const records: MoveRecord[] = []
    for (;;) {
      const page = await this.#store.events({ after: this.#position, limit: 1_000 })
      if (page.moves.length === 0 && page.births.length === 0) break
      this.#position = page.position
      births.push(...page.births)
      records.push(...page.moves)
    }
    // One commit at most has passed since the last look: whoever it bore was there before whoever it moved.
    const born = births.length === 0 ? noneBorn() : await this.#bear(births)
    for (const record of records) this.#move(record, born, await this.#sent(record))
    for (const [source, ordinals] of born) {
      const message = `Children ${ordinals.join(', ')} appeared without a move of their source.`
      this.#judge.complainOf('G8 fan-out', source, message)
    }
  }

  /** The ordinals that appeared, by source. */
  async #bear(ids: readonly EntityId[]): Promise<Map<Known, number[]>> {
    const born = noneBorn()
    const rows = await this.#store.get(ids)
    for (const [index, row] of rows.entries()) {
      const machine = row && this.#model.machine(row.machine)
      if (!row || !machine) {
        this.#judge.complain('G6 durability', `Entity ${ids[index]} was born, and is not there.`)
        continue
      }
      const known = this.#model.bear(row, machine, this.#store.time())
      this.#comparison.touch(row.id)
      this.#world.trace.mix(row.id)
      if (row.source === null) {
        if (!this.#calls.wasSubmitted(row)) this.#judge.complainOf('G7 no phantom', known, 'Nobody submitted it.')
        continue
      }
      const source = this.#model.find(row.source)
      if (!source) {
        this.#judge.complainOf('G8 fan-out', known, `Its source ${row.source} is not there.`)
        continue
      }
      const ordinals = born.get(source) ?? []
      ordinals.push(row.ordinal ?? -1)
      born.set(source, ordinals)
    }
    return born
  }

  #move(record: MoveRecord, born: Map<Known, number[]>, sent: Sent | null): void {
    const model = this.#model
    const known = model.find(record.entity)
    if (!known) {
      this.#judge.complain('G7 no phantom', `Entity ${record.entity} moved, and was never born.`)
      return
    }
    this.moves += 1
    this.#world.trace.note(this.#world.now, 'store', `${nameOf(known)} ${record.cause}`, () => recordText(record))
    this.#world.trace.mix(record.seq * 31 + record.epoch)
    const invoked = this.#invocation(record, known, sent)
    const move = invoked?.move ?? null
    if (move) {
      this.#fanOut(known, move, born.get(known) ?? [])
      born.delete(known)
      for (const lane of move.opens) model.opened.set(`${move.id}/${lane}`, record.at)
      for (const lane of move.shuts) model.opened.delete(`${move.id}/${lane}`)
    }
    const edges = record.hops.map(({ transition, from, to }) =>
      known.machine.edges.find((edge) => edge.name === transition && edge.from === from && edge.to === to),
    )
    const sender = invoked?.sender ?? null
    const fact = { record, known, edges, move, sender, wasInvoked: invoked !== null, model, rules: this.#rules }
    this.#judge.check('move', fact, () => nameOf(known))
    for (const edge of edges) {
      if (edge?.on === 'children') model.joins.add(`${known.id} ${edge.name} ${record.generation}`)
    }
    if (move?.by !== 'lease' && record.cause !== 'claim') known.issued.set(record.epoch, 'outside')
    model.apply(known, record)
    this.#comparison.touch(known.id)
    if (move) this.#follow(known, move, record.at)
  }

  /**
   * The move whose record this is. Two processes may have decided to take the same hops at the same moment, on what each of them had read:
   * then it is the one whose data the row now has. Null: none was sent.
   */
  async #sent(record: MoveRecord): Promise<Sent | null> {
    const found = [...this.#calls.movesOf(record)].map(([move, { owner }]) => ({ move, sender: owner.name }))
    for (const { move } of found) this.#applied.set(move, found.length === 1 ? 'yes' : 'perhaps')
    const [first] = found
    if (found.length < 2) return first ?? null
    const before = this.#model.find(record.entity)?.row.data
    const [row] = await this.#store.get([record.entity])
    return found.find(({ move }) => (move.data ?? before) === row?.data) ?? first ?? null
  }

  /** Who asked for it, and by which move; a claim and a respawn are no moves of their own. Null: nobody did. */
  #invocation(record: MoveRecord, known: Known, sent: Sent | null): Sent | typeof unsent | null {
    switch (record.cause) {
      case 'claim':
        return this.#calls.isClaimed(record, known) ? unsent : null
      case 'respawn':
        return this.#calls.isRespawned(known) ? unsent : null
      default:
        return sent
    }
  }

  /** What the move did besides moving its entity. */
  #follow(known: Known, move: Move, at: number): void {
    this.#comparison.saved(move)
    if (move.lanes !== null) this.#model.order(known.id, move.lanes, at)
    for (const { ordinal } of move.children) {
      const id = this.#model.spawnedBy(known.id).get(ordinal)
      if (id !== undefined) this.#comparison.touch(id)
    }
  }

  /** All that it spawns appears now, and nothing else. */
  #fanOut(source: Known, move: Move, born: readonly number[]): void {
    const model = this.#model
    const spawned = model.spawnedBy(source.id)
    const before = new Set([...spawned.keys()].filter((ordinal) => !born.includes(ordinal)))
    const published = (ordinals: ReadonlySet<number> | undefined): readonly number[] =>
      move.staging === 'publish' ? [...(ordinals ?? [])].filter((ordinal) => ordinal < move.spawned) : []
    const own = move.staging === 'stage' ? [] : move.children.map(({ ordinal }) => ordinal)
    const perhaps = published(this.#perhapsStaged.get(source.id)).filter((ordinal) => born.includes(ordinal))
    const all = new Set([...own, ...published(model.staged.get(source.id)), ...perhaps])
    const expected = [...all].filter((ordinal) => !before.has(ordinal))
    // Whoever is spawned again has its own row before its source's: by now it has been reopened.
    const unopened = move.children.flatMap(({ ordinal, respawn }) => {
      const child = before.has(ordinal) ? model.find(spawned.get(ordinal) ?? -1) : undefined
      return child && move.staging !== 'stage' && respawn?.from.includes(child.state) ? [child.id] : []
    })
    this.#judge.check('fanOut', { source, born, expected, unopened }, () => nameOf(source))
    if (move.staging !== 'publish') return
    model.staged.delete(source.id)
    this.#perhapsStaged.delete(source.id)
  }
}

/** A move, and who sent it. */
interface Sent {
  readonly move: Move
  readonly sender: string
}

const noneBorn = (): Map<Known, number[]> => new Map()
const unsent = { move: null, sender: null }
