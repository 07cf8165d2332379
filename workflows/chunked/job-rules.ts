import type { Assign, Child, Criterion, EdgeChange, Facts, View } from 'sluice'
import { newChunk } from './chunk-data.ts'
import { nameOf } from './definitions.ts'
import type { JobData } from './job-data.ts'
import { failureText, type Judgement, judgeJob, stepIndex } from './judgement.ts'

type Job = View<JobData>
type Rule = Criterion<JobData>
type JobAssign = Assign<JobData>

function judgement({ data, state }: Job, { lanes }: Facts): Judgement {
  return judgeJob(data, state === 'errored', lanes ?? [])
}

const is =
  (kind: Judgement['kind']): Rule =>
  (job, facts) =>
    judgement(job, facts).kind === kind

/** Of the chunk that reduces, once it is there. */
const reducerIs =
  (state: string): Rule =>
  ({ data }, { lanes }) =>
    (lanes?.find((lane) => lane.name === data.plan.reducer)?.counts[state] ?? 0) > 0

const HasHandler: Rule = ({ data, state }) =>
  (state === 'completed' ? data.plan.tells.completed : data.plan.tells.failed) ||
  `job ${data.definition} has no handler for ${state} jobs`

export const jobCriteria = {
  HasHandler,
  AnyFailedChunks: is('failed'),
  ErroredChunks: is('errored'),
  ReadyToReduce: is('reduce'),
  AllComplete: is('complete'),
  StepComplete: is('advance'),
  FailuresTolerated: is('tolerate'),
  ReducerComplete: reducerIs('completed'),
  ReducerFailed: reducerIs('failed'),
}

/** Ordinals of what the job itself spawns: the same in every generation, so that nothing is made twice. */
const ordinals = { firstChunk: 0, reducer: 1 } as const

const queueFirstChunk: JobAssign = ({ data, priority }, { now }) => {
  const [first] = data.plan.steps
  const { id: lane, limit, pollAfterMs } = first!
  const chunk = newChunk(definitionOf(data), null, limit)
  const ordinal = ordinals.firstChunk
  const child = { machine: 'chunked_chunk', lane, ordinal, priority }
  const born: Child =
    pollAfterMs === null
      ? { ...child, state: 'ready', data: chunk }
      : {
          ...child,
          state: 'poll_waiting',
          at: now + pollAfterMs,
          data: { ...chunk, nextPollTimestamp: now + pollAfterMs },
        }
  return { data: { ...data, startTime: now, currentStep: lane, stepTimes: { [lane]: now } }, spawn: [born] }
}

/** One row of the job and one of the lane: however many chunks wait behind the gate, none of them is touched. */
const openNextStep: JobAssign = (job, facts) => {
  const judged = judgement(job, facts)
  if (judged.kind !== 'advance') return {}
  const { data } = job
  const step = data.plan.steps[judged.to]!
  const moved = { ...data, currentStep: step.id, stepTimes: { ...data.stepTimes, [step.id]: facts.now } }
  return { data: moved, ...(step.gated ? { open: [step.id] } : {}) }
}

const noteFailures: JobAssign = (job, facts) => {
  const judged = judgement(job, facts)
  return judged.kind === 'tolerate' ? { data: { ...job.data, toleratedFailures: judged.failures } } : {}
}

const queueReducer: JobAssign = ({ data, priority }, { now }) => {
  const lane = data.plan.reducer!
  const chunk = { ...newChunk(definitionOf(data), null, null), kind: 'REDUCER' }
  const child: Child = {
    machine: 'chunked_chunk',
    lane,
    ordinal: ordinals.reducer,
    state: 'ready',
    priority,
    data: chunk,
  }
  return { data: { ...data, currentStep: lane, stepTimes: { ...data.stepTimes, [lane]: now } }, spawn: [child] }
}

const endCompleted: JobAssign = ({ data }, { now }) =>
  ended({ ...data, currentStep: null, endTime: now }, data.plan.tells.completed ? 'notify_completed' : null)

const endFailed: JobAssign = ({ data }, { now, lanes, reason, error }) => {
  const errorMessage = error ?? reason ?? failureText(data.plan, lanes ?? [])
  return ended({ ...data, endTime: now, errorMessage }, data.plan.tells.failed ? 'notify_failed' : null)
}

const endCancelled: JobAssign = ({ data }, { now, actor, reason }) => {
  const who = actor === null ? '' : ` by ${actor}`
  const where = data.currentStep === null ? '' : ` while running step ${data.currentStep}`
  const why = reason === null ? '' : `: ${reason}`
  const errorMessage = `Job instance cancelled${who}${where}${why}`
  return ended({ ...data, endTime: now, errorMessage }, data.plan.tells.failed ? 'notify_cancelled' : null)
}

/** The handler is asked for in the commit that ends the job: neither is there without the other. */
function ended(data: JobData, ask: string | null): EdgeChange<JobData> {
  return ask === null ? { data } : { data, ask }
}

/**
 * The processor has found the step from which the job goes on. Its gate is open, whether or not the job had come so far; later gates
 * are shut again until it is complete.
 */
const reopenJob: JobAssign = ({ data }) => {
  const from = stepIndex(data.plan, data.currentStep)
  const gated = data.plan.steps.flatMap(({ id, gated }, index) => (gated ? { id, isReached: index <= from } : []))
  const open = gated.filter(({ isReached }) => isReached).map(({ id }) => id)
  const shut = gated.filter(({ isReached }) => !isReached).map(({ id }) => id)
  return { data: { ...data, endTime: null, errorMessage: null, handler: null, toleratedFailures: 0 }, open, shut }
}

const noteRequestFailure: JobAssign = ({ data, id, generation, state }, { now, error, reason }) => {
  const message = error ?? reason ?? 'no message'
  return { data: { ...data, handler: { key: `${id}:${generation}:notify_${state}`, at: now, error: message } } }
}

export const jobAssigns = {
  queueFirstChunk,
  openNextStep,
  noteFailures,
  queueReducer,
  endCompleted,
  endFailed,
  endCancelled,
  reopenJob,
  noteRequestFailure,
}

function definitionOf({ definition, version }: JobData): string {
  return nameOf({ id: definition, version })
}
