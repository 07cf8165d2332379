export { FhirDesk, type FhirDeskOptions } from './desk/fhir-desk.ts'
export type { ExportPage, ImportAnswer, ImportGroup, ResourceQuery, Served } from './desk/wire.ts'
export { type Issue, type IssueCode, issueCodes } from './issue.ts'
export { type FhirJobs, type FhirJobsOptions, fhirJobs } from './jobs/fhir-jobs.ts'
export { defaultFhirLimits, type FhirLimits } from './jobs/fhir-limits.ts'
export { type Line, type LineBatch, type LineOptions, type LinePlace, readLines } from './ndjson.ts'
export type {
  NumberRange,
  Page,
  PageQuery,
  PutVerdict,
  RangeQuery,
  ReindexVerdict,
  StoredResource,
  TypeCount,
} from './resources/resources.ts'
export {
  type SampleCounts,
  type SampleFile,
  type SampleFileOptions,
  type SampleOptions,
  type SampleType,
  sampleResources,
  sampleTypes,
  writeSample,
} from './sample.ts'
export { defaultValidation, type ValidationSettings } from './validation.ts'
