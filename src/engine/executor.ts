import { chooseRun, decide, type Occurrence } from '../decide.ts'
import type { Entity, Request, Wait } from '../entity.ts'
import { isSluiceError, messageOf } from '../errors.ts'
import type { Hold } from '../hold.ts'
import { type Facts, type Processor, processorOf } from '../implementation.ts'
import type { Lane } from '../lane.ts'
import { claimPlan, type Machine, policyOf } from '../machine.ts'
import type { Outcome } from '../outcome.ts'
import { type Decision, noChange, Path } from '../path.ts'
import type { Policy } from '../policy.ts'
import type { Move, Verdict } from '../store.ts'
import type { Edge } from '../transition.ts'
import { ProcessorContext } from './context.ts'
import { decideSafely } from './deciding.ts'
import { afterMove, asideOf, withClaimHops } from './moves.ts'
import { occurrenceOf, runEdge, spent, timeoutOf, timeoutReason } from './outcomes.ts'
import type { Run } from './registry.ts'
import { type RunMoveParts, runMove } from './run-move.ts'
import { runServices } from './run-services.ts'
import type { Running } from './running.ts'
import type { Services } from './services.ts'
import { tell } from './telling.ts'

/**
 * Takes one claimed entity as far as it goes: run, get the outcome, decide, cascade, commit; and on with the next state
 * as long as the lease is kept. Ends when the lease does.
 */
export class Executor {
  readonly #services: Services
  readonly #worker: ExecutorWorker

  constructor(services: Services, worker: ExecutorWorker) {
    this.#services = services
    this.#worker = worker
  }

  /** Never rejects: what breaks is the worker's to deal with. */
  async execute(running: Running): Promise<void> {
    try {
      let work: Work | null = this.begin(running)
      if (work.timedOut && !serves(running)) work = await this.#leaveTimeout(work)
      while (work && !running.dropped) {
        // Only what takes time is awaited: a hundred thousand runs a second leave no promise behind that they do not need.
        const run: Conclusion | Promise<Outcome> = this.#run(work)
        const conclusion: Conclusion = run instanceof Promise ? this.#concludeLate(work, await run) : run
        if (conclusion === 'over') break
        if (conclusion !== 'goes on') work = await this.#finish(work, conclusion)
      }
    } catch (error) {
      return this.#worker.broke([running], error)
    }
    this.#worker.ended(running)
  }

  begin(running: Running): Work {
    const { attempts, wait } = running.entity
    // The attempt that timed out is recorded first. This claim only does that, and is no attempt of its own.
    const timedOut = wait.for === 'run' && wait.timedOut === true
    return { running, path: null, edge: null, attempts: timedOut ? attempts - 1 : attempts, context: null, timedOut }
  }

  /**
   * Ends a run that outran its timeout as a throw would have ended it, while its processor is still at work. The hops that it took in memory
   * are dropped.
   */
  async timeOut(running: Running, error: string): Promise<void> {
    await running.writing
    this.#timedOut(running, running.run.processor, error)
    const work = this.begin(running)
    const path = this.pathOf(work)
    const { attempts } = running.isFurther ? { attempts: 1 } : work
    const occurrence: Occurrence = { cause: 'retry', error, reason: timeoutReason, processor: running.run.processor }
    const decision = decideSafely(path, attempts, occurrence) ?? path.paused()
    const move = this.tryMove(work, decision, { keep: false, context: null, holds: null })
    if (typeof move === 'string') await this.fail(work, move)
    else await this.after(work, decision, null, move, await this.#services.completer.commit(move), null)
  }

  /** Made when first needed: parsed data and facts belong to a run, not to a lease that was just kept. */
  pathOf(work: Work, facts?: Facts): Path {
    if (work.path) return work.path
    const { entity, run } = work.running
    const { hopsMax } = this.#services.limits
    const data: unknown = JSON.parse(entity.data)
    work.path = new Path(run.implementation, entity, data, facts ?? this.facts(entity.request), hopsMax)
    return work.path
  }

  /** What is to be done about a run that has ended. Work that was not accepted leaves nothing that it spawned. */
  conclude(work: Work, path: Path, occurrence: Occurrence): Conclusion {
    const { running } = work
    if (running.dropped) return 'over'
    // Told to end by a process that stops, it did not get through: that is no failure. The lease goes back as it came, and the attempt with it.
    if (running.aborted && occurrence.cause === 'retry') return 'over'
    const decision = decideSafely(path, running.isFurther ? 1 : work.attempts, occurrence)
    if (path.isAccepted) work.context?.keep()
    else work.context?.drop()
    if (decision) return work.timedOut && decision.attempts === 'stay' ? { ...decision, attempts: 'back' } : decision
    // An inline edge: its processor runs next, and nothing is written in between. What a person gave along was for the edge before.
    if (path.facts.input !== null || path.facts.actor !== null) path.facts = this.facts(null)
    running.begin(path.facts.now, path.policy(path.runs?.processor).timeoutMs)
    work.attempts = 1
    work.timedOut = false
    return 'goes on'
  }

  /** One processor and what follows from it; or its outcome, if that takes time. */
  #run(work: Work): Conclusion | Promise<Outcome> {
    const path = this.pathOf(work)
    const edge = path.choose()
    work.edge = edge
    if (!edge) return path.idle()
    const { implementation } = work.running.run
    const processor = processorOf(implementation, edge)
    // Nothing runs, so nothing can go wrong: attempts that accidents have spent do not matter, and there may be no edge to fail by.
    if (!processor) return this.conclude(work, path, { cause: 'done', edge })
    const over = this.spentOn(work, path, edge)
    if (over) return this.conclude(work, path, over)
    if (edge.on === 'children') return this.#runOverChildren(work, path, edge, processor)
    const outcome = runEdge(implementation, edge, processor, this.contextOf(work, path, edge))
    return outcome instanceof Promise ? outcome : this.conclude(work, path, this.#occurrence(work, edge, outcome))
  }

  async #runOverChildren(work: Work, path: Path, edge: Edge, processor: Processor): Promise<Outcome> {
    const { entity, run } = work.running
    const lanes = await runServices(this.#services, work.running).store.lanes([entity.id])
    return runEdge(run.implementation, edge, processor, this.contextOf(work, path, edge, lanes))
  }

  #concludeLate(work: Work, outcome: Outcome): Conclusion {
    // A checkpoint may have begun a new path meanwhile.
    const path = this.pathOf(work)
    path.facts = this.facts(path.request)
    return this.conclude(work, path, this.#occurrence(work, work.edge as Edge, outcome))
  }

  #occurrence({ running }: Work, edge: Edge, outcome: Outcome): Occurrence {
    const { machine } = running.run.implementation
    // What was dropped has ended already: it was late, or its lease is over.
    if (!running.dropped) this.#services.report.ended(machine, edge.processor as string, outcome.kind)
    if (outcome.kind === 'poll' && outcome.elsewhere) this.#worker.avoid(running.entity)
    return occurrenceOf(edge, outcome)
  }

  #timedOut({ entity, run }: Running, processor: string | null, error: string): void {
    const { report } = this.#services
    const { machine } = run.implementation
    report.ended(machine, processor ?? run.state, 'timeout')
    const fields = { entity: entity.id, machine: machine.name, processor, attempt: entity.attempts }
    report.write('warn', `timeout ${machine.name} ${processor}`, fields, error)
  }

  /** It does not run: its last run timed out and nobody has recorded that yet, or accidents have used up all its attempts. */
  spentOn(work: Work, path: Path, edge: Edge): Occurrence | null {
    const { attemptsMax, timeoutMs } = path.policy(edge.processor)
    // The worker began it by what the machine says; its own time may be another.
    if (timeoutMs !== work.running.timeoutMs) work.running.limit(timeoutMs)
    if (work.timedOut) {
      const occurrence = timeoutOf(path.entity, edge, timeoutMs)
      this.#timedOut(work.running, edge.processor ?? null, occurrence.error)
      return occurrence
    }
    return work.attempts > attemptsMax ? spent(path.entity.error, attemptsMax) : null
  }

  contextOf(work: Work, path: Path, edge: Edge, lanes: readonly Lane[] = noLanes): ProcessorContext {
    this.#services.report.started(path.entity, edge.processor as string, work.attempts)
    if (work.context) work.context.turn(path, edge, work.attempts, lanes)
    else work.context = this.#newContext(work, path, edge, lanes)
    return work.context
  }

  #newContext(work: Work, path: Path, edge: Edge, lanes: readonly Lane[]): ProcessorContext {
    const settle = () => this.#settle(work)
    return new ProcessorContext(this.#services, work.running, path, edge, work.attempts, lanes, settle)
  }

  /** Writes the hops taken in memory and keeps the lease: what a processor makes durable must not be ahead of its state. */
  async #settle(work: Work): Promise<void> {
    const { running, path } = work
    if (!path || path.hops === 0) return
    const decision = path.soFar()
    const move = runMove(this.#services, running, decision, {
      keep: true,
      context: null,
      settling: work.context,
      holds: [],
    })
    const { runs } = path
    const verdict = await this.#services.completer.commit(move)
    if (verdict.kind !== 'saved') {
      running.dropped = true
      throw new Error(`The hops before were not saved: ${verdict.kind}.`)
    }
    tell(this.#services, running.run.implementation.machine, running.entity, decision)
    work.context?.settled()
    running.entity = afterMove(running.entity, move)
    running.wrote = false
    // From here on the path begins where that move ended, in the run that is under way.
    const { hopsMax } = this.#services.limits
    work.path = new Path(running.run.implementation, running.entity, path.data, path.facts, hopsMax)
    work.path.runs = runs
  }

  facts(request: Request | null, holds: readonly Hold[] = noHolds): Facts {
    const { store, clock } = this.#services
    return {
      now: store.time(),
      random: clock.random(),
      lanes: null,
      holds,
      input: request?.input ? JSON.parse(request.input) : null,
      actor: request?.actor ?? null,
      reason: request?.reason ?? null,
      error: null,
    }
  }

  /** Where it goes on. Null: the lease is over. */
  #finish(work: Work, decision: Decision): Promise<Work | null> {
    const { context } = work
    this.#worker.returned(work.running)
    const next = this.#next(work, decision)
    const going = next ? withClaimHops(work.running.run.implementation.machine, decision) : decision
    const parts = { keep: next !== null, context, holds: noHolds, passes: next?.claim.passes }
    const attempt = this.tryMove(work, going, parts)
    if (typeof attempt === 'string') {
      if (next) this.#worker.unreserve(next)
      return this.fail(work, attempt)
    }
    return this.#services.completer.commit(attempt).then((verdict) => {
      if (next && verdict.kind !== 'saved') this.#worker.unreserve(next)
      return this.after(work, decision, context, attempt, verdict, next)
    })
  }

  /** What follows from the store's verdict. */
  after(
    work: Work,
    decision: Decision,
    context: ProcessorContext | null,
    move: Move,
    verdict: Verdict,
    next: Run | null,
  ): Work | null | Promise<Work | null> {
    const { running } = work
    switch (verdict.kind) {
      case 'saved':
        tell(this.#services, running.run.implementation.machine, running.entity, decision)
        if (!next) return null
        // Dropped while the move was being written (it was late, or the worker's lease was lost): nobody goes on with it here.
        if (running.dropped) {
          this.#worker.unreserve(next)
          return null
        }
        running.entity = afterMove(running.entity, move)
        running.wrote = false
        this.#worker.goOn(running, next)
        return this.begin(running)
      case 'stale':
        return this.#reconsider(work, move)
      case 'held':
        return this.#held(work, decision, context, verdict.holds)
      case 'full':
        return this.#waitForRoom(work, move, verdict.pool)
      case 'refused':
        return this.fail(work, verdict.message)
      default:
        return verdict satisfies never
    }
  }

  /**
   * 'stale': usually the lease is over, and another's result stands; ours is dropped, never merged. But a move over children
   * is also stale if they have changed since: then the lease still holds, and the entity waits to be judged anew.
   */
  async #reconsider(work: Work, move: Move): Promise<null> {
    if (move.read) return this.#wait(work, { for: 'children', at: this.#services.store.time() }, null)
    this.#worker.doubt()
    return null
  }

  /**
   * Claimable again when the pool has room for one. Whoever needs more than that may find too little every time, while
   * others hold the rest for long: it asks again with a pause, not as fast as it can.
   */
  #waitForRoom(work: Work, move: Move, pool: string): Promise<null> {
    const { store, limits } = this.#services
    const amount = move.takes.find((take) => take.pool === pool)?.amount ?? 1
    return this.#wait(work, { for: 'run', at: store.time() + (amount > 1 ? limits.pollMs : 0), pool })
  }

  /** Ends the lease without a hop; all that was done in memory is dropped. */
  async #wait(work: Work, wait: Wait, request?: null): Promise<null> {
    const { entity } = work.running
    const move: Move = {
      ...asideOf(entity, {}),
      keep: false,
      wait,
      attempts: 'back',
      ...(request === null ? { request: null } : {}),
    }
    return this.#commitLast(move)
  }

  /** This process does not know how many attempts it may have. It leaves the timeout to a process that does. */
  #leaveTimeout(work: Work): Promise<null> {
    const { store, limits } = this.#services
    this.#worker.avoid(work.running.entity)
    return this.#wait(work, { for: 'run', at: store.time() + limits.pollMs, timedOut: true })
  }

  /** Whatever it is answered, the run is over. */
  async #commitLast(move: Move, onSaved = () => {}): Promise<null> {
    const verdict = await this.#services.completer.commit(move)
    if (verdict.kind === 'saved') {
      onSaved()
      return null
    }
    this.#worker.doubt()
    if (verdict.kind !== 'stale')
      this.#services.log.error({ entity: move.id, verdict }, 'the end of a run was not saved')
    return null
  }

  /** A hold was set meanwhile: decided anew with the hold as a fact, for machines that have an edge for it; saved all the same, without going on. */
  async #held(
    work: Work,
    decision: Decision,
    context: ProcessorContext | null,
    holds: readonly Hold[],
  ): Promise<Work | null> {
    const known = holds.map((hold) => hold.id)
    const again = this.#redecide(work, holds) ?? decision
    const attempt = this.tryMove(work, again, {
      keep: false,
      context: again === decision ? context : null,
      holds: known,
    })
    if (typeof attempt === 'string') return this.fail(work, attempt)
    const verdict = await this.#services.completer.commit(attempt)
    // Another hold in this very moment: known holds only grow, so this ends.
    if (verdict.kind === 'held') return this.#held(work, decision, context, [...holds, ...verdict.holds])
    return this.after(work, again, context, attempt, verdict, null)
  }

  /** Another `done` edge of the claimed state, chosen now that the hold is known. Null: the same edge. */
  #redecide(work: Work, holds: readonly Hold[]): Decision | null {
    const { running } = work
    const { implementation } = running.run
    const entity = running.entity
    const data = JSON.parse(entity.data)
    const facts = this.facts(entity.request, holds)
    const before = chooseRun(implementation, entity, data, this.facts(entity.request))
    const edge = chooseRun(implementation, entity, data, facts)
    if (!edge || edge.name === before?.name) return null
    return decide(
      implementation,
      entity,
      data,
      running.entity.attempts,
      { cause: 'done', edge },
      facts,
      this.#services.limits.hopsMax,
    )
  }

  /** What it did cannot be kept: it fails, without what it did. */
  async fail(work: Work, message: string): Promise<null> {
    const { running } = work
    const { implementation } = running.run
    const failure = decide(
      implementation,
      running.entity,
      JSON.parse(running.entity.data),
      1,
      { cause: 'fail', reason: 'result refused', error: message },
      this.facts(running.entity.request),
      this.#services.limits.hopsMax,
    )
    const parts = { keep: false, context: null, holds: null }
    const first = this.tryMove(work, failure, parts)
    // Even what its failing would write cannot be kept: then it fails with what it had. Nothing stays where it is because of that.
    const attempt =
      typeof first === 'string' ? this.tryMove(work, { ...failure, data: undefined, change: noChange }, parts) : first
    if (typeof attempt === 'string') {
      this.#services.log.error({ entity: running.entity.id, machine: implementation.machine.name }, attempt)
      return null
    }
    return this.#commitLast(attempt, () => tell(this.#services, implementation.machine, running.entity, failure))
  }

  /** A text says why what it did cannot be kept. */
  tryMove({ running }: Work, decision: Decision, parts: RunMoveParts): Move | string {
    try {
      return runMove(this.#services, running, decision, parts)
    } catch (error) {
      if (!isSluiceError(error)) throw error
      return messageOf(error)
    }
  }

  /** The lease is kept where the next state's processor has a free place here and needs no pool of its own. Null: it ends. */
  #next({ running }: Work, decision: Decision): Run | null {
    if (running.aborted || decision.hops.length === 0 || decision.settled || decision.request) return null
    // A retry or a poll is the same work again: it is claimed anew, so that its attempts are counted.
    if (decision.attempts !== 'reset') return null
    const { wait } = decision
    if (wait.for !== 'run' || wait.gated || wait.pool !== undefined || wait.at > this.#services.store.time())
      return null
    const { machine } = running.run.implementation
    const plan = claimPlan(machine, decision.state)
    if (!plan || isLimited(running.run.policy) || isLimited(policyOf(machine, plan.processor))) return null
    return this.#worker.reserve(machine, decision.state)
  }
}

/** What the executor asks of its worker. */
export interface ExecutorWorker {
  /** A free place for the state's processor; null: none, or it is not served here. */
  reserve(machine: Machine, state: string): Run | null
  unreserve(run: Run): void
  /** The lease was kept: the entity goes on in the reserved place. */
  goOn(running: Running, run: Run): void
  /** The processor is through; only the commit is awaited. */
  returned(running: Running): void
  /** This process cannot do it: it and its siblings are left to others. */
  avoid(entity: Entity): void
  /** A run ended and was not saved: the store may still keep its lease for this worker. */
  doubt(): void
  /** Its lease is over. */
  ended(running: Running): void
  /** The executor turns every failure into an outcome; what still throws is a fault of ours. */
  broke(group: readonly Running[], error: unknown): Promise<void>
}

/** What to do with it now, unless its run is over or an inline edge's processor comes next. */
export type Conclusion = Decision | 'goes on' | 'over'

/** One claimed entity on its way through states. */
export interface Work {
  readonly running: Running
  /** As decided so far; `running.entity` is as stored. */
  path: Path | null
  /** Whose processor runs. */
  edge: Edge | null
  attempts: number
  context: ProcessorContext | null
  /** The store ended the lease of the run before, which outran its timeout. */
  timedOut: boolean
}

/** Whether this process can do the entity's work, not only its machine's. */
function serves({ run, entity }: Running): boolean {
  const { serves } = run.implementation.tuning
  return serves === undefined || serves.names.includes(serves.nameOf(JSON.parse(entity.data)))
}

function isLimited(policy: Policy): boolean {
  return policy.concurrency !== null || policy.concurrencyPer !== null
}

const noLanes: readonly never[] = []
const noHolds: readonly never[] = []
