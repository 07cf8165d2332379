import type { Clock } from '../clock.ts'
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
import { type Entity, type EntityId, isAtEnd } from '../entity.ts'
import { SluiceError } from '../errors.ts'
import { birthEvent, type Event, eventsOf } from '../event.ts'
import type { Hold, HoldScope } from '../hold.ts'
import type { Lane } from '../lane.ts'
import type { Worker } from '../lease.ts'
import { priorityMax } from '../limits.ts'
import type { Machine } from '../machine.ts'
import type { Actor, Drift, Filter, Tombstone } from '../store.ts'
import { actOn } from './actions.ts'
import { Bell } from './bell.ts'
import { checkPriority, checkText, jsonText } from './births.ts'
import { choicesOf, detailOf, detailOfTombstone, listedOf } from './detail.ts'
import { explain } from './explain.ts'
import { checkAction, checkFilter, checkId, checkLimit, countMatching } from './filter.ts'
import { keyHolder, rangeOf, unlessUnknown } from './finding.ts'
import { liftHold, setHold } from './holding.ts'
import { asideOf } from './moves.ts'
import { Newborns } from './newborns.ts'
import { progressOf } from './progress.ts'
import { Rates } from './rate.ts'
import { reportOf } from './report.ts'
import type { Services } from './services.ts'
import { Settling } from './settling.ts'
import { situationOf } from './situation.ts'
import { Submission } from './submission.ts'
import { type WalkData, walkMachine } from './walk.ts'
import { watching } from './watching.ts'

/** How often something is decided anew because somebody else was faster. */
const roundsMax = 5
/** What was submitted a moment ago is not looked at before so long: most is settled by then, and this process says so. */
const headStartMs = 10

/** The control over one engine and its store, in this process. */
export class LocalControl implements Control {
  readonly #services: Services
  readonly #submission: Submission
  readonly #bell: Bell
  readonly #settling: Settling
  readonly #newborns = new Newborns()
  readonly #rates = new Rates()
  #requests = 0

  /** `expect` is told of what is submitted for a later time. */
  constructor(services: Services, expect: (at: number) => void) {
    this.#services = services
    this.#submission = new Submission(services, expect)
    this.#bell = new Bell(services)
    this.#settling = new Settling(services)
  }

  async machines(): Promise<readonly Machine[]> {
    return this.#services.registry.machines
  }

  // ---- Submitting ----

  async submit(machine: string, data: unknown, options: SubmitOptions = {}): Promise<Submitted> {
    const { actor, version, ...item } = options
    const [submitted] = await this.submitMany(machine, [{ ...item, data }], { actor, version })
    const { id, existing } = submitted as Submitted
    if (!existing) this.#newborns.add(id)
    return submitted as Submitted
  }

  async submitMany(
    machine: string,
    items: readonly SubmitItem[],
    options: Pick<SubmitOptions, 'actor' | 'version'> = {},
  ): Promise<readonly Submitted[]> {
    try {
      return await this.#submission.submit(machine, items, options)
    } finally {
      this.#bell.ring()
    }
  }

  // ---- Looking ----

  async get(id: EntityId, { secrets = false }: { readonly secrets?: boolean } = {}): Promise<Detail> {
    const found = await this.#find(id)
    const detail = await this.#detailOf(found)
    return secrets ? { ...detail, data: JSON.parse(found.data) } : detail
  }

  async list(filter: ListFilter): Promise<ListPage> {
    const { store, registry, limits } = this.#services
    const { key, ...rest } = filter
    const checked = checkFilter(registry, rest, limits)
    const only = key === undefined ? {} : rangeOf(checked, await keyHolder(store, key))
    const { entities, next } = await store.list({ ...checked, ...only })
    return { entities: await listedOf(this.#services, entities), next }
  }

  async find(text: string): Promise<readonly Detail[]> {
    const { store } = this.#services
    const wanted = text.trim()
    const id = /^#?\d{1,15}$/.test(wanted) ? Number(wanted.replace('#', '')) : null
    const ids = [id, wanted === '' ? null : await keyHolder(store, wanted)].filter((one) => one !== null)
    const found = await Promise.all([...new Set(ids)].map((one) => this.get(one).catch(unlessUnknown)))
    return found.filter((one) => one !== null)
  }

  /** `limit` counts moves; a move of several hops is several events. The birth is the first of them, with seq 0. */
  async history(
    id: EntityId,
    options: { readonly afterSeq?: number; readonly limit?: number } = {},
  ): Promise<readonly Event[]> {
    const limit = checkLimit(options.limit, this.#services.limits)
    const afterSeq = options.afterSeq === undefined ? -1 : checkId(options.afterSeq, 'afterSeq')
    const found = await this.#find(id)
    // Retention keeps the report, not the way to it.
    if ('purgedAt' in found) return []
    const birth = afterSeq < 0 ? [birthEvent(found)] : []
    const rest = limit - birth.length
    if (rest === 0) return birth
    const { moves } = await this.#services.store.events({ entity: id, afterSeq: Math.max(0, afterSeq), limit: rest })
    // Earlier versions wrote a text where a person gave no reason.
    const events = moves
      .flatMap(eventsOf)
      .map((event) => (event.reason === 'none given' ? { ...event, reason: null } : event))
    return [...birth, ...events]
  }

  async lanes(id: EntityId): Promise<readonly Lane[]> {
    return this.#lanesOf(await this.#find(id))
  }

  async totals(): Promise<readonly Lane[]> {
    return this.#services.store.lanes([null])
  }

  async progress(id: EntityId): Promise<Progress> {
    const found = await this.#find(id)
    const lanes = await this.#lanesOf(found)
    const entity = 'purgedAt' in found ? { ...found, settled: true, changedAt: found.purgedAt } : found
    return progressOf(this.#services, entity, lanes, this.#rates)
  }

  async report(id: EntityId): Promise<Report> {
    const [detail, progress, explanation] = await Promise.all([this.get(id), this.progress(id), this.explain(id)])
    return reportOf(this.#services.registry, detail, progress, explanation)
  }

  watch(options: WatchOptions = {}): AsyncIterable<Change> {
    return watching(this.#services, this.#bell, options)
  }

  async settled(id: EntityId, timeoutMs?: number): Promise<Detail | null> {
    const { store } = this.#services
    const deadline = timeoutMs === undefined ? null : store.time() + timeoutMs
    for (;;) {
      const leftMs = deadline === null ? undefined : Math.max(0, deadline - store.time())
      // Waited for before looking: what settles in between is not missed.
      const settling = this.#settling.wait(id, leftMs)
      if (this.#newborns.take(id)) await headStart(this.#services.clock, settling.settled)
      const found = await this.#find(id).catch((error: unknown) => {
        settling.cancel()
        throw error
      })
      if ('purgedAt' in found || isAtEnd(found)) {
        settling.cancel()
        return this.#detailOf(found)
      }
      // Settled, and perhaps reopened since, or about to be: only a look can tell.
      if (!(await settling.settled)) return null
    }
  }

  async explain(id: EntityId): Promise<Explanation> {
    const found = await this.#find(id)
    if (!('purgedAt' in found)) return explain(await situationOf(this.#services, found))
    const { machine, state, purgedAt } = found
    const sentence = `${machine} ${id} ended as ${state}, and was removed by retention at ${new Date(purgedAt).toISOString()}.`
    return { id, state, kind: 'final', sentence, facts: { purged: true, purgedAt } }
  }

  async workers(): Promise<readonly Worker[]> {
    return this.#services.store.workers()
  }

  // ---- Acting ----

  async act(id: EntityId, action: string, options: ActOptions = {}): Promise<ActResult> {
    const actor = this.#actorOf(options)
    const { to, seq, input = null } = options
    if (input !== null) jsonText(input, 'The input', this.#services.limits)
    for (let round = 0; round < roundsMax; round++) {
      const entity = await this.#living(id)
      if (seq !== undefined && seq !== entity.seq) throw staleSeq(entity, seq)
      await this.#checkConfirmed(entity, action, options)
      const [result] = await actOn(this.#services, [entity], action, actor, input, to, 1)
      switch (result?.kind) {
        case 'done':
          return { id, kind: 'done', state: result.state }
        case 'requested':
          return { id, kind: 'requested', state: result.edge }
        case 'refused':
          throw new SluiceError(result.code ?? 'conflict', result.message, { id, action })
        default:
        // Stale: it is read again, for its warnings and its seq may be others now.
      }
    }
    throw new SluiceError(
      'conflict',
      `${id} was moved by someone else again and again; ${action} was not done. Try again.`,
      { id, action },
    )
  }

  async actOnMany(
    filter: ListFilter,
    action: string,
    options: ActOptions & { readonly confirm?: boolean } = {},
  ): Promise<ManyResult> {
    const { registry, limits, store } = this.#services
    const { limit: _limit, newestFirst: _newestFirst, key, ...asked } = filter
    const broad = checkFilter(registry, asked, limits)
    const checked = key === undefined ? broad : { ...broad, ...rangeOf(broad, await keyHolder(store, key)) }
    const { limit: _pageMax, ...which } = checked
    checkAction(registry, which.machine, action)
    const count = await countMatching(this.#services, checked)
    const warnings = warningsOf(registry.machines, which.machine, action)
    if (!options.confirm) return { ...count, warnings, walk: null }
    const [highest] = (await store.list(newestOf(checked))).entities
    const data: WalkData = {
      filter: which as Record<string, unknown>,
      upTo: highest?.id ?? 0,
      matching: count.matching,
      action,
      to: options.to ?? null,
      input: options.input ?? null,
      actor: this.#actorOf(options),
      result: null,
    }
    // What a person asked for goes before the work that it is about.
    const walk = await this.submit(walkMachine.name, data, {
      priority: -priorityMax,
      ...(options.key === undefined ? {} : { key: `walk:${options.key}` }),
      ...(data.actor.actor === null ? {} : { actor: data.actor.actor }),
    })
    return { ...count, warnings, walk: walk.id }
  }

  async prioritise(id: EntityId, priority: number): Promise<void> {
    checkPriority(priority)
    for (let round = 0; round < roundsMax; round++) {
      const entity = await this.#living(id)
      if (entity.settled) {
        throw new SluiceError(
          'conflict',
          `${entity.machine} ${id} is ${entity.state}: it stands in no line any more.`,
          { id },
        )
      }
      const verdict = await this.#services.completer.commit(asideOf(entity, { priority }))
      if (verdict.kind === 'saved') return
      if (verdict.kind === 'refused') throw new SluiceError('invalid', verdict.message, { id })
    }
    throw new SluiceError(
      'conflict',
      `${id} was moved by someone else again and again; its priority was not set. Try again.`,
      { id },
    )
  }

  // ---- Holding ----

  async hold(scope: HoldScope, options: HoldOptions): Promise<Hold> {
    return setHold(this.#services, scope, options)
  }

  async release(hold: number, actor: Partial<Actor> = {}): Promise<void> {
    await liftHold(this.#services, hold, this.#actorOf(actor))
  }

  async pastHolds(limit = 100): Promise<readonly Hold[]> {
    return this.#services.store.holds({ past: Math.max(0, Math.min(limit, this.#services.limits.pageMax)) })
  }

  async holds(): Promise<readonly Hold[]> {
    return this.#services.store.holds()
  }

  // ---- Mending ----

  async check(parents: readonly (EntityId | null)[]): Promise<readonly Drift[]> {
    return this.#recount(parents, null)
  }

  async repair(parents: readonly (EntityId | null)[], actor: Partial<Actor> = {}): Promise<readonly Drift[]> {
    return this.#recount(parents, this.#actorOf(actor))
  }

  async #recount(parents: readonly (EntityId | null)[], mend: Actor | null): Promise<readonly Drift[]> {
    const { pageMax } = this.#services.limits
    const drifts: Drift[] = []
    for (let begin = 0; begin < parents.length; begin += pageMax) {
      drifts.push(...(await this.#services.store.recount(parents.slice(begin, begin + pageMax), mend)))
    }
    return drifts
  }

  // ---- What they share ----

  async #find(id: EntityId): Promise<Entity | Tombstone> {
    const { store } = this.#services
    const [entity] = await store.get([checkId(id)])
    if (entity) return entity
    const [tombstone] = await store.tombstones([id])
    if (tombstone) return tombstone
    throw new SluiceError('not_found', `There is no entity ${id}.`, { id })
  }

  #detailOf(found: Entity | Tombstone): Promise<Detail> | Detail {
    return 'purgedAt' in found ? detailOfTombstone(this.#services, found) : detailOf(this.#services, found)
  }

  async #living(id: EntityId): Promise<Entity> {
    const found = await this.#find(id)
    if (!('purgedAt' in found)) return found
    throw new SluiceError(
      'conflict',
      `${found.machine} ${id} ended as ${found.state} and was removed by retention; nothing can be done with it.`,
      { id },
    )
  }

  async #lanesOf(found: Entity | Tombstone): Promise<readonly Lane[]> {
    return 'purgedAt' in found ? found.lanes : this.#services.store.lanes([found.id])
  }

  /** What cannot be taken back must be confirmed, for the edge that would be taken now. */
  async #checkConfirmed(entity: Entity, action: string, { confirmed, to, input }: ActOptions): Promise<void> {
    if (confirmed) return
    const edges = this.#services.registry.find(entity.machine, entity.version)?.machine.edges ?? []
    if (!edges.some((edge) => edge.from === entity.state && edge.warning !== undefined)) return
    const lanes = await this.#services.store.lanes([entity.id])
    const choice = choicesOf(this.#services, entity, lanes, input ?? null).find(
      ({ edge, refusal }) =>
        refusal === null && (edge.action === action || edge.name === action) && (to === undefined || edge.to === to),
    )
    const warning = choice?.edge.warning
    if (warning === undefined) return
    throw new SluiceError(
      'conflict',
      `${warning} To ${action} ${entity.machine} ${entity.id} all the same, confirm it.`,
      {
        ...{ id: entity.id, action, warning, confirm: true },
      },
    )
  }

  /** Everything that a person does can be audited: who, with which role, by which request. A reason that nobody gave stays null. */
  #actorOf(given: Partial<Actor>): Actor {
    const { nameMax, reasonMax } = this.#services.limits
    this.#requests += 1
    const actor = {
      actor: given.actor ?? 'local',
      role: given.role ?? 'operator',
      reason: given.reason ?? null,
      requestId: given.requestId ?? `${this.#services.name}-r-${this.#requests}`,
    }
    for (const [field, text] of Object.entries(actor)) {
      if (text === null) continue
      const max = field === 'reason' ? reasonMax : nameMax
      if (text.length <= max) {
        checkText(text, `The ${field}`, field)
        continue
      }
      throw new SluiceError('invalid', `${field} has at most ${max} characters; this one has ${text.length}.`, {
        field,
      })
    }
    return actor
  }
}

function headStart(clock: Clock, ended: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.after(headStartMs, resolve)
    void ended.then(() => {
      cancel()
      resolve()
    })
  })
}

function staleSeq(entity: Entity, seq: number): SluiceError {
  const now = `it is ${entity.state} at seq ${entity.seq} now, you saw seq ${seq}`
  return new SluiceError('conflict', `stale seq: ${entity.machine} ${entity.id} has moved since; ${now}. Look again.`, {
    ...{ id: entity.id, seq: entity.seq, expected: seq, state: entity.state },
  })
}

function newestOf(filter: Filter): Filter {
  // Keyset paging runs the other way here: `after` bounds the list from above, and only the first row is asked for.
  const { after: _after, ...rest } = filter
  return { ...rest, newestFirst: true, limit: 1 }
}

function warningsOf(machines: readonly Machine[], machine: string | undefined, action: string): readonly string[] {
  const edges = machines.filter(({ name }) => machine === undefined || name === machine).flatMap(({ edges }) => edges)
  const named = edges.filter((edge) => edge.on === 'action' && (edge.action === action || edge.name === action))
  return [...new Set(named.flatMap((edge) => edge.warning ?? []))]
}
