import type { Control, Detail, ListFilter, ListPage } from '../control.ts'
import type { EntityId } from '../entity.ts'
import { rootLane } from '../entity.ts'
import { SluiceError } from '../errors.ts'
import type { Hold, HoldScope } from '../hold.ts'
import { emptyLane, type Lane } from '../lane.ts'
import type { Caller } from './access.ts'
import { collectionLabel, type Origin, type Origins } from './origins.ts'
import { noEntity } from './problem.ts'

/** An act on many is an entity of this machine: it belongs to whoever asked for it. */
export const walkName = 'walk'

/** Pages that a filtered list or count reads before it stops and says so. */
const pagesMax = 10

type Listed = ListPage['entities'][number]

/**
 * What a caller may see. To a token that is limited to collections everything else is as if it did not exist: ids answer as unknown ones
 * do, lists and counts leave it out.
 */
export class Collections {
  readonly #control: Control
  readonly #origins: Origins
  readonly #pageMax: number

  constructor(control: Control, origins: Origins, pageMax: number) {
    this.#control = control
    this.#origins = origins
    this.#pageMax = pageMax
  }

  // ---- Single entities ----

  async get(caller: Caller, id: EntityId): Promise<Detail> {
    const detail = await this.#control.get(id)
    if (isSeen(caller, caller.collections && (await this.#origins.ofSeen(detail)))) return detail
    throw noEntity(id)
  }

  async refuseForeign(caller: Caller, id: EntityId): Promise<void> {
    if (!(await this.sees(caller, id))) throw noEntity(id)
  }

  async sees(caller: Caller, id: EntityId): Promise<boolean> {
    if (caller.collections === null) return true
    return isSeen(caller, await this.#origins.of(id))
  }

  /** The ones of these that the caller may see. */
  async seen<T>(caller: Caller, items: readonly T[], idOf: (item: T) => EntityId): Promise<readonly T[]> {
    if (caller.collections === null) return items
    const flags = await Promise.all(items.map((item) => this.sees(caller, idOf(item))))
    return items.filter((_, index) => flags[index])
  }

  // ---- Making ----

  /** The collection of something new: the one that was asked for, or the only one that the caller has. */
  ownCollection(caller: Caller, asked: string | null): string | null {
    const { collections } = caller
    if (collections === null) return asked
    if (asked === null && collections.length === 1) return collections[0] as string
    if (asked !== null && collections.includes(asked)) return asked
    const said = asked === null ? 'None was named' : `It was ${JSON.stringify(asked)}`
    throw new SluiceError(
      'forbidden',
      `Name a collection of this token: ${collections.join(', ')}. ${said}; nothing was stored.`,
      { collection: asked, collections },
    )
  }

  /** Data of a new root, with its collection if the caller has only one. */
  async dataFor(caller: Caller, machine: string, data: unknown): Promise<unknown> {
    if (caller.collections === null) return data
    const isLabelled = (await this.#control.machines()).some(
      ({ name, labels }) => name === machine && labels.includes(collectionLabel),
    )
    const isObject = typeof data === 'object' && data !== null && !Array.isArray(data)
    if (!isLabelled || !isObject) {
      throw new SluiceError(
        'forbidden',
        `This token is limited to collections, and ${machine} knows none: submit with another token.`,
        { machine },
      )
    }
    const said = (data as Readonly<Record<string, unknown>>)[collectionLabel]
    const asked = typeof said === 'string' ? said : null
    return { ...data, [collectionLabel]: this.ownCollection(caller, asked) }
  }

  /**
   * Keys are shared by all. What is not this caller's is not told to it, and does not pass for what it asked for: it learns only that the
   * key is taken.
   */
  async refuseTaken(
    caller: Caller,
    made: readonly { readonly id: EntityId; readonly existing: boolean }[],
  ): Promise<void> {
    for (const [index, { id, existing }] of made.entries()) {
      if (!existing || (await this.sees(caller, id))) continue
      const others = made.length === 1 ? 'Nothing was stored.' : 'The others were stored.'
      const which = made.length === 1 ? 'The key' : `The key of item ${index}`
      throw new SluiceError('conflict', `${which} is taken. ${others} Use another key.`)
    }
  }

  // ---- Lists and counts ----

  async list(caller: Caller, filter: ListFilter): Promise<ListPage> {
    const { collections } = caller
    if (collections === null) return this.#control.list(filter)
    const { parent } = filter
    if (parent !== undefined && parent !== null) {
      await this.refuseForeign(caller, parent)
      return this.#sieved(caller, filter)
    }
    if (filter.label === undefined && filter.spawnedBy === undefined && (await this.#isLabelled(filter.machine))) {
      return this.#merged(collections, filter)
    }
    return this.#sieved(caller, filter)
  }

  /** Counted root by root for a limited token, as the lanes of roots count all collections together. */
  async totals(caller: Caller): Promise<{ readonly lanes: readonly Lane[]; readonly exact: boolean }> {
    if (caller.collections === null) return { lanes: await this.#control.totals(), exact: true }
    const lanes = new Map<string, Lane>()
    let after: EntityId | undefined
    for (let pages = 0; pages < pagesMax; pages += 1) {
      const page = await this.list(caller, {
        parent: null,
        limit: this.#pageMax,
        newestFirst: true,
        ...(after === undefined ? {} : { after }),
      })
      for (const entity of page.entities) countIn(lanes, entity)
      if (page.next === null) return { lanes: [...lanes.values()], exact: true }
      after = page.next
    }
    return { lanes: [...lanes.values()], exact: false }
  }

  async #isLabelled(machine: string | undefined): Promise<boolean> {
    const machines = await this.#control.machines()
    return machines.some(
      ({ name, labels }) => (machine === undefined || name === machine) && labels.includes(collectionLabel),
    )
  }

  /** One list for each collection, merged by id: each is read by its index. */
  async #merged(collections: readonly string[], filter: ListFilter): Promise<ListPage> {
    const limit = filter.limit ?? this.#pageMax
    const pages = await Promise.all(
      collections.map((value) => this.#control.list({ ...filter, limit, label: { name: collectionLabel, value } })),
    )
    const sign = filter.newestFirst ? -1 : 1
    const entities = pages.flatMap((page) => page.entities).sort((one, other) => sign * (one.id - other.id))
    const isMore = entities.length > limit || pages.some((page) => page.next !== null)
    const cut = entities.slice(0, limit)
    return { entities: cut, next: isMore ? (cut.at(-1)?.id ?? null) : null }
  }

  /** Reads on until the page is full or long enough was read; then `next` says where to go on, also from a short page. */
  async #sieved(caller: Caller, filter: ListFilter): Promise<ListPage> {
    const limit = filter.limit ?? this.#pageMax
    const entities: Listed[] = []
    let { after } = filter
    for (let pages = 0; ; pages += 1) {
      const page = await this.#control.list({ ...filter, limit, ...(after === undefined ? {} : { after }) })
      for (const [index, entity] of page.entities.entries()) {
        if (!isSeen(caller, await this.#origins.ofSeen(entity))) continue
        entities.push(entity)
        const isLast = index === page.entities.length - 1 && page.next === null
        if (entities.length === limit) return { entities, next: isLast ? null : entity.id }
      }
      if (page.next === null || pages + 1 >= pagesMax || filter.spawnedBy) return { entities, next: page.next }
      after = page.next
    }
  }

  // ---- Acting on many, and holding ----

  /** The filter of an act on many, kept within what the caller may see. */
  async confined(caller: Caller, filter: ListFilter): Promise<ListFilter> {
    const { collections } = caller
    if (collections === null) return filter
    if (filter.parent !== undefined && filter.parent !== null) {
      await this.refuseForeign(caller, filter.parent)
      return filter
    }
    const named = filter.label?.name === collectionLabel ? filter.label.value : null
    if (filter.label !== undefined && named === null) {
      throw new SluiceError(
        'forbidden',
        `This token is limited to collections: act on many by parent, or by the label ${collectionLabel}.`,
        { label: filter.label },
      )
    }
    return { ...filter, label: { name: collectionLabel, value: this.ownCollection(caller, named) as string } }
  }

  async seenHolds(caller: Caller, holds: readonly Hold[]): Promise<readonly Hold[]> {
    if (caller.collections === null) return holds
    const flags = await Promise.all(holds.map(({ scope }) => this.#isOwnScope(caller, scope)))
    return holds.filter((_, index) => flags[index])
  }

  async refuseForeignScope(caller: Caller, scope: HoldScope): Promise<void> {
    if (caller.collections === null || (await this.#isOwnScope(caller, scope))) return
    const foreign = scope.entity ?? scope.parent
    if (foreign !== undefined) throw noEntity(foreign)
    throw new SluiceError(
      'forbidden',
      `This token is limited to collections: hold an entity, a parent, or the label ${collectionLabel} of one of them.`,
      { scope },
    )
  }

  async #isOwnScope(caller: Caller, { entity, parent, label }: HoldScope): Promise<boolean> {
    if (entity !== undefined) return this.sees(caller, entity)
    if (parent !== undefined) return this.sees(caller, parent)
    return label?.name === collectionLabel && (caller.collections?.includes(label.value) ?? true)
  }
}

/** Whether somebody who is limited sees what belongs there. */
export function isSeen(caller: Pick<Caller, 'collections' | 'actor'>, origin: Origin | null): boolean {
  if (caller.collections === null) return true
  if (origin === null) return false
  if (origin.rootMachine === walkName) return origin.createdBy === caller.actor
  return origin.collection !== null && caller.collections.includes(origin.collection)
}

function countIn(lanes: Map<string, Lane>, { machine, version, state, settled }: Listed): void {
  const name = rootLane(machine, version)
  const lane = lanes.get(name) ?? emptyLane(null, name, machine, version, [])
  const counts = { ...lane.counts, [state]: (lane.counts[state] ?? 0) + 1 }
  lanes.set(name, { ...lane, counts, total: lane.total + 1, open: lane.open + (settled ? 0 : 1) })
}
