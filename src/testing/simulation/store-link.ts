import type { Signal, Store } from '../../store.ts'
import type { Verb } from './calls.ts'
import type { Faults } from './faults.ts'
import type { Observer } from './observer.ts'
import type { Owner, World } from './world.ts'

/**
 * One process's connection to the store. Every call and every answer is a callback of its own, so that anything may happen between them:
 * calls and answers overtake each other, get lost with the process, or fail before, after or without having been done.
 */
export class StoreLink implements Store {
  readonly #world: World
  readonly #faults: Faults
  readonly #owner: Owner
  /** Carries what has left the process, and so outlives it. */
  readonly #wire: Owner
  readonly #store: Store
  readonly #observer: Observer
  #unlisten: (() => void)[] = []

  constructor(world: World, faults: Faults, owner: Owner, wire: Owner, store: Store, observer: Observer) {
    this.#world = world
    this.#faults = faults
    this.#owner = owner
    this.#wire = wire
    this.#store = store
    this.#observer = observer
  }

  /** The process is gone: nobody listens any more. */
  cut(): void {
    for (const unlisten of this.#unlisten.splice(0)) unlisten()
  }

  time: Store['time'] = () => this.#store.time()
  migrate: Store['migrate'] = () => this.#call('migrate', [], () => this.#store.migrate())
  define: Store['define'] = (...given) => this.#call('define', given, () => this.#store.define(...given))
  create: Store['create'] = (...given) => this.#call('create', given, () => this.#store.create(...given))
  get: Store['get'] = (...given) => this.#call('get', given, () => this.#store.get(...given))
  list: Store['list'] = (...given) => this.#call('list', given, () => this.#store.list(...given))
  claim: Store['claim'] = (...given) => this.#call('claim', given, () => this.#store.claim(...given))
  commit: Store['commit'] = (...given) => this.#call('commit', given, () => this.#store.commit(...given))
  renew: Store['renew'] = (...given) => this.#call('renew', given, () => this.#store.renew(...given))
  release: Store['release'] = (...given) => this.#call('release', given, () => this.#store.release(...given))
  due: Store['due'] = (...given) => this.#call('due', given, () => this.#store.due(...given))
  lanes: Store['lanes'] = (...given) => this.#call('lanes', given, () => this.#store.lanes(...given))
  recount: Store['recount'] = (...given) => this.#call('recount', given, () => this.#store.recount(...given))
  events: Store['events'] = (...given) => this.#call('events', given, () => this.#store.events(...given))
  holds: Store['holds'] = (...given) => this.#call('holds', given, () => this.#store.holds(...given))
  pools: Store['pools'] = (...given) => this.#call('pools', given, () => this.#store.pools(...given))
  workers: Store['workers'] = () => this.#call('workers', [], () => this.#store.workers())
  purge: Store['purge'] = (...given) => this.#call('purge', given, () => this.#store.purge(...given))
  tombstones: Store['tombstones'] = (...given) =>
    this.#call('tombstones', given, () => this.#store.tombstones(...given))

  async close(): Promise<void> {
    this.cut()
  }

  signals(listener: (signal: Signal) => void): () => void {
    const unlisten = this.#store.signals?.((signal) => this.#signal(signal, listener)) ?? (() => {})
    this.#unlisten.push(unlisten)
    return unlisten
  }

  #signal(signal: Signal, listener: (signal: Signal) => void): void {
    const fault = this.#faults.signal()
    if (fault === 'lost') return
    const delayMs = fault === 'late' ? this.#world.random.between(10, 2_000) : 0
    for (let times = fault === 'doubled' ? 2 : 1; times > 0; times--) {
      this.#world.after(delayMs, this.#owner, 'signal', () => listener(signal))
    }
  }

  #call<Answer>(verb: Verb, given: readonly unknown[], act: () => Promise<Answer>): Promise<Answer> {
    const fault = this.#faults.call()
    return new Promise<Answer>((resolve, reject) => {
      const lost = () =>
        this.#reply(verb, () => reject(new Error(`simulated: the connection was lost during ${verb} (${fault})`)))
      if (fault === 'late') lost()
      this.#world.after(
        this.#faults.latencyMs() + (fault === 'late' ? this.#world.random.below(300) : 0),
        this.#wire,
        verb,
        () => {
          if (this.#owner.status === 'gone' && !this.#survives()) return
          if (fault === 'before') return lost()
          const call = this.#observer.begin(this.#owner, verb, given)
          act().then(
            (answer) => {
              this.#observer.answered(call, answer)
              if (fault === 'after') lost()
              else if (fault === 'none') this.#reply(verb, () => resolve(answer))
            },
            (error: unknown) => {
              this.#observer.refused(call)
              if (fault === 'none') this.#reply(verb, () => reject(error))
              else if (fault === 'after') lost()
            },
          )
        },
      )
    })
  }

  /** What a process had just sent when it died may have left it, or not. */
  #survives(): boolean {
    const survives = this.#world.random.chance(0.5)
    this.#faults.count(survives ? 'crash_after_apply' : 'crash_before_apply')
    return survives
  }

  #reply(verb: Verb, reply: () => void): void {
    this.#world.after(this.#faults.latencyMs(), this.#owner, `${verb} answered`, reply)
  }
}
