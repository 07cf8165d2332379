import type { Engine } from '../../engine/engine.ts'
import { ProcessClock } from './process-clock.ts'
import type { StoreLink } from './store-link.ts'
import type { Owner, Task, World } from './world.ts'

/** One life of a simulated process: an engine with a clock and a connection of its own. After a crash there is another. */
export class Host implements Owner {
  readonly name: string
  readonly parked: Task[] = []
  readonly clock: ProcessClock
  status: 'up' | 'paused' | 'gone' = 'up'
  /** Asked to end; it may take its time. */
  stopping = false
  #link: StoreLink | null = null
  #engine: Engine | null = null

  constructor(world: World, name: string) {
    this.name = name
    this.clock = new ProcessClock(world, this)
  }

  get engine(): Engine {
    if (!this.#engine) throw new Error(`${this.name} was never started.`)
    return this.#engine
  }

  /** Runs as long as it is not crashed or stopped. A start that fails ends the process, as any supervisor would see it. */
  start(link: StoreLink, engine: Engine, onFailure: () => void): void {
    this.#link = link
    this.#engine = engine
    engine.start().catch(onFailure)
  }

  /** From one moment to the next: nothing that it had planned happens, nothing that it awaits arrives. */
  die(): void {
    this.status = 'gone'
    this.parked.length = 0
    this.#link?.cut()
  }

  get isServing(): boolean {
    return this.status === 'up' && !this.stopping && this.#engine !== null
  }
}
