import type { Entity, EntityId } from '../../entity.ts'
import type { MoveRecord } from '../../event.ts'
import type { Hold } from '../../hold.ts'
import type { Worker } from '../../lease.ts'
import type { Machine } from '../../machine.ts'
import type { Birth, ClaimRequest, ClaimResult, CreateVerdict, Move, Release, Renewal, Store, Verdict } from '../../store.ts'
import type { Hop } from '../../transition.ts'
import { type Invariant, invariants, type WorkloadRules } from './invariants.ts'
import { type Known, Model } from './model.ts'
import type { Verb } from './store-link.ts'
import type { Owner, World } from './world.ts'

/** One call under way, from the moment that it reaches the store. */
export interface Call {
  readonly verb: Verb
  readonly given: readonly unknown[]
  readonly owner: Owner
  /** The holds that stood when it arrived. */
  readonly holds: readonly Hold[]
}

export type Complain = (invariant: string, message: string) => void

/** Stands at the store's door: sees what goes in and what comes out, keeps the second book and compares after every change. */
export class Observer {
  readonly model: Model
  readonly #world: World
  readonly #store: Store
  readonly #rules: WorkloadRules
  readonly #complain: Complain
  readonly #calls = new Set<Call>()
  readonly #applied = new WeakSet<Move>()
  readonly #answers = new Map<string, readonly (Verdict | CreateVerdict)[]>()
  /** Ordinals that may have been staged: the checkpoint was sent. */
  readonly #perhapsStaged = new Map<EntityId, Set<number>>()
  readonly #touched = new Set<EntityId>()
  /** Whose leases were ended without a move, since the last comparison. */
  readonly #releases = new Map<EntityId, Release['kind']>()
  /** What was saved since the last comparison. */
  readonly #saved = new Map<EntityId, Move>()
  #holds: readonly Hold[] = []
  #latestTime = 0
  #touchedRoots = false
  #position = 0
  /** Non-null in the quiet phase: since when whoever can run must be claimed soon. */
  quietSince: number | null = null
  claims = 0
  moves = 0
  longestWaitMs = 0
  allowedWaitMs = Number.POSITIVE_INFINITY

  constructor(world: World, store: Store, machines: readonly Machine[], rules: WorkloadRules, complain: Complain) {
    this.#world = world
    this.#store = store
    this.#rules = rules
    this.#complain = complain
    this.model = new Model(machines)
  }

  storeTime(): number {
    return this.#store.time()
  }

  begin(owner: Owner, verb: Verb, given: readonly unknown[]): Call {
    const call: Call = { verb, given, owner, holds: this.#holds }
    if (!changing.has(verb)) return call
    this.#calls.add(call)
    this.#world.dirty = true
    if (verb === 'commit') this.#noteStaging(given[1] as readonly Move[], this.#perhapsStaged)
    return call
  }

  answered(call: Call, answer: unknown): void {
    if (!this.#calls.delete(call)) return
    this.#world.dirty = true
    const { given, owner } = call
    this.#world.trace.note(this.#world.now, owner.name, `${call.verb} was done`, { given, answer })
    switch (call.verb) {
      case 'create':
        return this.#created(given[0] as string, answer as readonly CreateVerdict[])
      case 'commit':
        return this.#committed(call, given[0] as string, given[1] as readonly Move[], answer as readonly Verdict[])
      case 'claim':
        return this.#claimed(call, given[0] as ClaimRequest, answer as ClaimResult)
      case 'renew':
        return this.#renewed(owner, given[0] as Renewal, answer as Worker)
      case 'release':
        return this.#released(given[0] as Release, answer as readonly EntityId[])
      case 'holds':
        this.#holds = answer as readonly Hold[]
        return
      case 'purge':
        this.model.purging.add(given[0] as EntityId)
        this.#touchedRoots = true
        return
      default:
        return
    }
  }

  refused(call: Call, _error: unknown): void {
    this.#calls.delete(call)
  }

  /** Reads on in the feed, checks every birth and move, and compares what they touched with what the store now says. */
  async look(): Promise<void> {
    const now = this.#store.time()
    this.#check('time', { now, before: this.#latestTime }, () => 'the store')
    this.#latestTime = Math.max(this.#latestTime, now)
    const births: EntityId[] = []
    const moves: MoveRecord[] = []
    for (;;) {
      const page = await this.#store.events({ after: this.#position, limit: 1_000 })
      if (page.moves.length === 0 && page.births.length === 0) break
      this.#position = page.position
      births.push(...page.births)
      moves.push(...page.moves)
    }
    const born = await this.#bear(births)
    for (const record of moves) this.#move(record, born)
    for (const [source, ordinals] of born) {
      this.#complainOf('G8 fan-out', source, `Children ${ordinals.join(', ')} appeared without a move of their source.`)
    }
    await this.#compare()
  }

  // ---- What was answered ----

  #created(operation: string, verdicts: readonly CreateVerdict[]): void {
    this.#sameAnswer(`create ${operation}`, verdicts)
    for (const verdict of verdicts) {
      if (verdict.kind === 'refused') continue
      // A create that was answered is judged when its birth was read, which comes first.
      this.#touched.add(verdict.id)
    }
  }

  #committed(call: Call, operation: string, moves: readonly Move[], verdicts: readonly Verdict[]): void {
    const isFirst = this.#sameAnswer(`commit ${operation}`, verdicts)
    if (isFirst) this.#noteStaging(moves.filter((_, index) => verdicts[index]?.kind === 'saved'), this.model.staged)
    for (const [index, move] of moves.entries()) {
      const verdict = verdicts[index]!
      const known = this.model.find(move.id)
      const fact = { move, verdict, known, wasApplied: this.#applied.has(move) }
      this.#check('verdict', fact, () => `${known?.machine.name} ${move.id}`)
      if (verdict.kind !== 'saved') continue
      this.#touched.add(move.id)
      if (isFirst && move.hops.length === 0) this.#saved.set(move.id, move)
      const goesOn = move.keep || move.wait?.for === 'run'
      // A repeated operation was judged by the holds of its first time.
      if (isFirst && known && move.holds !== null && goesOn) {
        const entity = { ...known.row, state: move.state, labels: move.labels ?? known.row.labels }
        this.#judgeHolds(call, entity, move.holdable, (hold) => !move.holds!.includes(hold.id))
      }
    }
  }

  /** A repeated operation is answered as it was the first time. True: this is the first time. */
  #sameAnswer(operation: string, verdicts: readonly (Verdict | CreateVerdict)[]): boolean {
    const before = this.#answers.get(operation)
    if (!before) {
      this.#answers.set(operation, verdicts)
      return true
    }
    const kinds = (all: typeof verdicts): string => all.map(({ kind }) => kind).join(' ')
    if (kinds(before) !== kinds(verdicts)) {
      this.#complain('G6 durability', `${operation} was answered ${kinds(before)}, and then ${kinds(verdicts)}.`)
    }
    return false
  }

  #noteStaging(moves: readonly Move[], staged: Map<EntityId, Set<number>>): void {
    for (const { id, staging, children } of moves) {
      if (staging !== 'stage') continue
      const ordinals = staged.get(id) ?? new Set()
      for (const { ordinal } of children) if (!this.model.spawnedBy(id).has(ordinal)) ordinals.add(ordinal)
      staged.set(id, ordinals)
    }
  }

  #claimed(call: Call, request: ClaimRequest, { entities }: ClaimResult): void {
    const { owner } = call
    const now = this.#store.time()
    for (const entity of entities) {
      this.claims += 1
      const known = this.model.find(entity.id)
      if (!known) {
        this.#complain('G14 no orphan', `Entity ${entity.id} was claimed, and never born.`)
        continue
      }
      const waitedIn = known.claimed?.epoch === entity.epoch ? known.claimed.from : entity.state
      const run = request.runs.find((run) => run.state === waitedIn && isRunOf(run, entity)) ?? null
      if (!run) this.#complainOf('G14 no orphan', known, `It was claimed in ${entity.state}, which was not asked for.`)
      this.#check('claim', { entity, known, owner: owner.name, run, model: this.model }, () => nameOf(known))
      known.issued.set(entity.epoch, owner.name)
      if (run) this.#judgeHolds(call, { ...entity, state: run.state }, run.holdable, () => true)
      if (entity.owner !== request.worker) this.#complainOf('G5 lease', known, `Worker ${request.worker} claimed it for ${entity.owner}.`)
      this.#judgeWait(entity, now)
      this.#touched.add(entity.id)
    }
  }

  /** By the holds that stood from the arrival of the call to its answer: those that came or went meanwhile may have been seen or not. */
  #judgeHolds(call: Call, entity: Entity, holdable: boolean, counts: (hold: Hold) => boolean): void {
    if (call.holds.length === 0) return
    const standing = new Set(this.#holds.map(({ id }) => id))
    const holds = call.holds.filter((hold) => standing.has(hold.id) && counts(hold))
    const labelNames = (machine: string) => this.model.machine(machine)?.labels ?? []
    this.#check('hold', { entity, holdable, holds, labelNames, now: this.#store.time() }, () => `${entity.machine} ${entity.id}`)
  }

  #judgeWait(entity: Entity, now: number): void {
    if (this.quietSince === null || entity.wait.for !== 'run') return
    const waitedMs = now - Math.max(entity.wait.at, this.quietSince)
    this.longestWaitMs = Math.max(this.longestWaitMs, waitedMs)
    this.#check('wait', { entity, waitedMs, allowedMs: this.allowedWaitMs }, () => `${entity.machine} ${entity.id}`)
  }

  #renewed(owner: Owner, { id }: Renewal, { id: worker, expiresAt }: Worker): void {
    const known = this.model.workers.get(worker)
    const now = this.#store.time()
    if (id === null && known) this.#complain('G5 lease', `Worker ${worker} registered twice.`)
    if (id !== null && !known) this.#complain('G5 lease', `Worker ${worker} was renewed after it was gone.`)
    if (known && known.expiresAt <= now) {
      this.#complain('G5 lease', `Worker ${worker} was renewed at ${now}, after its lease had ended at ${known.expiresAt}.`)
    }
    this.model.workers.set(worker, { id: worker, owner: owner.name, expiresAt })
  }

  #released(release: Release, ids: readonly EntityId[]): void {
    const now = this.#store.time()
    for (const id of ids) {
      this.#touched.add(id)
      this.#releases.set(id, release.kind)
      const owner = this.model.find(id)?.row.owner ?? null
      const worker = owner === null ? undefined : this.model.workers.get(owner)
      if (release.kind === 'dead' && worker && worker.expiresAt > now) {
        this.#complain('G5 lease', `Entity ${id} was taken from worker ${worker.id} at ${now}, whose lease goes to ${worker.expiresAt}.`)
      }
    }
    if (release.kind === 'retire') this.model.workers.delete(release.worker)
    if (release.kind !== 'dead') return
    for (const worker of [...this.model.workers.values()]) if (worker.expiresAt <= now) this.model.workers.delete(worker.id)
  }

  // ---- What the feed tells ----

  /** The ordinals that appeared, by source. */
  async #bear(ids: readonly EntityId[]): Promise<Map<Known, number[]>> {
    const born = new Map<Known, number[]>()
    if (ids.length === 0) return born
    const rows = await this.#store.get(ids)
    for (const [index, row] of rows.entries()) {
      const machine = row && this.model.machine(row.machine)
      if (!row || !machine) {
        this.#complain('G6 durability', `Entity ${ids[index]} was born, and is not there.`)
        continue
      }
      const known = this.model.bear(row, machine)
      this.#touched.add(row.id)
      this.#world.trace.mix(row.id)
      if (row.source === null) {
        if (!this.#wasSubmitted(row)) this.#complainOf('G7 no phantom', known, 'Nobody submitted it.')
        continue
      }
      const source = this.model.find(row.source)
      if (!source) {
        this.#complainOf('G8 fan-out', known, `Its source ${row.source} is not there.`)
        continue
      }
      const ordinals = born.get(source) ?? []
      ordinals.push(row.ordinal ?? -1)
      born.set(source, ordinals)
    }
    return born
  }

  #wasSubmitted(row: Entity): boolean {
    return [...this.#calls].some(
      ({ verb, given }) =>
        verb === 'create' &&
        (given[1] as readonly Birth[]).some(({ machine, data, key }) => machine === row.machine && data === row.data && key === row.key),
    )
  }

  #move(record: MoveRecord, born: Map<Known, number[]>): void {
    const { model } = this
    const known = model.find(record.entity)
    if (!known) return this.#complain('G7 no phantom', `Entity ${record.entity} moved, and was never born.`)
    this.moves += 1
    this.#world.trace.note(this.#world.now, 'store', `${known.machine.name} ${known.id} ${record.cause}`, record)
    this.#world.trace.mix(record.seq * 31 + record.epoch)
    const invoked = record.cause === 'claim' || record.cause === 'respawn' ? null : this.#invocation(record)
    const move = invoked?.move ?? null
    if (move) {
      this.#applied.add(move)
      this.#fanOut(known, move, born.get(known) ?? [])
      born.delete(known)
      for (const lane of move.opens) model.opened.add(`${move.id}/${lane}`)
    }
    const edges = record.hops.map((hop) => known.machine.edges.find((edge) => isEdgeOf(edge, hop)))
    const wasInvoked = invoked !== null || this.#isClaimOrRespawn(record, known)
    const fact = { record, known, edges, move, sender: invoked?.call.owner.name ?? null, wasInvoked, model, rules: this.#rules }
    this.#check('move', fact, () => nameOf(known))
    for (const edge of edges) if (edge?.on === 'children') model.joins.set(`${known.id} ${edge.name} ${record.generation}`, 1)
    if (move?.by !== 'lease' && record.cause !== 'claim') known.issued.set(record.epoch, 'outside')
    model.apply(known, record)
    this.#touched.add(known.id)
    if (!move) return
    this.#saved.set(known.id, move)
    if (move.lanes !== null) model.order(known.id, move.lanes)
    for (const { ordinal } of move.children) this.#touchSpawned(known.id, ordinal)
  }

  #touchSpawned(source: EntityId, ordinal: number): void {
    const id = this.model.spawnedBy(source).get(ordinal)
    if (id !== undefined) this.#touched.add(id)
  }

  /** The move, still under way, whose record this is. */
  #invocation(record: MoveRecord): { readonly call: Call; readonly move: Move } | null {
    for (const call of this.#calls) {
      if (call.verb !== 'commit') continue
      for (const move of call.given[1] as readonly Move[]) {
        if (move.id === record.entity && isRecordOf(record, move)) return { call, move }
      }
    }
    return null
  }

  #isClaimOrRespawn(record: MoveRecord, known: Known): boolean {
    if (record.cause === 'respawn') {
      return [...this.#calls].some(
        ({ verb, given }) =>
          verb === 'commit' &&
          (given[1] as readonly Move[]).some(
            ({ id, children }) => id === known.source && children.some(({ ordinal, respawn }) => ordinal === known.ordinal && respawn !== null),
          ),
      )
    }
    if (record.cause !== 'claim') return false
    return [...this.#calls].some(
      ({ verb, given }) =>
        verb === 'claim' &&
        (given[0] as ClaimRequest).runs.some(({ machine, hops }) => machine === known.machine.name && sameHops(hops, record.hops)),
    )
  }

  /** All that it spawns appears now, and nothing else. */
  #fanOut(source: Known, move: Move, born: readonly number[]): void {
    const { model } = this
    const before = new Set([...model.spawnedBy(source.id).keys()].filter((ordinal) => !born.includes(ordinal)))
    const isNew = (ordinal: number): boolean => !before.has(ordinal)
    const published = (ordinals: ReadonlySet<number> | undefined): number[] =>
      move.staging === 'publish' ? [...(ordinals ?? [])].filter((ordinal) => ordinal < move.spawned) : []
    const own = move.staging === 'stage' ? [] : move.children.map(({ ordinal }) => ordinal)
    const expected = [...new Set([...own, ...published(model.staged.get(source.id))])].filter(isNew)
    const perhaps = published(this.#perhapsStaged.get(source.id)).filter((ordinal) => born.includes(ordinal) && isNew(ordinal))
    for (const { ordinal, respawn } of move.staging === 'stage' ? [] : move.children) {
      const child = before.has(ordinal) ? model.find(model.spawnedBy(source.id).get(ordinal) ?? 0) : undefined
      // Its own row comes before its source's: by now it has been reopened.
      if (child && respawn?.from.includes(child.state)) this.#complainOf('G8 fan-out', child, `It was spawned again, and is still ${child.state}.`)
    }
    this.#check('fanOut', { source, born, expected: [...new Set([...expected, ...perhaps])] }, () => nameOf(source))
    if (move.staging !== 'publish') return
    model.staged.delete(source.id)
    this.#perhapsStaged.delete(source.id)
  }

  // ---- What the store says ----

  async #compare(): Promise<void> {
    if (this.#touchedRoots) this.#touchPurged()
    if (this.#touched.size === 0) return
    const ids = [...this.#touched]
    const releases = new Map(this.#releases)
    const saves = new Map(this.#saved)
    this.#touched.clear()
    this.#releases.clear()
    this.#saved.clear()
    const rows = await this.#store.get(ids)
    const parents = new Set<EntityId | null>()
    const gone: Known[] = []
    let sharing = false
    for (const [index, row] of rows.entries()) {
      const known = this.model.find(ids[index]!)
      if (!known) {
        if (!this.model.purged.has(ids[index]!)) this.#complain('G6 durability', `Entity ${ids[index]} was acknowledged, and never born.`)
        continue
      }
      if (!row) gone.push(known)
      else {
        const fact = { row, before: known.row, known, model: this.model, released: releases.get(row.id) ?? null, saved: saves.get(row.id) ?? null }
        known.row = row
        this.#check('row', fact, () => nameOf(known))
      }
      parents.add(known.parent)
      if (this.#rules.shares.some(({ machine }) => machine === known.machine.name)) sharing = true
    }
    this.#forget(gone)
    if (sharing) await this.#comparePools()
    await this.#compareLanes(parents)
  }

  #touchPurged(): void {
    this.#touchedRoots = false
    for (const known of this.model.all) if (this.model.isPurging(known)) this.#touched.add(known.id)
  }

  #forget(gone: readonly Known[]): void {
    const unasked = gone.find((known) => !this.model.isPurging(known))
    if (unasked) this.#complainOf('G6 durability', unasked, 'It is gone, and nobody purged it.')
    for (const known of gone) this.model.forget(known)
  }

  async #comparePools(): Promise<void> {
    const { pools, shares } = this.#rules
    for (const { name, taken } of await this.#store.pools(Object.keys(pools))) {
      this.#check('pool', { name, max: pools[name]!, taken }, () => 'the store says')
    }
    for (const { pool, machine, states, amount } of shares) {
      let taken = 0
      for (const known of this.model.all) {
        if (known.machine.name === machine && states.includes(known.state)) taken += amount(JSON.parse(known.row.data))
      }
      this.#check('pool', { name: pool, max: pools[pool]!, taken }, () => 'counted by states')
    }
  }

  async #compareLanes(parents: ReadonlySet<EntityId | null>): Promise<void> {
    const asked = [...parents].filter((parent) => {
      const known = parent === null ? undefined : this.model.find(parent)
      return parent === null || (known && !this.model.isPurging(known))
    })
    if (asked.length === 0) return
    const lanes = await this.#store.lanes(asked)
    let said = 0
    for (const lane of lanes) {
      const tally = this.model.tally(lane.parent, lane.name)
      if (tally) said += 1
      this.#check('lane', { lane, tally }, () => `lane ${lane.name} of ${lane.parent ?? 'the roots'}`)
    }
    const kept = asked.reduce<number>((sum, parent) => sum + this.model.lanesOf(parent).size, 0)
    if (said !== kept) this.#complain('G9 conservation', `${kept - said} lanes of ${asked.join(', ')} are not there.`)
  }

  /** Everything once more, from the beginning: rows, lanes, whole histories. */
  async recount(): Promise<void> {
    for (const known of this.model.all) this.#touched.add(known.id)
    await this.#compare()
    const parents = [null, ...[...this.model.all].filter((known) => !this.model.isPurging(known)).map(({ id }) => id)]
    const [drift] = await this.#store.recount(parents, null)
    if (drift) this.#complain('G9 conservation', `Recounting lane ${drift.lane} of ${drift.parent}: ${JSON.stringify(drift)}`)
    for (const known of this.model.all) await this.#rereadHistory(known)
  }

  async #rereadHistory(known: Known): Promise<void> {
    let seq = 0
    let state = known.row.born
    for (;;) {
      const { moves } = await this.#store.events({ entity: known.id, afterSeq: seq, limit: 1_000 })
      if (moves.length === 0) break
      for (const move of moves) {
        if (move.seq !== seq + 1 || move.hops[0]?.from !== state) {
          return this.#complainOf('G2 chain', known, `Row ${move.seq} from ${move.hops[0]?.from} stands behind row ${seq} in ${state}.`)
        }
        seq = move.seq
        state = move.hops.at(-1)!.to
      }
    }
    if (seq !== known.seq || state !== known.state) this.#complainOf('G6 durability', known, `Its history ends at seq ${seq} in ${state}.`)
  }

  // ---- Judging ----

  #check<Kind extends keyof typeof byKind>(kind: Kind, fact: FactOf<Kind>, name: () => string): void {
    for (const invariant of byKind[kind]) {
      const complaint = (invariant[kind] as (fact: FactOf<Kind>) => string | null)(fact)
      if (complaint !== null) this.#complain(invariant.name, `${name()}: ${complaint}`)
    }
  }

  #complainOf(invariant: string, known: Known, message: string): void {
    this.#complain(invariant, `${nameOf(known)}: ${message}`)
  }
}

type Kinds = 'move' | 'fanOut' | 'claim' | 'row' | 'lane' | 'verdict' | 'wait' | 'hold' | 'time' | 'pool'
type FactOf<Kind extends Kinds> = Parameters<NonNullable<Invariant[Kind]>>[0]

const byKind: Readonly<Record<Kinds, readonly Invariant[]>> = {
  move: invariants.filter(({ move }) => move),
  fanOut: invariants.filter(({ fanOut }) => fanOut),
  claim: invariants.filter(({ claim }) => claim),
  row: invariants.filter(({ row }) => row),
  lane: invariants.filter(({ lane }) => lane),
  verdict: invariants.filter(({ verdict }) => verdict),
  wait: invariants.filter(({ wait }) => wait),
  hold: invariants.filter(({ hold }) => hold),
  time: invariants.filter(({ time }) => time),
  pool: invariants.filter(({ pool }) => pool),
}

/** The verbs that can change what the store shows. */
const changing: ReadonlySet<Verb> = new Set(['create', 'claim', 'commit', 'renew', 'release', 'holds', 'purge'])

function nameOf(known: Known): string {
  return `${known.machine.name} ${known.id}`
}

function isEdgeOf(edge: { name: string; from: string; to: string }, hop: Hop): boolean {
  return edge.name === hop.transition && edge.from === hop.from && edge.to === hop.to
}

function sameHops(one: readonly Hop[], other: readonly Hop[]): boolean {
  return one.length === other.length && one.every((hop, index) => hop.transition === other[index]?.transition && hop.from === other[index]?.from)
}

/** A move from outside raises the epoch that it proves. */
function isRecordOf(record: MoveRecord, move: Move): boolean {
  const epoch = move.by === 'outside' ? move.epoch + 1 : move.epoch
  return move.seq === record.seq - 1 && epoch === record.epoch && move.cause === record.cause && sameHops(move.hops, record.hops)
}

/** Whether this claimed entity is what the run asked for: it stands where the run's hops lead. */
function isRunOf(run: ClaimRequest['runs'][number], entity: Entity): boolean {
  const state = run.hops.at(-1)?.to ?? run.state
  return run.machine === entity.machine && state === entity.state && run.edge === (entity.request?.edge ?? null)
}
