import type { Logger } from 'pino'
import type { Engine, EngineOptions } from '../../engine/engine.ts'
import type { Implementation } from '../../implementation.ts'
import type { Limits } from '../../limits.ts'
import type { Store } from '../../store.ts'
import type { Faults } from './faults.ts'
import { Host } from './host.ts'
import type { Observer } from './observer.ts'
import { StoreLink } from './store-link.ts'
import type { Owner, World } from './world.ts'

export interface FleetParts {
  readonly world: World
  readonly faults: Faults
  readonly store: Store
  readonly observer: Observer
  /** What the supervisor and the network do: never paused, never gone. */
  readonly outside: Owner
  readonly limits: Partial<Limits>
  readonly log: Logger
  engine(options: EngineOptions): Engine
  implementations(host: Host): readonly Implementation[]
}

/** The processes that share the store, and the supervisor that starts a new one for each that is gone. */
export class Fleet {
  readonly #parts: FleetParts
  readonly #places: Host[] = []
  #lives = 0

  constructor(parts: FleetParts, size: number) {
    this.#parts = parts
    for (let place = 0; place < size; place++) this.#places.push(this.#start(place))
  }

  get hosts(): readonly Host[] {
    return this.#places
  }

  /** One that people can talk to; null if none is up. */
  serving(): Host | null {
    const serving = this.#places.filter((host) => host.isServing)
    return serving.length === 0 ? null : this.#parts.world.random.pick(serving)
  }

  crash(host: Host): void {
    if (host.status === 'gone') return
    host.die()
    this.#replace(host)
  }

  pause(host: Host, durationMs: number): void {
    const { world, outside } = this.#parts
    if (host.status !== 'up') return
    host.status = 'paused'
    world.after(durationMs, outside, `resume ${host.name}`, () => this.resume(host))
  }

  resume(host: Host): void {
    if (host.status !== 'paused') return
    host.status = 'up'
    this.#parts.world.unpark(host)
  }

  /** Graceful: the process ends a little after the engine says that it has, when those who asked have their answers. */
  stop(host: Host): void {
    if (!host.isServing) return
    const { world, outside } = this.#parts
    host.stopping = true
    const ended = () => {
      world.after(world.random.between(0, 300), outside, `end ${host.name}`, () => this.crash(host))
    }
    host.engine.stop().then(ended, ended)
  }

  #replace(host: Host): void {
    const { world, outside } = this.#parts
    const place = this.#places.indexOf(host)
    if (place < 0) return
    world.after(world.random.between(1, 1_500), outside, `start ${place}`, () => {
      this.#places[place] = this.#start(place)
    })
  }

  #start(place: number): Host {
    const { world, faults, store, observer, outside, limits, log, engine, implementations } = this.#parts
    this.#lives += 1
    const host = new Host(world, `p${place}.${this.#lives}`)
    // No two machines agree on the time.
    host.clock.offsetMs = world.random.between(-2_000, 2_000)
    const link = new StoreLink(world, faults, host, outside, store, observer)
    const options = {
      store: link,
      implementations: implementations(host),
      clock: host.clock,
      limits,
      log,
      name: host.name,
      host: host.name,
    }
    host.start(link, engine(options), () => this.crash(host))
    return host
  }
}
