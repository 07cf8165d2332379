import type { Entity, EntityId } from '../../entity.ts'
import type { Hold, Holdable } from '../../hold.ts'
import type { Worker } from '../../lease.ts'
import type { Machine } from '../../machine.ts'
import type {
  ClaimRequest,
  ClaimResult,
  ClaimRun,
  CreateVerdict,
  Move,
  Release,
  Renewal,
  Store,
  Verdict,
} from '../../store.ts'
import { type Call, Calls, movesOf, type Verb } from './calls.ts'
import { Comparison } from './comparison.ts'
import type { WorkloadRules } from './facts.ts'
import { FeedReader } from './feed-reader.ts'
import { gistOf } from './gist.ts'
import { type Complain, Judge, nameOf } from './judge.ts'
import { type Known, Model } from './model.ts'
import type { Workload } from './workload/index.ts'
import type { Owner, World } from './world.ts'

/** Stands at the store's door: sees what goes in and what comes out, and has everything compared after every change. */
export class Observer {
  readonly model: Model
  readonly #world: World
  readonly #store: Store
  readonly #rules: WorkloadRules
  readonly #judge: Judge
  readonly #calls = new Calls()
  readonly #comparison: Comparison
  readonly #feed: FeedReader
  readonly #answers = new Map<string, string>()
  #holds: readonly Hold[] = []
  #latestTime = 0
  /** Set in the quiet phase: since when, and for how long at most, whoever can run may wait. */
  quiet: { readonly since: number; readonly waitMsMax: number } | null = null
  claims = 0
  longestWaitMs = 0

  constructor(
    world: World,
    store: Store,
    machines: readonly Machine[],
    { rules, invariants }: Pick<Workload, 'rules' | 'invariants'>,
    complain: Complain,
  ) {
    this.#world = world
    this.#store = store
    this.#rules = rules
    this.#judge = new Judge(complain, invariants)
    this.model = new Model(machines)
    this.#comparison = new Comparison(store, this.model, this.#calls, this.#judge, rules)
    this.#feed = new FeedReader(world, store, this.model, this.#calls, this.#comparison, this.#judge, rules)
  }

  get moves(): number {
    return this.#feed.moves
  }

  storeTime(): number {
    return this.#store.time()
  }

  begin(owner: Owner, verb: Verb, given: readonly unknown[]): Call {
    const call: Call = { verb, given, owner, holds: this.#holds }
    if (!this.#calls.begin(call)) return call
    this.#world.dirty = true
    if (verb === 'commit') this.#feed.sent(movesOf(call))
    return call
  }

  answered(call: Call, answer: unknown): void {
    if (!this.#calls.end(call)) return
    this.#world.dirty = true
    this.#world.trace.note(this.#world.now, call.owner.name, `${call.verb} was done`, () => gistOf(call, answer))
    this.#judgeAnswer(call, answer)
  }

  refused(call: Call): void {
    this.#calls.end(call)
  }

  /** Reads on in the feed, judges every birth and move, and compares what they touched with what the store now says. */
  async look(): Promise<void> {
    const now = this.#store.time()
    this.#judge.check('time', { now, before: this.#latestTime }, () => 'the store')
    this.#latestTime = Math.max(this.#latestTime, now)
    await this.#feed.read()
    await this.#comparison.compare()
  }

  /** Everything, from the beginning. */
  async lookAtAll(): Promise<void> {
    await this.look()
    await this.#comparison.recount()
  }

  #judgeAnswer(call: Call, answer: unknown): void {
    const { verb, given, owner } = call
    switch (verb) {
      case 'create':
        this.#created(given[0] as string, answer as readonly CreateVerdict[])
        break
      case 'commit':
        this.#committed(call, answer as readonly Verdict[])
        break
      case 'claim':
        this.#claimed(call, given[0] as ClaimRequest, answer as ClaimResult)
        break
      case 'renew':
        this.#renewed(owner, given[0] as Renewal, answer as Worker)
        break
      case 'release':
        this.#released(given[0] as Release, answer as readonly EntityId[])
        break
      case 'holds':
        this.#holds = answer as readonly Hold[]
        break
      case 'purge':
        this.#comparison.purged(given[0] as EntityId)
        break
      default:
    }
  }

  #created(operation: string, verdicts: readonly CreateVerdict[]): void {
    this.#isFirst(`create ${operation}`, verdicts)
    for (const verdict of verdicts) if (verdict.kind !== 'refused') this.#comparison.touch(verdict.id)
  }

  #committed(call: Call, verdicts: readonly Verdict[]): void {
    const moves = movesOf(call)
    const isFirst = this.#isFirst(`commit ${call.given[0]}`, verdicts)
    if (isFirst) this.#feed.saved(moves.filter((_, index) => verdicts[index]?.kind === 'saved'))
    for (const [index, move] of moves.entries()) {
      const verdict = verdicts[index]!
      const known = this.model.find(move.id)
      const fact = { move, verdict, wasApplied: this.#feed.wasApplied(move) }
      this.#judge.check('verdict', fact, () => (known ? nameOf(known) : `entity ${move.id}`))
      if (verdict.kind !== 'saved') continue
      this.#comparison.touch(move.id)
      // A repeated operation was judged, and did what it did, the first time.
      if (!isFirst) continue
      if (move.hops.length === 0) this.#comparison.saved(move)
      // A checkpoint that got further: what was tried before it is forgiven.
      if (known && move.hops.length === 0 && move.attempts === 'one') known.retries = 0
      if (known) this.#judgeGoingOn(call, known, move)
    }
  }

  /** A repeated operation is answered as it was the first time. True: this is the first time. */
  #isFirst(operation: string, verdicts: readonly (Verdict | CreateVerdict)[]): boolean {
    const kinds = verdicts.map(({ kind }) => kind).join(' ')
    const before = this.#answers.get(operation)
    if (before !== undefined && before !== kinds) {
      this.#judge.complain('G6 durability', `${operation} was answered ${before}, and then ${kinds}.`)
    }
    this.#answers.set(operation, kinds)
    return before === undefined
  }

  #judgeGoingOn(call: Call, known: Known, { holds, keep, wait, state, labels, holdable, passes }: Move): void {
    if (holds === null || !(keep || wait?.for === 'run')) return
    const entity = { ...known.row, state, labels: labels ?? known.row.labels, passes }
    this.#judgeHolds(call, entity, holdable, (hold) => !holds.includes(hold.id))
  }

  #claimed(call: Call, request: ClaimRequest, { entities }: ClaimResult): void {
    for (const entity of entities) {
      this.claims += 1
      const known = this.model.find(entity.id)
      if (!known) {
        this.#judge.complain('G14 no orphan', `Entity ${entity.id} was claimed, and never born.`)
        continue
      }
      const isIts = entity.owner === request.worker
      if (!isIts) this.#judge.complainOf('G5 lease', known, `${request.worker} claimed it for ${entity.owner}.`)
      this.#judge.check('claim', { entity, known, owner: call.owner.name }, () => nameOf(known))
      known.issued.set(entity.epoch, call.owner.name)
      const waitedIn = known.claimed?.epoch === entity.epoch ? known.claimed.from : entity.state
      const run = request.runs.find((run) => isRunOf(run, entity, waitedIn))
      if (run) this.#judgeHolds(call, { ...entity, state: run.state, passes: run.passes }, run.holdable, () => true)
      else this.#judge.complainOf('G14 no orphan', known, `It waited in ${waitedIn}, which was not asked for.`)
      this.#judgeWait(entity, known)
      this.#comparison.touch(entity.id)
    }
  }

  /** By the holds that stood from the arrival of the call to its answer: those that came or went meanwhile may have been seen or not. */
  #judgeHolds(call: Call, entity: Entity & Holdable, holdable: boolean, counts: (hold: Hold) => boolean): void {
    if (call.holds.length === 0) return
    const standing = new Set(this.#holds.map(({ id }) => id))
    const holds = call.holds.filter((hold) => standing.has(hold.id) && counts(hold))
    const labelNames = (machine: string) => this.model.machine(machine)?.labels ?? []
    const fact = { entity, holdable, holds, labelNames, now: this.#store.time() }
    this.#judge.check('hold', fact, () => `${entity.machine} ${entity.id}`)
  }

  #judgeWait(entity: Entity, { seenAt }: Known): void {
    if (!this.quiet || entity.wait.for !== 'run' || this.#rules.isCrowded?.(entity)) return
    // An entity does not wait before it is seen, behind a gate before that is open, or under a parent that has ended before that goes on.
    const openedAt = this.model.opened.get(`${entity.parent}/${entity.lane}`) ?? 0
    const goingAt = (entity.parent !== null && this.model.goingSince.get(entity.parent)) || 0
    const waitedMs = this.#store.time() - Math.max(entity.wait.at, seenAt, openedAt, goingAt, this.quiet.since)
    this.longestWaitMs = Math.max(this.longestWaitMs, waitedMs)
    const fact = { entity, waitedMs, allowedMs: this.quiet.waitMsMax }
    this.#judge.check('wait', fact, () => `${entity.machine} ${entity.id}`)
  }

  #renewed(owner: Owner, { id }: Renewal, { id: worker, expiresAt }: Worker): void {
    const known = this.model.workers.get(worker)
    const now = this.#store.time()
    const complain = (message: string) => this.#judge.complain('G5 lease', `Worker ${worker} ${message}`)
    if (id === null && known) complain('registered twice.')
    if (id !== null && !known) complain('was renewed after it was gone.')
    if (known && known.expiresAt <= now) complain(`was renewed at ${now}, after its lease ended at ${known.expiresAt}.`)
    this.model.workers.set(worker, { id: worker, owner: owner.name, expiresAt })
  }

  #released(release: Release, ids: readonly EntityId[]): void {
    const now = this.#store.time()
    for (const id of ids) {
      this.#comparison.released(id, release.kind)
      const owner = this.model.find(id)?.row.owner ?? null
      const worker = owner === null ? undefined : this.model.workers.get(owner)
      if (release.kind !== 'dead' || !worker || worker.expiresAt <= now) continue
      const message = `Entity ${id} was taken from worker ${worker.id} at ${now}, whose lease goes to ${worker.expiresAt}.`
      this.#judge.complain('G5 lease', message)
    }
    if (release.kind === 'retire') this.model.workers.delete(release.worker)
    if (release.kind !== 'dead') return
    for (const worker of [...this.model.workers.values()]) {
      if (worker.expiresAt <= now) this.model.workers.delete(worker.id)
    }
  }
}

/** Whether this entity, which waited in this state, is what the run asked for: it stands where the run's hops lead. */
function isRunOf(run: ClaimRun, entity: Entity, waitedIn: string): boolean {
  const state = run.hops.at(-1)?.to ?? run.state
  const edge = entity.request?.edge ?? null
  return run.machine === entity.machine && run.state === waitedIn && state === entity.state && run.edge === edge
}
