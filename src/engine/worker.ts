import { sleep } from '../clock.ts'
import type { Entity } from '../entity.ts'
import { isSluiceError, messageOf, SluiceError } from '../errors.ts'
import type { WorkerIdentity } from '../lease.ts'
import { claimPlan, type Machine } from '../machine.ts'
import type { ClaimRun } from '../store.ts'
import { Avoided } from './avoided.ts'
import { Executor } from './executor.ts'
import { GroupExecutor } from './group-executor.ts'
import { Membership } from './membership.ts'
import { backstopMs, Patrol } from './patrol.ts'
import { placeOf, type Run } from './registry.ts'
import { Running } from './running.ts'
import { RunningSet } from './running-set.ts'
import type { Services } from './services.ts'
import { gatherMs, Slots } from './slots.ts'
import { StrayLeases } from './stray-leases.ts'
import type { Trouble } from './trouble.ts'

/** Claims what it can start soon, runs it, and keeps its lease alive. One per process. */
export class Worker {
  readonly #services: Services
  readonly #executor: Executor
  readonly #groups: GroupExecutor
  readonly #patrol: Patrol
  readonly #membership: Membership
  readonly #trouble: Trouble
  readonly #runs: readonly Run[]
  /** By the place where the processor runs. */
  readonly #slots = new Map<string, Slots>()
  #lastSlots: { readonly run: Run; readonly slots: Slots } | null = null
  readonly #runByPlace = new Map<string, Run>()
  #lastClaimed: { name: string; version: number; state: string; run: Run } | null = null
  readonly #running = new RunningSet()
  #state: 'idle' | 'working' | 'draining' | 'ended' = 'idle'
  #claiming = false
  #current: Promise<void> | null = null
  #again = false
  /** Nothing waits for these: a place that becomes free is no reason to ask. Until somebody says that there is something. */
  readonly #dry = new Set<Run>()
  readonly #avoided = new Avoided()
  #looks = 0
  #cancelPoll = () => {}
  #cancelLook: (() => void) | null = null
  readonly #strays: StrayLeases
  #whenEmpty: (() => void)[] = []

  constructor(services: Services, identity: WorkerIdentity) {
    this.#services = services
    this.#trouble = services.troubles.of('claiming')
    this.#strays = new StrayLeases(services, this.#running)
    const { roles } = identity
    this.#runs = services.registry.runs.filter(
      (run) => roles.length === 0 || run.policy.role === null || roles.includes(run.policy.role),
    )
    for (const run of this.#runs) {
      if (this.#slots.has(run.place)) continue
      this.#slots.set(run.place, new Slots(run.policy, run.isGrouped))
      this.#runByPlace.set(run.place, run)
    }
    this.#executor = new Executor(services, {
      reserve: (machine, state) => this.#reserve(machine, state),
      goOn: (running, run) => this.#goOn(running, run),
      unreserve: (run) => this.#free(this.#slotsOf(run)),
      returned: (running) => this.#returned(running),
      avoid: (entity) => this.#avoided.add(entity),
      doubt: () => this.#doubt(),
      ended: (running) => this.#over(running),
      broke: (group, error) => this.#broke(group, error),
    })
    services.completer.onRelief(() => {
      for (const slots of this.#slots.values()) this.#beginNext(slots)
    })
    this.#membership = new Membership(services, identity, {
      lost: (worker) => this.#lost(worker),
      regained: () => this.look(),
    })
    this.#groups = new GroupExecutor(services, this.#executor)
    this.#patrol = new Patrol(services, this.#running, {
      id: () => this.#membership.id,
      watch: ({ entity, deadline }) => this.#membership.heart?.watch(entity.id, entity.epoch, deadline + backstopMs),
      timeOut: (running, error) => void this.#timeOut(running, error),
      drop: (running, reason) => this.#drop(running, reason),
      giveBack: (all) => void this.#giveBack(all),
    })
  }

  get id(): number | null {
    return this.#membership.id
  }

  /** How many entities it holds. */
  get held(): number {
    return this.#running.size
  }

  async start(): Promise<void> {
    this.#state = 'working'
    await this.#membership.join()
    this.#poll()
    this.look()
  }

  /** Something may be waiting. Called by signals; calls in between are merged. */
  look(): void {
    this.#looks += 1
    this.#dry.clear()
    this.#lookForMore()
  }

  /** There is room again, or more to be had. */
  #lookForMore(): void {
    this.#again = true
    if (this.#claiming || this.#state !== 'working') return
    this.#claiming = true
    this.#services.clock.soon(() => {
      this.#current = this.#claimAll()
    })
  }

  /** Some leases may have been ended from outside: whatever runs without one is aborted. */
  lookForEnded(): void {
    if (this.#running.size > 0) void this.#patrol.lookForEnded()
  }

  /** Stops claiming, waits for what runs, aborts it after `drainMs`, gives the rest back. States stay as they are. */
  async stop(): Promise<void> {
    if (this.#state !== 'working') return
    this.#state = 'draining'
    this.#membership.close()
    this.#cancelPoll()
    this.#cancelLook?.()
    await this.#current
    await this.#giveBack([...this.#slots.values()].flatMap((slots) => slots.queue))
    await this.#drained(this.#services.limits.drainMs)
    for (const running of this.#running) running.abort(new SluiceError('lease_lost', 'This process is stopping.'))
    await this.#drained(Math.min(1_000, this.#services.limits.drainMs))
    for (const running of this.#running) running.dropped = true
    this.#state = 'ended'
    this.#patrol.stop()
    await this.#membership.leave()
  }

  /** Those of a group have the same run: its slots are looked up once. */
  #slotsOf(run: Run): Slots {
    if (this.#lastSlots?.run === run) return this.#lastSlots.slots
    const slots = this.#slots.get(run.place) as Slots
    this.#lastSlots = { run, slots }
    return slots
  }

  /** A place for the next state's processor, if it is served here and one is free: then the lease may be kept. */
  #reserve(machine: Machine, state: string): Run | null {
    const run = this.#runByPlace.get(placeOf(machine, claimPlan(machine, state)?.state ?? state, null))
    if (!run || this.#state !== 'working') return null
    const slots = this.#slotsOf(run)
    if (slots.isFull || slots.queue.length > 0) return null
    slots.active += 1
    return run
  }

  /** The move was saved and the lease kept: the entity goes on in the place that was reserved for it. */
  #goOn(running: Running, run: Run): void {
    const now = this.#services.store.time()
    this.#slotsOf(running.run).end(now)
    running.run = run
    running.active = true
    running.begin(now, run.policy.timeoutMs)
    this.#slotsOf(run).accept(now)
  }

  #free(slots: Slots): void {
    slots.active -= 1
    this.#beginNext(slots)
  }

  /** The lease is gone: others have, or will have, what we held. Nothing of it is ours any more. */
  #lost(worker: number): void {
    const reason = new SluiceError('lease_lost', 'The worker lost its lease.')
    void this.#strays.giveBackOf(worker).then(() => this.look())
    for (const running of [...this.#running]) this.#drop(running, reason)
  }

  #poll(): void {
    const { clock, limits } = this.#services
    // Jitter keeps processes that started together from polling together.
    this.#cancelPoll = clock.after(limits.pollMs * (0.75 + clock.random() / 2), () => {
      this.look()
      if (this.#state === 'working') this.#poll()
    })
  }

  async #claimAll(): Promise<void> {
    let worker = this.#membership.id
    try {
      while (this.#again && this.#state === 'working' && this.#membership.id !== null) {
        worker = this.#membership.id
        this.#again = false
        await this.#strays.giveBack(worker)
        if (await this.#claim(worker)) this.#again = true
        this.#trouble.over()
      }
    } catch (error) {
      await this.#recover(error, worker)
    } finally {
      this.#claiming = false
    }
    if (this.#again && this.#state === 'working' && this.#membership.id !== null) this.#lookForMore()
  }

  /** True: there may be more. */
  async #claim(worker: number): Promise<boolean> {
    const { store, limits } = this.#services
    const claimable = this.#claimable()
    if (claimable.size === 0) return false
    const [asked, runs] = [[...claimable.keys()], [...claimable.values()]]
    const looks = this.#looks
    const room = runs.reduce((sum, run) => sum + run.limit, 0)
    const limit = Math.min(limits.claimMax, room)
    const request = { worker, runs, limit, bytes: limits.claimBytesMax, awaits: true, ...this.#avoided.request }
    const { entities, suspects, idle = [] } = await store.claim(request)
    // The lease was lost while the claim was under way: the answer belongs to a worker that is no more.
    if (this.#membership.id !== worker) return false
    if (this.#state !== 'working') return this.#refuse(worker, entities)
    // Unless something was said to be there meanwhile.
    if (this.#looks === looks)
      asked.forEach((run, position) => {
        if (idle.includes(runs[position] as ClaimRun)) this.#dry.add(run)
      })
    const now = store.time()
    const taken: Running[] = []
    for (const entity of entities) taken.push(new Running(entity, this.#runFor(entity), now))
    for (const { run } of taken) this.#slotsOf(run).claimed(now)
    const grouped = new Map<Run, Running[]>()
    for (const running of taken) {
      // Whoever is tried again is tried alone: its group may have hung because of another, and would again.
      if (!running.run.isGrouped || running.entity.attempts !== 1) this.#accept(running)
      else if (!grouped.get(running.run)?.push(running)) grouped.set(running.run, [running])
    }
    for (const group of grouped.values()) this.#beginGroup(group)
    if (entities.length > 0) this.#patrol.start()
    return entities.length > 0 && idle.length < runs.length && !(suspects && entities.length < limit)
  }

  /** The worker was stopped while the claim was under way: nothing new is begun. */
  async #refuse(worker: number, leases: readonly Entity[]): Promise<false> {
    if (leases.length > 0) await this.#services.store.release({ kind: 'give_back', worker, leases })
    return false
  }

  #claimable(): ReadonlyMap<Run, ClaimRun> {
    const { limits, store } = this.#services
    const claims = new Map<Run, ClaimRun>()
    const now = store.time()
    let gaps = false
    for (const run of this.#runs) {
      if (this.#dry.has(run)) continue
      const slots = this.#slotsOf(run)
      const room = slots.room(limits.claimAheadMs, limits.claimMax, now)
      if (room > 0) claims.set(run, { ...run.claim, limit: room })
      else if (slots.hasGap) gaps = true
    }
    if (gaps) this.#lookSoon()
    return claims
  }

  /** Places that stand idle are filled in a moment, whether or not another run ends by then. */
  #lookSoon(): void {
    if (this.#cancelLook || this.#state !== 'working') return
    this.#cancelLook = this.#services.clock.after(gatherMs, () => {
      this.#cancelLook = null
      this.#lookForMore()
    })
  }

  #runFor(entity: Entity): Run {
    const { machine: name, version, state, request } = entity
    // Most entities of a claim are alike: the place is named once for all of them.
    const last = this.#lastClaimed
    if (last && last.name === name && last.version === version && last.state === state && !request) return last.run
    const run = this.#runByPlace.get(placeOf({ name, version }, state, request?.edge ?? null))
    if (run && !request) this.#lastClaimed = { name, version, state, run }
    if (run) return run
    throw new SluiceError(
      'internal',
      `The store gave out ${entity.machine} in ${entity.state}, which this worker does not serve.`,
    )
  }

  #accept(running: Running): void {
    this.#running.add(running)
    const slots = this.#slotsOf(running.run)
    slots.accept(this.#services.store.time())
    if (slots.isFull || this.#services.completer.isBurdened) slots.queue.push(running)
    else this.#begin(running, slots)
  }

  #begin(running: Running, slots: Slots): void {
    const now = this.#services.store.time()
    running.begin(now, running.run.policy.timeoutMs)
    running.active = true
    slots.active += 1
    void this.#executor.execute(running)
  }

  #beginGroup(group: readonly Running[]): void {
    const now = this.#services.store.time()
    for (const running of group) {
      const slots = this.#slotsOf(running.run)
      this.#running.add(running)
      slots.accept(now)
      slots.active += 1
      running.active = true
      running.begin(now, running.run.policy.timeoutMs)
    }
    void this.#executeGroup(group)
  }

  async #executeGroup(group: readonly Running[]): Promise<void> {
    try {
      await this.#groups.execute(group)
    } catch (error) {
      return this.#broke(group, error)
    }
    const now = this.#services.store.time()
    for (const running of group) this.#over(running, now)
  }

  /** What a run threw is a fault of ours, and loses nothing: the lease ends. */
  async #broke(group: readonly Running[], error: unknown): Promise<void> {
    // This process has stopped, and given back what it held.
    if (this.#state === 'ended') return
    const leases = group.filter((running) => !running.dropped).map((running) => running.entity)
    this.#services.log.error({ entity: leases[0]?.id, error: messageOf(error) }, 'a run broke; its lease ends')
    for (const running of group) running.dropped = true
    // A rule that breaks each time would otherwise be claimed and given back as fast as the store can.
    await sleep(this.#services.clock, this.#services.limits.pollMs)
    const release = this.#services.store.release({ kind: 'timed_out', leases, error: messageOf(error) })
    await release.catch(() => this.#doubt())
    const now = this.#services.store.time()
    for (const running of group) this.#over(running, now)
  }

  /** Its place is free at once, but it is counted among those that run until its error is saved: nobody gives its lease back before. */
  async #timeOut(running: Running, error: string): Promise<void> {
    running.dropped = true
    running.timingOut = true
    running.abort(new SluiceError('lease_lost', error))
    this.#returned(running)
    try {
      await this.#executor.timeOut(running, error)
    } catch (fault) {
      this.#services.log.error({ entity: running.entity.id, error: messageOf(fault) }, 'a timeout was not recorded')
      const release = this.#services.store.release({ kind: 'timed_out', leases: [running.entity], error })
      await release.catch(() => this.#doubt())
    }
    running.timingOut = false
    this.#ended(running)
  }

  #over(running: Running, now = this.#services.store.time()): void {
    if (running.timingOut) return
    if (running.dropped) this.#doubt()
    this.#ended(running, now)
  }

  /** The processor is through; the next one may begin while the move is being written. */
  #returned(running: Running): void {
    if (!running.active) return
    running.active = false
    if (running.watched) this.#membership.heart?.unwatch(running.entity.id)
    this.#free(this.#slotsOf(running.run))
  }

  #ended(running: Running, now = this.#services.store.time()): void {
    this.#returned(running)
    if (!this.#running.has(running)) return
    this.#forget(running)
    this.#slotsOf(running.run).end(now)
    this.#lookForMore()
  }

  #forget(running: Running): void {
    this.#running.delete(running)
    if (this.#running.size > 0) return
    for (const resolve of this.#whenEmpty.splice(0)) resolve()
  }

  #beginNext(slots: Slots): void {
    while (this.#state === 'working' && !slots.isFull && !this.#services.completer.isBurdened) {
      const next = slots.queue.shift()
      if (!next) break
      if (!next.dropped) this.#begin(next, slots)
    }
    if (slots.queue.length === 0) this.#lookForMore()
  }

  /** The lease over one entity ended elsewhere. */
  #drop(running: Running, reason: Error): void {
    if (running.dropped) return
    running.dropped = true
    running.abort(reason)
    const { queue } = this.#slotsOf(running.run)
    const position = queue.indexOf(running)
    if (position >= 0) queue.splice(position, 1)
    this.#ended(running)
  }

  #doubt(): void {
    this.#strays.doubt()
    this.look()
  }

  async #recover(error: unknown, worker: number | null): Promise<void> {
    const { clock } = this.#services
    if (isSluiceError(error, 'lease_lost')) return this.#membership.denied(worker)
    this.#strays.doubt()
    const pauseMs = this.#trouble.failed(error)
    await new Promise<void>((resolve) => clock.after(pauseMs, resolve))
    this.#again = true
  }

  async #giveBack(all: readonly Running[]): Promise<void> {
    const worker = this.#membership.id
    if (worker === null || all.length === 0) return
    for (const running of all) {
      if (!running.dropped) this.#drop(running, new SluiceError('lease_lost', 'Given back.'))
    }
    const leases = all.map(({ entity }) => ({ id: entity.id, epoch: entity.epoch }))
    try {
      await this.#services.store.release({ kind: 'give_back', worker, leases })
    } catch (error) {
      this.#services.log.debug({ error: messageOf(error) }, 'giving back failed; it is done with the next claim')
      this.#doubt()
    }
  }

  #drained(withinMs: number): Promise<void> {
    if (this.#running.size === 0) return Promise.resolve()
    return new Promise((resolve) => {
      const cancel = this.#services.clock.after(withinMs, resolve)
      this.#whenEmpty.push(() => {
        cancel()
        resolve()
      })
    })
  }
}
