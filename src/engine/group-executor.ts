import type { Occurrence } from '../decide.ts'
import { type GroupProcessor, groupProcessorOf, processorOf } from '../implementation.ts'
import { type Outcome, plainDone } from '../outcome.ts'
import type { Decision } from '../path.ts'
import type { Move, Verdict } from '../store.ts'
import type { Edge } from '../transition.ts'
import type { ProcessorContext } from './context.ts'
import type { Executor, Work } from './executor.ts'
import { occurrenceOf, outcomesOf, runEdge } from './outcomes.ts'
import type { Running } from './running.ts'
import type { Services } from './services.ts'
import { tell } from './telling.ts'

/**
 * Takes entities that were claimed together through the same states together: each processor is asked once for all that are
 * still on their way, and all that ended is committed as one. What becomes of each is decided for it alone.
 */
export class GroupExecutor {
  readonly #services: Services
  readonly #executor: Executor

  constructor(services: Services, executor: Executor) {
    this.#services = services
    this.#executor = executor
  }

  async execute(group: readonly Running[]): Promise<void> {
    const faults: unknown[] = []
    let works: Work[] = []
    for (const running of group) works.push(this.#executor.begin(running))
    while (works.length > 0) {
      const ends: End[] = []
      works = await this.#round(works, ends, faults)
      // What has ended does not wait for the others: its timeout would pass meanwhile.
      await this.#commit(ends, faults)
    }
    // Whoever broke loses its lease; what the others did is saved by now, and theirs is over.
    if (faults.length > 0) throw faults[0]
  }

  /** One processor for each of them, usually the same. Returns those whose cascade goes on. */
  async #round(works: readonly Work[], ends: End[], faults: unknown[]): Promise<Work[]> {
    const goingOn: Work[] = []
    const facts = this.#executor.facts(null)
    const edges: (Edge | null)[] = []
    for (const work of works) edges.push(this.#executor.pathOf(work, facts).choose())
    // All edges at once: the time of those that take the second one runs while the first one's processor does.
    const runs: Promise<void>[] = []
    for (const [edge, some] of byEdge(works, edges)) runs.push(this.#take(edge, some, goingOn, ends, faults))
    await Promise.all(runs)
    return goingOn
  }

  /** Those that take the same edge; null: there is none to take. */
  async #take(
    edge: Edge | null,
    works: readonly Work[],
    goingOn: Work[],
    ends: End[],
    faults: unknown[],
  ): Promise<void> {
    if (!edge) {
      for (const work of works) ends.push({ work, decision: this.#executor.pathOf(work).idle() })
      return
    }
    const occurrences = await this.#run(works, edge)
    const shared = this.#executor.facts(null)
    for (let position = 0; position < works.length; position += 1) {
      const work = works[position] as Work
      const path = this.#executor.pathOf(work)
      const occurrence = occurrences[position] as Occurrence
      // A retry has facts of its own: what failed together is not to be tried again together.
      path.facts = occurrence.cause === 'retry' ? this.#executor.facts(null) : shared
      try {
        const conclusion = this.#executor.conclude(work, path, occurrence)
        if (conclusion === 'goes on') goingOn.push(work)
        else if (conclusion !== 'over') ends.push({ work, decision: conclusion })
      } catch (fault) {
        faults.push(fault)
      }
    }
  }

  async #run(works: readonly Work[], edge: Edge): Promise<readonly Occurrence[]> {
    const { implementation } = (works[0] as Work).running.run
    const processor = processorOf(implementation, edge)
    if (!processor) {
      const done: Occurrence = { cause: 'done', edge }
      return new Array<Occurrence>(works.length).fill(done)
    }
    const spent = new Map<number, Occurrence>()
    const contexts: ProcessorContext[] = []
    const ran: Work[] = []
    for (let position = 0; position < works.length; position += 1) {
      const work = works[position] as Work
      const path = this.#executor.pathOf(work)
      const over = this.#executor.spentOn(work, path, edge)
      if (over) spent.set(position, over)
      else {
        contexts.push(this.#executor.contextOf(work, path, edge))
        ran.push(work)
      }
    }
    const many = edge.then ? null : groupProcessorOf(processor)
    const one = (context: ProcessorContext) => runEdge(implementation, edge, processor, context)
    const outcomes = many && contexts.length > 1 ? await runMany(many, contexts, one) : await all(contexts.map(one))
    const plain = occurrenceOf(edge, plainDone)
    const occurrences: Occurrence[] = []
    const { report } = this.#services
    const { machine } = implementation
    let done = 0
    for (let position = 0; position < outcomes.length; position += 1) {
      const outcome = outcomes[position] as Outcome
      // What was dropped has ended already: it was late, or its lease is over.
      const counts = !ran[position]?.running.dropped
      if (counts && outcome.kind === 'done') done += 1
      else if (counts) report.ended(machine, edge.processor as string, outcome.kind)
      occurrences.push(outcome === plainDone ? plain : occurrenceOf(edge, outcome))
    }
    if (done > 0) report.ended(machine, edge.processor as string, 'done', done)
    // Each in its place: in the order of their positions.
    for (const [position, over] of spent) occurrences.splice(position, 0, over)
    return occurrences
  }

  async #commit(ends: readonly End[], faults: unknown[]): Promise<void> {
    const moves: Move[] = []
    const moved: End[] = []
    for (const end of ends) {
      const parts = { keep: false, context: end.work.context, holds: noHolds }
      const attempt = this.#executor.tryMove(end.work, end.decision, parts)
      if (typeof attempt === 'string') {
        await this.#executor.fail(end.work, attempt).catch((fault) => void faults.push(fault))
      } else {
        moves.push(attempt)
        moved.push(end)
      }
    }
    const verdicts = await this.#services.completer.commitAll(moves)
    for (let position = 0; position < moved.length; position += 1) {
      const { work, decision } = moved[position] as End
      const verdict = verdicts[position] as Verdict
      if (verdict.kind === 'saved') {
        const { entity, run } = work.running
        tell(this.#services, run.implementation.machine, entity, decision)
      } else await this.#executor.after(work, decision, work.context, moves[position] as Move, verdict, null)
    }
  }
}

const noHolds: readonly number[] = []

/** Usually all of them take the same edge: then none is copied. */
function byEdge(
  works: readonly Work[],
  edges: readonly (Edge | null)[],
): readonly (readonly [Edge | null, readonly Work[]])[] {
  const [first = null] = edges
  let alike = 1
  while (alike < edges.length && edges[alike] === first) alike += 1
  if (alike >= edges.length) return [[first, works]]
  return [...Map.groupBy(works, (_, position) => edges[position] ?? null)]
}

/** Where one entity's cascade ended. */
interface End {
  readonly work: Work
  readonly decision: Decision
}

/** If the group breaks, its members are run one by one: the guilty one then stands alone. */
async function runMany(
  many: GroupProcessor,
  contexts: readonly ProcessorContext[],
  one: (context: ProcessorContext) => Outcome | Promise<Outcome>,
): Promise<readonly Outcome[]> {
  const outcomes = await outcomesOf(many, contexts)
  if (outcomes) return outcomes
  // Each begins anew: what the group has spawned for it would otherwise be there twice.
  for (const context of contexts) context.restart()
  return all(contexts.map(one))
}

function all(outcomes: readonly (Outcome | Promise<Outcome>)[]): readonly Outcome[] | Promise<readonly Outcome[]> {
  return outcomes.some(isPromise) ? Promise.all(outcomes) : (outcomes as readonly Outcome[])
}

function isPromise(value: unknown): boolean {
  return value instanceof Promise
}
