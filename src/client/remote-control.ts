import { sleep } from '../clock.ts'
import type {
  ActOptions,
  ActResult,
  Change,
  Control,
  Detail,
  Explanation,
  HoldOptions,
  ListFilter,
  ListPage,
  ManyResult,
  Progress,
  Report,
  SubmitItem,
  SubmitOptions,
  Submitted,
  WatchOptions,
} from '../control.ts'
import { type EntityId, isAtEnd } from '../entity.ts'
import { SluiceError } from '../errors.ts'
import type { Event } from '../event.ts'
import type { Hold, HoldScope } from '../hold.ts'
import type { Lane } from '../lane.ts'
import type { Worker } from '../lease.ts'
import type { Machine } from '../machine.ts'
import type { Actor, Drift } from '../store.ts'
import { hearing, watching } from './feed.ts'
import { queryOf } from './filter-query.ts'
import type { Transport } from './transport.ts'

/** What an address can hold. */
const parentsMax = 500
/** Submitted in one request; a body of the API has a limit too. */
const itemsMax = 1_000
const itemsBytesMax = 512 * 1024
/** How often a settled entity is looked at of which something was asked. */
const askedMs = 250

/**
 * The control over a server. Who asks, and in which role, the server knows by the token: actor, role, owner and request id that are handed
 * over here are not sent.
 */
export class RemoteControl implements Control {
  readonly transport: Transport

  constructor(transport: Transport) {
    this.transport = transport
  }

  /** As declared. What checks their data stays on the server: `schema` is null. */
  async machines(): Promise<readonly Machine[]> {
    const { machines } = await this.transport.get<{ machines: readonly (Machine & { data: unknown })[] }>(
      '/api/machines',
    )
    return machines.map(({ data: _data, ...machine }) => ({ ...machine, schema: null }))
  }

  async submit(machine: string, data: unknown, options: SubmitOptions = {}): Promise<Submitted> {
    const { actor: _actor, ...rest } = options
    return this.transport.post<Submitted>('/api/entities', { machine, data, ...rest })
  }

  /** In as many requests as it takes: each of them is done whole, not all of them together. */
  async submitMany(
    machine: string,
    items: readonly SubmitItem[],
    { version }: Pick<SubmitOptions, 'actor' | 'version'> = {},
  ): Promise<readonly Submitted[]> {
    const submitted: Submitted[] = []
    for (const group of groupsOf(items)) {
      const body = { machine, ...(version === undefined ? {} : { version }), items: group }
      const answer = await this.transport.post<{ submitted: readonly Submitted[] }>('/api/entities/batch', body)
      submitted.push(...answer.submitted)
    }
    return submitted
  }

  async get(id: EntityId): Promise<Detail> {
    return this.transport.get<Detail>(entityPath(id))
  }

  async list(filter: ListFilter): Promise<ListPage> {
    return this.transport.get<ListPage>('/api/entities', queryOf(filter))
  }

  async find(text: string): Promise<readonly Detail[]> {
    return (await this.transport.get<{ found: readonly Detail[] }>('/api/find', { text })).found
  }

  async history(
    id: EntityId,
    { afterSeq, limit }: { readonly afterSeq?: number; readonly limit?: number } = {},
  ): Promise<readonly Event[]> {
    const query = { after: afterSeq, limit }
    return (await this.transport.get<{ events: readonly Event[] }>(`${entityPath(id)}/history`, query)).events
  }

  async lanes(id: EntityId): Promise<readonly Lane[]> {
    return (await this.transport.get<{ lanes: readonly Lane[] }>(`${entityPath(id)}/lanes`)).lanes
  }

  async totals(): Promise<readonly Lane[]> {
    return (await this.transport.get<{ lanes: readonly Lane[] }>('/api/totals')).lanes
  }

  async progress(id: EntityId): Promise<Progress> {
    return this.transport.get<Progress>(`${entityPath(id)}/progress`)
  }

  async report(id: EntityId): Promise<Report> {
    return this.transport.get<Report>(`${entityPath(id)}/report`)
  }

  watch(options: WatchOptions = {}): AsyncIterable<Change> {
    return watching(this.transport, options)
  }

  async settled(id: EntityId, timeoutMs?: number): Promise<Detail | null> {
    // Most are asked about when they are settled already.
    const first = await this.get(id)
    if (isAtEnd(first)) return first
    if (timeoutMs === 0) return null
    const limit = new AbortController()
    const { clock } = this.transport
    const cancel = timeoutMs === undefined ? () => {} : clock.after(timeoutMs, () => limit.abort())
    try {
      let detail = first
      while (!limit.signal.aborted) {
        // A request that is given up leaves no event to hear.
        if (detail.settled) await sleep(clock, askedMs, limit.signal)
        else await this.#untilSettled(id, limit.signal)
        detail = await this.get(id)
        if (isAtEnd(detail)) return detail
      }
      return null
    } finally {
      cancel()
      limit.abort()
    }
  }

  /** It is looked at whenever it has moved, and once when we have begun to listen: it may have settled before. */
  async #untilSettled(id: EntityId, signal: AbortSignal): Promise<void> {
    for await (const _heard of hearing(this.transport, { ids: [id], after: null, signal })) {
      if ((await this.get(id)).settled) return
    }
  }

  async act(id: EntityId, action: string, options: ActOptions = {}): Promise<ActResult> {
    const { reason, input, to, seq, confirmed } = options
    const body = { ...(reason === null ? {} : { reason }), input, to, seq, confirmed }
    return this.transport.post<ActResult>(`${entityPath(id)}/actions/${encodeURIComponent(action)}`, body)
  }

  /** With `confirm` it is counted first, as always, and what that gave is confirmed. */
  async actOnMany(
    filter: ListFilter,
    action: string,
    options: ActOptions & { readonly confirm?: boolean } = {},
  ): Promise<ManyResult> {
    const { limit: _limit, newestFirst: _newestFirst, spawnedBy: _spawnedBy, ...which } = filter
    const { reason, input, to, confirm } = options
    const asked = { filter: which, action, ...(reason === null ? {} : { reason }), input, to }
    const counted = await this.transport.post<ManyAnswer>('/api/actions', asked)
    if (!confirm) return resultOf(counted)
    const { confirmation } = counted
    return resultOf(await this.transport.post<ManyAnswer>('/api/actions', { confirmation }))
  }

  /** The owner is whoever has the token. */
  async hold(scope: HoldScope, { reason, until }: HoldOptions): Promise<Hold> {
    return this.transport.post<Hold>('/api/holds', { scope, reason, until })
  }

  async release(hold: number, { reason }: Partial<Actor> = {}): Promise<void> {
    await this.transport.delete(
      `/api/holds/${checkId(hold, 'hold')}`,
      typeof reason === 'string' ? { reason } : undefined,
    )
  }

  async holds(): Promise<readonly Hold[]> {
    return (await this.transport.get<{ holds: readonly Hold[] }>('/api/holds')).holds
  }

  async pastHolds(limit?: number): Promise<readonly Hold[]> {
    return (await this.transport.get<{ holds: readonly Hold[] }>('/api/holds/past', { limit })).holds
  }

  async prioritise(id: EntityId, priority: number): Promise<void> {
    await this.transport.put(`${entityPath(id)}/priority`, { priority })
  }

  async explain(id: EntityId): Promise<Explanation> {
    return this.transport.get<Explanation>(`${entityPath(id)}/explain`)
  }

  async workers(): Promise<readonly Worker[]> {
    return (await this.transport.get<{ workers: readonly Worker[] }>('/api/workers')).workers
  }

  async check(parents: readonly (EntityId | null)[]): Promise<readonly Drift[]> {
    return this.#mended(parents, (group) =>
      this.transport.get('/api/check', { parent: group.map((parent) => parent ?? 'none') }),
    )
  }

  async repair(parents: readonly (EntityId | null)[], { reason }: Partial<Actor> = {}): Promise<readonly Drift[]> {
    const why = typeof reason === 'string' ? { reason } : {}
    return this.#mended(parents, (group) => this.transport.post('/api/repair', { parents: group, ...why }))
  }

  async #mended(
    parents: readonly (EntityId | null)[],
    ask: (group: readonly (EntityId | null)[]) => Promise<{ readonly drifts: readonly Drift[] }>,
  ): Promise<readonly Drift[]> {
    const drifts: Drift[] = []
    for (let begin = 0; begin < parents.length; begin += parentsMax) {
      drifts.push(...(await ask(parents.slice(begin, begin + parentsMax))).drifts)
    }
    return drifts
  }
}

interface ManyAnswer extends ManyResult {
  readonly confirmation: string | null
}

function resultOf({ matching, exact, warnings, walk }: ManyAnswer): ManyResult {
  return { matching, exact, warnings, walk }
}

function entityPath(id: EntityId): string {
  return `/api/entities/${checkId(id, 'id')}`
}

/** Never part of a path as it came: `1/actions/delete` is no id. */
export function checkId(id: unknown, field: string): number {
  if (Number.isSafeInteger(id) && (id as number) >= 0) return id as number
  throw new SluiceError('invalid', `${field} must be a whole number, 0 or above; it was ${JSON.stringify(id)}.`, {
    field,
  })
}

function* groupsOf(items: readonly SubmitItem[]): Generator<readonly SubmitItem[], void, undefined> {
  let group: SubmitItem[] = []
  let bytes = 0
  for (const item of items) {
    const size = Buffer.byteLength(JSON.stringify(item))
    if (group.length >= itemsMax || (group.length > 0 && bytes + size > itemsBytesMax)) {
      yield group
      group = []
      bytes = 0
    }
    group.push(item)
    bytes += size
  }
  if (group.length > 0) yield group
}
