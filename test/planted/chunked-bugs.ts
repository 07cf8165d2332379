import { type Bug, inUnit } from './bug.ts'
import { anyJobs, inChunkedSimulation, rerunJobs } from './chunked-seeds.ts'

const caughtBy = inChunkedSimulation(anyJobs)
const caughtByReruns = inChunkedSimulation(rerunJobs)

const judgement = 'workflows/chunked/judgement.ts'
const jobRules = 'workflows/chunked/job-rules.ts'
const jobMachine = 'workflows/chunked/job-machine.ts'
const chunkRules = 'workflows/chunked/chunk-rules.ts'
const chunkProcessor = 'workflows/chunked/chunk-processor.ts'
const sink = 'workflows/chunked/sink.ts'
const reduction = 'workflows/chunked/reduction.ts'

/** What the chunked family can do wrong on an engine that does everything right. */
export const chunkedBugs: readonly Bug[] = [
  {
    name: 'failures-overlooked',
    what: 'A job with failed chunks goes on, and completes.',
    file: judgement,
    find: "if (isBeyond(plan, steps, frontier)) return { kind: 'failed' }",
    replace: '',
    caughtBy,
  },
  {
    name: 'tolerance-off-by-one',
    what: 'A job tolerates one failure more than it says.',
    file: judgement,
    find: '> tolerance.failures',
    replace: '> tolerance.failures + 1',
    caughtBy,
  },
  {
    name: 'share-of-what-is-not-known-yet',
    what: 'A share of failures is judged while the step before may still give out chunks: the first failure is a hundred per cent.',
    file: judgement,
    find: 'frontier < 0 ? steps : steps.slice(0, frontier + 1)',
    replace: 'steps',
    caughtBy,
  },
  {
    name: 'gates-opened-together',
    what: 'With a gate all later ones open: their chunks run beside those of the steps before.',
    file: jobRules,
    find: '{ open: [step.id] }',
    replace: '{ open: data.plan.steps.slice(judged.to).map(({ id }) => id) }',
    caughtBy,
  },
  {
    name: 'gate-left-shut',
    what: 'The current step moves, and its gate stays shut: its chunks wait for ever.',
    file: jobRules,
    find: '{ open: [step.id] }',
    replace: '{ open: [] }',
    caughtBy,
  },
  {
    name: 'second-reducer',
    what: 'A job that reduces again after a rerun has a second REDUCER chunk.',
    file: jobRules,
    find: 'ordinal: ordinals.reducer,',
    replace: 'ordinal: ordinals.reducer + now,',
    caughtBy: caughtByReruns,
  },
  {
    name: 'rerun-leaves-gates-open',
    what: 'A job that is run again leaves the gates behind the step where it begins open.',
    file: jobRules,
    find: 'const shut = gated.filter(({ isReached }) => !isReached).map(({ id }) => id)',
    replace: 'const shut: string[] = []',
    caughtBy: caughtByReruns,
  },
  {
    name: 'rerun-behind-its-own-gate',
    what: 'A job that is run again from a step whose gate was never opened waits there for ever.',
    file: jobRules,
    find: 'const open = gated.filter(({ isReached }) => isReached).map(({ id }) => id)',
    replace: 'const open: string[] = []',
    caughtBy: inUnit(
      'test/chunked-simulation/found.test.ts',
      'what the simulation has found a rerun opens the gate of the step from which it goes on, if that was never opened',
    ),
  },
  {
    name: 'rerun-before-the-gate',
    what: 'A failed chunk behind a gate runs again before the steps in front of it are complete.',
    file: chunkRules,
    find: 'rerunOf(input)?.gated?.includes(lane) ?? false',
    replace: 'rerunOf(input)?.gated === null',
    caughtBy: inUnit(
      'workflows/chunked/rerunning.test.ts',
      'rerun, in time A1: failed chunks of a later gated step wait at their gate until those before them are complete',
    ),
  },
  {
    name: 'handler-not-asked-for',
    what: 'A job ends, and nobody is told.',
    file: jobRules,
    find: 'return ask === null ? { data } : { data, ask }',
    replace: 'return { data }',
    caughtBy,
  },
  {
    name: 'failed-job-goes-on',
    what: 'Chunks of a job that has failed are still started.',
    file: jobMachine,
    find: "when: 'AnyFailedChunks',\n      assign: 'endFailed',\n      children: 'rest',",
    replace: "when: 'AnyFailedChunks',\n      assign: 'endFailed',\n      children: 'go',",
    caughtBy,
  },
  {
    name: 'cancel-lets-chunks-end',
    what: 'What runs when a job is cancelled is committed all the same.',
    file: jobMachine,
    find: "children: 'stop',",
    replace: "children: 'rest',",
    caughtBy,
  },
  {
    name: 'poll-counted-as-error',
    what: 'Whoever looks again later is counted as if something had gone wrong.',
    file: chunkProcessor,
    find: 'pollAttempts: data.pollAttempts + 1,\n    pollDeadline,',
    replace: 'pollAttempts: data.pollAttempts + 1,\n    errorCount: data.errorCount + 1,\n    pollDeadline,',
    caughtBy,
  },
  {
    name: 'poll-without-a-deadline',
    what: 'A chunk polls as long as it likes.',
    file: chunkProcessor,
    find: 'data.pollDeadline ?? now +',
    replace: 'now +',
    caughtBy,
  },
  {
    name: 'strangers-say-when-attempts-are-spent',
    what: 'A process that does not know the definition fails its chunks by attempts that are not theirs.',
    file: chunkProcessor,
    find: 'if (!found) return patience',
    replace: 'if (!found) return null',
    caughtBy: inUnit(
      'workflows/chunked/versions.test.ts',
      'versions, over processes a process that does not know a job never says that attempts of its chunks are spent',
    ),
  },
  {
    name: 'error-not-counted',
    what: 'An attempt that ended in an error is not counted.',
    file: chunkRules,
    find: 'errorCount: data.errorCount + 1 }',
    replace: 'errorCount: data.errorCount }',
    caughtBy,
  },
  {
    name: 'list-handed-over-twice',
    what: 'A list that was handed over at a checkpoint is handed over again at the end.',
    file: sink,
    find: 'this.#push(target, items)\n    this.#gatherings = null',
    replace: 'this.#push(target, items)',
    caughtBy,
  },
  {
    name: 'outputs-left-behind-at-a-checkpoint',
    what: 'What a step gave its reducer before a checkpoint is lost with its process.',
    file: chunkProcessor,
    find: 'kept: this.#sink.kept }',
    replace: 'kept: { ...this.#sink.kept, output: null } }',
    caughtBy,
  },
  {
    name: 'reduction-takes-a-page-again',
    what: 'A reducer that goes on from a checkpoint takes the page where it was in again, on top of what it had gathered.',
    file: reduction,
    find: 'let chunk = from?.chunk ?? null',
    replace: "let chunk: Cursor['chunk'] = null",
    caughtBy,
  },
  {
    name: 'reduction-skips-a-page',
    what: 'A reducer goes on behind the page where its checkpoint was, not behind the chunk.',
    file: reduction,
    find: 'if (next === null || !last) return',
    replace: 'if (next !== null || !last) return',
    caughtBy,
  },
]
