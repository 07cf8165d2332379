export type { GivenAttachment } from './attachments.ts'
export type { ChunkData } from './chunk-data.ts'
export { chunkedChunk } from './chunk-machine.ts'
export {
  type Chunked,
  type ChunkedOptions,
  type JobFilter,
  type JobLine,
  type JobPage,
  openChunked,
  type Started,
  type StartOptions,
} from './chunked.ts'
export { defineJob, type JobBeginning, type JobSteps } from './define-job.ts'
export type { Attachment, JobData, Tolerance } from './job-data.ts'
export type { HandlerContext, JobDefinition, JobEnding, JobHandler, JobHead, Retention } from './job-definition.ts'
export { chunkedJob } from './job-machine.ts'
export type { StepProgress } from './job-progress.ts'
export type { ChunkFilter, ChunkPage, ChunkView, JobView } from './job-view.ts'
export { type Judgement, judgeJob } from './judgement.ts'
export { done, fail, failWithReport, retry, retryLater, type StepOutcome } from './outcome.ts'
export { parameterSchema } from './parameters.ts'
export { type Boundaries, isHandleWithin, isWithin, leadsWithin, openWithin, path } from './place.ts'
export { type ChunkedLimits, defaultChunkedLimits } from './settings.ts'
export type {
  FirstStep,
  LaterStep,
  Polling,
  Reducer,
  ReducerDetails,
  Retry,
  Sink,
  StepDetails,
  StepJob,
  StepRun,
  StepSettings,
} from './step.ts'
