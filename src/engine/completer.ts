import type { Clock } from '../clock.ts'
import { sleep } from '../clock.ts'
import { isSluiceError, messageOf, SluiceError } from '../errors.ts'
import type { Limits } from '../limits.ts'
import { SeenIds } from '../seen-ids.ts'
import type { Move, Store, Verdict } from '../store.ts'
import type { Trouble } from './trouble.ts'

/** Children in one group, and waiting in all, each times what one move may have: a group is a short write, and memory is bounded. */
const birthsMax = 10
const burdenMax = 20

/** Gathers moves into groups: the next group goes out when the last one has returned. */
export class Completer {
  readonly #store: Store
  readonly #clock: Clock
  readonly #limits: Limits
  readonly #name: string
  readonly #trouble: Trouble
  readonly #onSaved: (move: Move) => void
  readonly #listeners = new Set<(saved: readonly Move[]) => void>()
  #queue: Waiting[] = []
  /** Children that wait to be written, in the queue or in the group that is on its way. */
  #births = 0
  #onRelief = () => {}
  #busy = false
  #operations = 0
  #ended = false

  constructor(
    store: Store,
    clock: Clock,
    limits: Limits,
    name: string,
    trouble: Trouble,
    onSaved: (move: Move) => void,
  ) {
    this.#trouble = trouble
    this.#store = store
    this.#clock = clock
    this.#limits = limits
    this.#name = name
    this.#onSaved = onSaved
  }

  /** How many moves wait for their verdict. */
  get waiting(): number {
    return this.#queue.length
  }

  /** The store does not answer: a group is sent again and again. */
  get isRepeating(): boolean {
    return this.#trouble.isOn
  }

  commit(move: Move): Promise<Verdict> {
    return new Promise((resolve, reject) => {
      this.#births += move.children.length
      this.#queue.push({ move, asker: { answer: resolve, fail: reject }, position: 0 })
      this.#begin()
    })
  }

  /** The same for many, with one promise for all of them. They may go out in several groups. */
  commitAll(moves: readonly Move[]): Promise<readonly Verdict[]> {
    if (moves.length === 0) return Promise.resolve([])
    return new Promise((resolve, reject) => {
      this.#add(moves, new Askers(moves.length, resolve, reject))
      this.#begin()
    })
  }

  #add(moves: readonly Move[], asker: Asker): void {
    for (let position = 0; position < moves.length; position += 1) {
      const move = moves[position] as Move
      this.#births += move.children.length
      this.#queue.push({ move, asker, position })
    }
  }

  /** More children wait to be written than should be kept in memory: nothing new is begun until some are. */
  get isBurdened(): boolean {
    return this.#births >= burdenMax * this.#limits.spawnMax
  }

  #relieve(group: readonly Waiting[]): void {
    const wasBurdened = this.isBurdened
    for (const { move } of group) this.#births -= move.children.length
    if (wasBurdened && !this.isBurdened) this.#onRelief()
  }

  /** Told when it is burdened no more. */
  onRelief(callback: () => void): void {
    this.#onRelief = callback
  }

  #begin(): void {
    if (this.#busy) return
    this.#busy = true
    // All that ends in this turn of the event loop goes out together.
    this.#clock.soon(() => void this.#run())
  }

  /** Tells of every group's saved moves, once they are durable. Returns a function that ends it. */
  listen(listener: (saved: readonly Move[]) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Nothing is sent again from now on: what has no answer yet is unknown to whoever waits for it, neither done nor not done. */
  end(): void {
    this.#ended = true
    for (const listener of this.#listeners) listener([])
  }

  get isEnded(): boolean {
    return this.#ended
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      const group = this.#nextGroup()
      const moves: Move[] = []
      for (const { move } of group) moves.push(move)
      let verdicts: readonly Verdict[]
      try {
        verdicts = await this.#send(moves)
      } catch (error) {
        this.#relieve(group)
        for (const { asker } of group) asker.fail(error)
        continue
      }
      this.#relieve(group)
      for (let index = 0; index < group.length; index += 1) {
        const { move, asker, position } = group[index] as Waiting
        const verdict = verdicts[index] as Verdict
        if (verdict.kind === 'saved') this.#onSaved(move)
        asker.answer(verdict, position)
      }
      this.#tell(group, verdicts)
    }
    this.#busy = false
  }

  #tell(group: readonly Waiting[], verdicts: readonly Verdict[]): void {
    if (this.#listeners.size === 0) return
    const saved: Move[] = []
    for (let index = 0; index < group.length; index += 1) {
      if (verdicts[index]?.kind === 'saved') saved.push((group[index] as Waiting).move)
    }
    for (const listener of this.#listeners) listener(saved)
  }

  /** At most one move of an entity in a group: the second proves what the first leaves. */
  #nextGroup(): Waiting[] {
    const group: Waiting[] = []
    const later: Waiting[] = []
    const seen = new SeenIds()
    let births = 0
    for (const waiting of this.#queue) {
      const spawned = waiting.move.children.length
      const fits = group.length === 0 || births + spawned <= birthsMax * this.#limits.spawnMax
      if (fits && group.length < this.#limits.commitMax && seen.add(waiting.move.id)) {
        group.push(waiting)
        births += spawned
      } else later.push(waiting)
    }
    this.#queue = later
    return group
  }

  /**
   * Unknown is answered by repeating the same operation, never by guessing. Only a group that the store refuses as a
   * whole is halved, until the refused move stands alone.
   */
  async #send(moves: readonly Move[]): Promise<readonly Verdict[]> {
    const operation = `${this.#name}-${++this.#operations}`
    for (;;) {
      try {
        const verdicts = await this.#store.commit(operation, moves)
        this.#trouble.over()
        return verdicts
      } catch (error) {
        if (isSluiceError(error, 'invalid') || isSluiceError(error, 'unsupported')) return this.#halve(moves, error)
        if (this.#ended) throw unknown(error)
        await sleep(this.#clock, this.#trouble.failed(error))
      }
    }
  }

  async #halve(moves: readonly Move[], error: unknown): Promise<readonly Verdict[]> {
    if (moves.length === 1) return [{ kind: 'refused', message: messageOf(error) }]
    const middle = Math.ceil(moves.length / 2)
    return [...(await this.#send(moves.slice(0, middle))), ...(await this.#send(moves.slice(middle)))]
  }
}

function unknown(error: unknown): SluiceError {
  const message = `The engine was stopped before the store answered (${messageOf(error)}): whether it was done is unknown. Look again.`
  return new SluiceError('internal', message, {}, error)
}

interface Waiting {
  readonly move: Move
  readonly asker: Asker
  /** Among the moves that were asked for together. */
  readonly position: number
}

interface Asker {
  answer(verdict: Verdict, position: number): void
  fail(error: unknown): void
}

/** Whoever asked for many at once: answered when all of them are. */
class Askers implements Asker {
  readonly #verdicts: Verdict[]
  readonly #resolve: (verdicts: readonly Verdict[]) => void
  readonly fail: Asker['fail']
  #open: number

  constructor(count: number, resolve: (verdicts: readonly Verdict[]) => void, fail: Asker['fail']) {
    this.#verdicts = new Array(count)
    this.#open = count
    this.#resolve = resolve
    this.fail = fail
  }

  answer(verdict: Verdict, position: number): void {
    this.#verdicts[position] = verdict
    this.#open -= 1
    if (this.#open === 0) this.#resolve(this.#verdicts)
  }
}
