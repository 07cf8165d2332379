import { type Context, done, fail, messageOf, type Processor, poll } from 'sluice'
import type { ChunkData } from './chunk-data.ts'
import type { RerunWithJob } from './chunk-rules.ts'
import { type Definitions, nameOf } from './definitions.ts'
import type { JobData } from './job-data.ts'
import type { JobEnding, JobHandler } from './job-definition.ts'
import { errorsIn } from './judgement.ts'

/** How soon another process may call the handler of a job whose definition is not known here. */
const unknownJobMs = 5_000

export function jobProcessors(definitions: Definitions) {
  /** The report reaches the job in the job's own move: there is one, however often the reducer was tried. */
  const takeReport: Processor<JobData> = async ({ data, children }) => {
    for await (const chunk of children({ lane: data.plan.reducer!, states: ['completed'] })) {
      const { report } = JSON.parse(chunk.data) as ChunkData
      return done({ ...data, report: report ?? null })
    }
    return fail('no report', `The REDUCER chunk of job step ${data.plan.reducer} is not there.`)
  }

  const rerunFailedChunks: Processor<JobData> = async (context) => {
    const { data } = context
    if (!(await tellFirst(context))) return poll(unknownJobMs)
    const lanes = await context.readLanes()
    // Read before anything is reopened, and kept with the first group: after a crash the failed ones are not failed any more.
    const failing = data.plan.steps.find(({ id }) => (lanes.find((lane) => lane.name === id)?.counts.failed ?? 0) > 0)
    const open = data.plan.steps.find(({ id }) => (lanes.find((lane) => lane.name === id)?.open ?? 0) > 0)
    const first = [failing, open].filter((step) => step !== undefined)
    const gated = data.plan.steps.filter((step) => step.gated).map(({ id }) => id)
    const counts = await context.actOnChildren('rerun', { states: ['failed'] }, {
      withJob: true,
      gated,
    } satisfies RerunWithJob)
    const order = data.plan.steps.map(({ id }) => id)
    const [from] = first.map(({ id }) => id).sort((one, other) => order.indexOf(one) - order.indexOf(other))
    return done({ ...data, currentStep: from ?? data.currentStep, rerun: counts })
  }

  /** This rerun has taken the place of the handler that was asked for: the end that it undoes is told all the same. False: not here. */
  async function tellFirst(context: Context<JobData>): Promise<boolean> {
    const { data, entity, attempt } = context
    if (!data.plan.tells.failed || data.handler !== null || context.cursor !== null) return true
    const known = definitions.find(nameOf({ id: data.definition, version: data.version }))
    // Somebody else knows whom to tell.
    if (!known) return false
    const handler = known.definition.onFailed
    if (!handler) return true
    try {
      await call(handler, context, `${entity.id}:${entity.generation}:notify_failed`)
    } catch (error) {
      // Whoever is to be told may be down; a person who wants the job to go on is not kept waiting for long.
      if (attempt < tellingAttempts) throw error
      context.log.warn({ error: messageOf(error) }, 'the error handler failed; the job is run again without it')
    }
    return true
  }

  const runHandler: Processor<JobData> = async (context) => {
    const { data, idempotencyKey } = context
    const name = nameOf({ id: data.definition, version: data.version })
    const known = definitions.find(name)
    if (!known) {
      context.log.warn({ definition: name }, 'the definition of a job is not known here')
      return poll(unknownJobMs)
    }
    const { onCompleted, onFailed } = known.definition
    const handler = context.entity.state === 'completed' ? onCompleted : onFailed
    if (!handler) return fail('no handler', `Job ${name} has no handler for ${context.entity.state} jobs.`)
    await call(handler, context, idempotencyKey)
    return done({ ...data, handler: { key: idempotencyKey, at: context.now(), error: null } })
  }

  return { takeReport, rerunFailedChunks, runHandler }
}

/** A reducer may fail with a report: it stays with the REDUCER chunk, of which a job has one for each time it was reduced. */
async function reportOfFailed({ data, entity, children }: Context<JobData>): Promise<unknown> {
  const { reducer } = data.plan
  if (reducer === null || entity.state !== 'failed') return null
  let report: unknown = null
  for await (const chunk of children({ lane: reducer, states: ['failed'] })) {
    report = (JSON.parse(chunk.data) as ChunkData).report ?? null
  }
  return report
}

const tellingAttempts = 3

async function call(handler: JobHandler, context: Context<JobData>, key: string): Promise<void> {
  const { data, entity, attempt, signal } = context
  const { definition, version, parameters, report, errorMessage, startTime, endTime } = data
  const ending: JobEnding = {
    id: entity.id,
    definition,
    version,
    state: entity.state as JobEnding['state'],
    generation: entity.generation,
    parameters,
    report: report ?? (await reportOfFailed(context)),
    errorMessage,
    errorCount: errorsIn(await context.readLanes()),
    startTime,
    endTime,
  }
  await handler(ending, { key, attempt, signal })
}
