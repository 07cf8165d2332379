import { defineMachine } from 'sluice'
import { batchData } from './batch-data.ts'

/** Attempts to send a notification: with growing pauses, over about an hour and a half. */
export const sendsMax = 20

/**
 * The life of one uploaded file. Names and purposes are those of the functional requirement; where it leaves a batch
 * without a way on (a criterion that needs what its own processor sets, items that all failed, an empty file), the
 * edges here say what happens instead: see diagrams/deviations.md.
 */
export const batchDeclaration = {
  name: 'upload_batch',
  version: 2,
  initial: ['initial_state'],
  settled: ['completed', 'failed', 'partially_completed'],
  final: ['completed'],
  data: batchData,
  title: 'fileName',
  labels: ['uploadedBy', 'sha256', 'collection'],
  states: {
    initial_state: 'Starting state for new upload batch. Entry point for workflow processing.',
    // A hold over a collection keeps batches from being begun; what has begun goes on unless a hold names it.
    uploaded: {
      purpose: 'File has been uploaded and basic metadata captured. Initial file reception and validation.',
      holdable: false,
    },
    validated: {
      purpose: 'File has been validated for format and content. Ensure file is processable before extraction.',
      holdable: false,
    },
    extracting: {
      purpose: 'Items are being extracted from the JSON file. Parse file and create individual HNItem entities.',
      holdable: false,
    },
    processing: {
      purpose:
        'Individual items are being processed through their workflows. Coordinate processing of all items in the batch.',
      holdable: false,
    },
    completed: {
      purpose: 'All items have been successfully processed. Batch processing finished successfully.',
      outcome: 'success',
    },
    failed: {
      purpose: 'Batch processing failed and requires attention. Handle processing errors and enable retry.',
      outcome: 'failure',
    },
    partially_completed: {
      purpose: 'Some items processed successfully, others failed. Handle mixed success scenarios.',
      outcome: 'attention',
    },
  },
  transitions: {
    auto_upload: {
      from: 'initial_state',
      to: 'uploaded',
      on: 'done',
      processor: 'UploadBatchInitProcessor',
      purpose: 'Initialize batch processing',
    },
    validate_file: {
      from: 'uploaded',
      to: 'validated',
      on: 'done',
      processor: 'UploadBatchValidationProcessor',
      // Judged on what the processor found: it counts the items that the criterion asks for.
      ensure: 'UploadBatchValidCriterion',
      purpose: 'Validate file format and content',
    },
    // Taken by the claim itself, so that the state says `extracting` while items are being extracted.
    start_extraction: {
      from: 'validated',
      to: 'extracting',
      on: 'claim',
      purpose: 'Begin extracting items from file',
    },
    start_processing: {
      from: 'extracting',
      to: 'processing',
      on: 'done',
      processor: ['UploadBatchExtractionProcessor', 'UploadBatchProcessingProcessor'],
      ensure: 'UploadBatchExtractionCompleteCriterion',
      purpose: 'Begin processing extracted items',
    },
    complete_batch: {
      from: 'processing',
      to: 'completed',
      on: 'children',
      when: 'UploadBatchAllItemsCompleteCriterion',
      processor: 'UploadBatchCompletionProcessor',
      assign: 'askForNotification',
      purpose: 'Mark batch as successfully completed',
    },
    partial_completion: {
      from: 'processing',
      to: 'partially_completed',
      on: 'children',
      when: 'UploadBatchSomeItemsCompleteCriterion',
      processor: 'UploadBatchPartialCompletionProcessor',
      assign: 'askForNotification',
      purpose: 'Handle mixed success scenarios',
    },
    all_items_failed: {
      from: 'processing',
      to: 'failed',
      on: 'children',
      when: 'UploadBatchAllItemsFailedCriterion',
      processor: 'UploadBatchPartialCompletionProcessor',
      assign: 'UploadBatchFailureProcessor',
      purpose: 'Handle a batch of which no item succeeded',
    },
    monitor_progress: {
      from: 'processing',
      to: 'processing',
      on: 'time',
      afterMs: 60_000,
      processor: 'UploadBatchProcessingProcessor',
      purpose: 'Monitor and coordinate processing of all batch items',
    },
    mark_failed: {
      from: ['initial_state', 'uploaded', 'validated', 'extracting', 'processing'],
      to: 'failed',
      on: 'action',
      assign: 'UploadBatchFailureProcessor',
      children: 'stop',
      warning: 'Items that are not settled yet are stopped.',
      purpose: 'Handle processing failures',
    },
    give_up: {
      from: ['initial_state', 'uploaded', 'extracting', 'processing'],
      to: 'failed',
      on: 'fail',
      assign: 'UploadBatchFailureProcessor',
      children: 'stop',
      purpose: 'Handle processing failures that nobody has to report',
    },
    retry_batch: {
      from: 'failed',
      to: 'uploaded',
      on: 'action',
      when: 'UploadBatchRetryableCriterion',
      assign: 'UploadBatchRetryProcessor',
      children: 'go',
      purpose: 'Retry failed batch processing',
    },
    retry_failed_items: {
      from: 'partially_completed',
      to: 'processing',
      on: 'action',
      processor: 'UploadBatchRetryFailedItemsProcessor',
      purpose: 'Retry only the failed items',
    },
    retry_refused: {
      from: 'partially_completed',
      to: 'partially_completed',
      on: 'fail',
      assign: 'recordRefusedRetry',
      purpose: 'No failed item may be retried any more, or the retry itself failed: the batch stays what it was',
    },
    // Asked for in the commit that closes the batch: a receiver that is down keeps no batch open (decision 0017).
    notify_completed: notifying('completed'),
    notify_partially_completed: notifying('partially_completed'),
    notify_failed: notifying('failed'),
    // In partially_completed, retry_refused is the edge of both.
    notification_failed_completed: notificationFailed('completed'),
    notification_failed_failed: notificationFailed('failed'),
  },
  purposes: {
    UploadBatchInitProcessor: 'Initialize batch processing and set metadata',
    UploadBatchValidationProcessor: 'Validate uploaded file format and basic structure',
    UploadBatchExtractionProcessor: 'Extract individual HN items from the JSON file',
    UploadBatchProcessingProcessor: 'Monitor and coordinate processing of all batch items',
    UploadBatchCompletionProcessor: 'Finalize successful batch processing',
    UploadBatchPartialCompletionProcessor: 'Handle batches with mixed success/failure',
    UploadBatchFailureProcessor: 'Handle batch processing failures',
    UploadBatchRetryProcessor: 'Prepare failed batch for retry',
    UploadBatchRetryFailedItemsProcessor: 'Retry only the failed items in a partially completed batch',
    UploadBatchValidCriterion: 'Check if uploaded file is valid for processing',
    UploadBatchExtractionCompleteCriterion: 'Check if item extraction is complete',
    UploadBatchAllItemsCompleteCriterion: 'Check if all items in batch are successfully processed',
    UploadBatchSomeItemsCompleteCriterion: 'Check if some items completed but others failed',
    UploadBatchAllItemsFailedCriterion: 'Check if every item failed: neither of the other two would ever hold',
    UploadBatchRetryableCriterion: 'Check if failed batch can be retried',
    recordRefusedRetry: 'Say why the retry of failed items did not begin',
    UploadBatchNotificationProcessor: 'Tell the receivers that the batch has ended, at least once, with a stable key',
    UploadBatchNotifiableCriterion: 'There is a receiver to be told',
    askForNotification: 'Ask for the notification, if there is a receiver',
    recordFailedNotification: 'Say why the notification was not sent',
  },
  policies: {
    UploadBatchInitProcessor: { timeoutMs: 60_000 },
    // Whole files: an hour for each pass is far above what 10 GiB take, and still ends what hangs.
    UploadBatchValidationProcessor: { timeoutMs: 3_600_000, parallel: 4 },
    UploadBatchExtractionProcessor: { timeoutMs: 3_600_000, parallel: 4 },
    // Both read the catalogue, whose disk may be full or away for a while: about ten minutes are tried.
    UploadBatchCompletionProcessor: { attemptsMax: 12, timeoutMs: 120_000 },
    UploadBatchPartialCompletionProcessor: { attemptsMax: 12, timeoutMs: 120_000 },
    UploadBatchRetryFailedItemsProcessor: { timeoutMs: 3_600_000 },
    UploadBatchNotificationProcessor: {
      attemptsMax: sendsMax,
      backoff: { firstMs: 1_000, factor: 2, maxMs: 600_000, jitter: 0.5 },
      // Above the longest timeout that a receiver can be given.
      timeoutMs: 660_000,
    },
  },
} as const

export const uploadBatch = defineMachine(batchDeclaration)

function notifying<const S extends string>(state: S) {
  return {
    from: state,
    to: state,
    on: 'action',
    action: 'notify',
    when: 'UploadBatchNotifiableCriterion',
    processor: 'UploadBatchNotificationProcessor',
    purpose: 'Tell the receivers that the batch has ended',
  } as const
}

function notificationFailed<const S extends string>(state: S) {
  return {
    from: state,
    to: state,
    on: 'fail',
    assign: 'recordFailedNotification',
    purpose: 'No attempt to tell the receivers came to an end: the batch stays what it was',
  } as const
}
