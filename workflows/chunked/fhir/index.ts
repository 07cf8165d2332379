export { FhirDesk, type FhirDeskOptions } from './desk/fhir-desk.ts'
export type { ExportPage, ImportAnswer, ImportGroup, ImportVerdict, ResourceQuery, Served } from './desk/wire.ts'
export { type Issue, type IssueCode, issueCodes } from './issue.ts'
export { type ExportManifest, type ExportParameters, type ExportReport, exportJob } from './jobs/export-job.ts'
export { type FhirJobs, type FhirJobsOptions, fhirJobs } from './jobs/fhir-jobs.ts'
export { defaultFhirLimits, type FhirLimits } from './jobs/fhir-limits.ts'
export type { BadSample, LineCounts, TypeCounts } from './jobs/import-counts.ts'
export { importJob } from './jobs/import-job.ts'
export type { ImportParameters } from './jobs/import-parameters.ts'
export type { FileReport, ImportReport } from './jobs/import-report.ts'
export { type ReindexParameters, type ReindexReport, reindexJob } from './jobs/reindex-job.ts'
export type { Workshop } from './jobs/workshop.ts'
export { type Line, type LineBatch, type LineOptions, type LinePlace, readLines } from './ndjson.ts'
export type {
  IdQuery,
  NumberRange,
  Page,
  PageQuery,
  PutVerdict,
  RangeQuery,
  ReindexVerdict,
  StoredResource,
  TypeCount,
  Within,
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
