import { type Context, done, fail, type Processor, poll } from 'sluice'
import type { ChunkData } from './chunk-data.ts'
import { withJob } from './chunk-rules.ts'
import { type Definitions, nameOf } from './definitions.ts'
import type { JobData } from './job-data.ts'
import type { JobEnding, JobHandler } from './job-definition.ts'
import { errorsIn } from './judgement.ts'
import type { ChunkedLimits } from './settings.ts'

export function jobProcessors(definitions: Definitions, { unknownMs }: ChunkedLimits) {
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
    const lanes = await context.readLanes()
    // Read before anything is reopened, and kept with the first group: after a crash the failed ones are not failed any more.
    const failing = data.plan.steps.find(({ id }) => (lanes.find((lane) => lane.name === id)?.counts.failed ?? 0) > 0)
    const open = data.plan.steps.find(({ id }) => (lanes.find((lane) => lane.name === id)?.open ?? 0) > 0)
    const first = [failing, open].filter((step) => step !== undefined)
    const counts = await context.actOnChildren('rerun', { states: ['failed'] }, withJob)
    const order = data.plan.steps.map(({ id }) => id)
    const [from] = first.map(({ id }) => id).sort((one, other) => order.indexOf(one) - order.indexOf(other))
    return done({ ...data, currentStep: from ?? data.currentStep, rerun: counts })
  }

  const runHandler: Processor<JobData> = async (context) => {
    const { data, idempotencyKey } = context
    const name = nameOf({ id: data.definition, version: data.version })
    const known = definitions.find(name)
    if (!known) {
      context.log.warn({ definition: name }, 'the definition of a job is not known here')
      return poll(unknownMs)
    }
    const { onCompleted, onFailed } = known.definition
    const handler = context.entity.state === 'completed' ? onCompleted : onFailed
    if (!handler) return fail('no handler', `Job ${name} has no handler for ${context.entity.state} jobs.`)
    await call(handler, context)
    return done({ ...data, handler: { key: idempotencyKey, at: context.now(), error: null } })
  }

  return { takeReport, rerunFailedChunks, runHandler }
}

async function call(handler: JobHandler, context: Context<JobData>): Promise<void> {
  const { data, entity, idempotencyKey: key, attempt, signal } = context
  const { definition, version, parameters, report, errorMessage, startTime, endTime } = data
  const ending: JobEnding = {
    id: entity.id,
    definition,
    version,
    state: entity.state as JobEnding['state'],
    generation: entity.generation,
    parameters,
    report: report ?? null,
    errorMessage,
    errorCount: errorsIn(await context.readLanes()),
    startTime,
    endTime,
  }
  await handler(ending, { key, attempt, signal })
}
