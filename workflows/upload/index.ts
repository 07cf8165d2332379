export type { BatchData, BatchFailure, ErrorSummary, ResultSummary } from './batch-data.ts'
export { uploadBatch } from './batch-machine.ts'
export type { RetryView } from './batch-retry.ts'
export type { BatchError, ErrorPage, PageOptions, UploadBatchView } from './batch-view.ts'
export type { SearchQuery } from './catalogue/catalogue.ts'
export type { Found, FoundPage, Hierarchy, HierarchyOptions } from './desk/found.ts'
export { type HNItem, type ItemType, itemTypes, parseItem } from './hn-item.ts'
export { type ItemCounts, itemCounts } from './item-counts.ts'
export type { ItemData } from './item-data.ts'
export { uploadItem } from './item-machine.ts'
export {
  type Notice,
  type NotificationSettings,
  type Notifier,
  notifierOf,
  verifySignature,
} from './notification/index.ts'
export { type SampleCounts, type SampleOptions, writeSample } from './sample.ts'
export { defaultUploadLimits, type UploadLimits } from './settings.ts'
export { openUpload, type Received, type Reception, type Upload, type UploadOptions } from './upload.ts'
