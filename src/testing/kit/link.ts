import type { EntityId } from '../../entity.ts'
import type { Heart, HeartRequest, Move, Release, Signal, Store, Verdict } from '../../store.ts'
import type { Moment, Witness } from './moment.ts'
import type { Process } from './process.ts'

/** What a link tells whoever runs the processes. */
export interface LinkListener {
  readonly witness: Witness
  /** Something was changed in the store. */
  changed(): void
  /** An entity will be purged at this time. */
  purgesAt(time: number): void
  /** Dead workers were looked for, and what they held was released. */
  buried(): void
  heart(request: HeartRequest): Heart
}

/**
 * One process's connection to the store. A process that dies before a call never made it; one that dies after it has changed
 * the store, and never hears of it.
 */
export class Link implements Store {
  readonly #store: Store
  readonly #process: Process
  readonly #listener: LinkListener
  readonly #machines = new Map<EntityId, string>()
  #unlisten: (() => void)[] = []

  constructor(store: Store, process: Process, listener: LinkListener) {
    this.#store = store
    this.#process = process
    this.#listener = listener
  }

  cut(): void {
    for (const unlisten of this.#unlisten.splice(0)) unlisten()
  }

  time: Store['time'] = () => this.#store.time()
  migrate: Store['migrate'] = () => this.#read(() => this.#store.migrate())
  define: Store['define'] = (machines) => this.#read(() => this.#store.define(machines))
  get: Store['get'] = (ids) => this.#read(() => this.#store.get(ids))
  list: Store['list'] = (filter) => this.#read(() => this.#store.list(filter))
  due: Store['due'] = (limit, machines) => this.#read(() => this.#store.due(limit, machines))
  lanes: Store['lanes'] = (parents) => this.#read(() => this.#store.lanes(parents))
  events: Store['events'] = (query) => this.#read(() => this.#store.events(query))
  pools: Store['pools'] = (names) => this.#read(() => this.#store.pools(names))
  workers: Store['workers'] = () => this.#read(() => this.#store.workers())
  tombstones: Store['tombstones'] = (ids) => this.#read(() => this.#store.tombstones(ids))

  create: Store['create'] = (operation, births) => {
    for (const { wait } of births) if (wait.for === 'purge') this.#listener.purgesAt(wait.at)
    return this.#write(
      () => this.#store.create(operation, births),
      () => `the creation of ${births.length} entities`,
    )
  }

  claim: Store['claim'] = (request) =>
    this.#write(
      () => this.#store.claim(request),
      ({ entities }) => {
        for (const { id, machine } of entities) this.#machines.set(id, machine)
        return entities.length === 0 ? null : `the claim of ${listText(entities.map(({ id }) => this.#nameOf(id)))}`
      },
    )

  commit: Store['commit'] = (operation, moves) => {
    for (const { wait } of moves) if (wait?.for === 'purge') this.#listener.purgesAt(wait.at)
    return this.#write(
      () => this.#store.commit(operation, moves),
      (verdicts) => this.#commitText(moves, verdicts),
    )
  }

  renew: Store['renew'] = (renewal) =>
    this.#write(
      () => this.#store.renew(renewal),
      () => (renewal.id === null ? 'the registration of the worker' : null),
    )

  release: Store['release'] = (order) =>
    this.#write(
      () => this.#store.release(order),
      (ids) => this.#releaseText(order, ids),
    )

  recount: Store['recount'] = (parents, mend) =>
    this.#write(
      () => this.#store.recount(parents, mend),
      () => (mend ? 'a repair' : null),
    )

  holds: Store['holds'] = (change) =>
    this.#write(
      () => this.#store.holds(change),
      () => (change ? 'a change of holds' : null),
    )

  purge: Store['purge'] = (root, limit) =>
    this.#write(
      () => this.#store.purge(root, limit),
      () => `the purge of ${this.#nameOf(root)}`,
    )

  async close(): Promise<void> {
    this.cut()
  }

  signals(listener: (signal: Signal) => void): () => void {
    const unlisten = this.#store.signals?.((signal) => this.#process.pass(() => listener(signal))) ?? (() => {})
    this.#unlisten.push(unlisten)
    return unlisten
  }

  heart(request: HeartRequest): Heart {
    return this.#listener.heart(request)
  }

  #read<Answer>(act: () => Promise<Answer>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#process.pass(() => {
        act().then(
          (answer) => this.#process.pass(() => resolve(answer)),
          (error: unknown) => this.#process.pass(() => reject(error)),
        )
      })
    })
  }

  /** `describe` says what was changed; null: nothing was. */
  async #write<Answer>(act: () => Promise<Answer>, describe: (answer: Answer) => string | null): Promise<Answer> {
    const process = this.#process
    const { witness } = this.#listener
    await process.goesOn()
    const before: Moment = { process, name: 'before a call that changes nothing', matters: false }
    witness(before)
    await process.goesOn()
    return this.#read(async () => {
      const answer = await act()
      const what = describe(answer)
      if (what !== null) {
        this.#listener.changed()
        before.name = `before ${what}`
        before.matters = true
        witness({ process, name: `after ${what}`, matters: true })
      }
      return answer
    })
  }

  #nameOf(id: EntityId): string {
    return `${this.#machines.get(id) ?? 'entity'} ${id}`
  }

  #commitText(moves: readonly Move[], verdicts: readonly Verdict[]): string | null {
    const saved = moves.filter((_, index) => verdicts[index]?.kind === 'saved')
    if (saved.length === 0) return null
    return `the commit of ${listText(saved.map((move) => `${this.#nameOf(move.id)} (${moveText(move)})`))}`
  }

  #releaseText(order: Release, ids: readonly EntityId[]): string | null {
    if (order.kind === 'dead') this.#listener.buried()
    if (order.kind === 'retire') return 'the end of the worker'
    if (ids.length === 0) return null
    return `the release (${order.kind}) of ${listText(ids.map((id) => this.#nameOf(id)))}`
  }
}

function moveText({ hops, checkpoint, cause }: Move): string {
  const [first] = hops
  if (first) return [first.from, ...hops.map((hop) => hop.to)].join(' -> ')
  return checkpoint ? 'a checkpoint' : cause
}

const namedMax = 3

function listText(names: readonly string[]): string {
  const more = names.length - namedMax
  return more > 0 ? `${names.slice(0, namedMax).join(', ')} and ${more} more` : names.join(', ')
}
