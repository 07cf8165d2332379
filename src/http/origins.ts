import type { Clock } from '../clock.ts'
import type { Control, Detail } from '../control.ts'
import type { EntityId } from '../entity.ts'
import { isSluiceError } from '../errors.ts'
import type { Machine } from '../machine.ts'

/** What an entity belongs to. */
export interface Origin {
  readonly machine: string
  /** Its own label `collection`, or that of the nearest above it that has one. */
  readonly collection: string | null
  /** Who made its root. */
  readonly createdBy: string | null
  readonly rootMachine: string
}

export const collectionLabel = 'collection'

/** Data can change, and the label with it: what is remembered is no older than a second. */
const freshMs = 1_000
const knownMax = 20_000
const depthMax = 32

type Seen = Pick<Detail, 'id' | 'machine' | 'version' | 'labels' | 'parent' | 'createdBy'>

/** Finds out where entities belong, and remembers it for a moment. */
export class Origins {
  readonly #control: Control
  readonly #clock: Clock
  readonly #known = new Map<EntityId, { readonly at: number; readonly origin: Promise<Origin | null> }>()

  constructor(control: Control, clock: Clock) {
    this.#control = control
    this.#clock = clock
  }

  /** Null: there is no such entity. */
  of(id: EntityId): Promise<Origin | null> {
    const now = this.#clock.now()
    const known = this.#known.get(id)
    if (known && now - known.at < freshMs) return known.origin
    const origin = this.#find(id, depthMax)
    this.#remember(id, now, origin)
    return origin
  }

  /** Of one that is at hand already. */
  async ofSeen(seen: Seen): Promise<Origin> {
    return this.#originOf(seen, depthMax)
  }

  #remember(id: EntityId, at: number, origin: Promise<Origin | null>): void {
    this.#known.delete(id)
    for (const oldest of this.#known.keys()) {
      if (this.#known.size < knownMax) break
      this.#known.delete(oldest)
    }
    this.#known.set(id, { at, origin })
    // A look that failed says nothing: the next one asks again.
    origin.catch(() => this.#known.delete(id))
  }

  async #find(id: EntityId, depth: number): Promise<Origin | null> {
    try {
      return await this.#originOf(await this.#control.get(id), depth)
    } catch (error) {
      if (isSluiceError(error, 'not_found')) return null
      throw error
    }
  }

  async #originOf(seen: Seen, depth: number): Promise<Origin> {
    const machines = await this.#control.machines()
    const own = labelOf(machines, seen)
    const above = seen.parent === null || depth === 0 ? null : await this.of(seen.parent)
    return {
      machine: seen.machine,
      collection: own ?? above?.collection ?? null,
      createdBy: above?.createdBy ?? seen.createdBy,
      rootMachine: above?.rootMachine ?? seen.machine,
    }
  }
}

function labelOf(machines: readonly Machine[], { machine, version, labels }: Seen): string | null {
  const declared = machines.find((one) => one.name === machine && one.version === version)
  const position = declared?.labels.indexOf(collectionLabel) ?? -1
  return position < 0 ? null : (labels[position] ?? null)
}
