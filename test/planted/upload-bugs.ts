import { type Bug, inUnit } from './bug.ts'
import { anyUploads, inUploadSimulation } from './upload-seeds.ts'

const inSimulation = inUploadSimulation(anyUploads)

const fileStore = 'workflows/upload/files/file-store.ts'
const fileNotAnnounced = inUnit(
  'workflows/upload/files/file-store.test.ts',
  'refusals leave nothing behind a file that is not the one that was announced',
)
const badInput = 'workflows/upload/bad-input.test.ts'
const batchProcessors = 'workflows/upload/batch-processors.ts'
const itemCounts = 'workflows/upload/item-counts.ts'
const closesOnce = inUnit(
  'workflows/upload/batch-criteria.test.ts',
  'exactly one of the three closing criteria holds once every item is settled, and none before',
)
const catalogueCheck = 'workflows/upload/catalogue-check.ts'
const notifying = 'workflows/upload/notifying.test.ts'

/** What the upload family can do wrong on an engine that does everything right. */
export const uploadBugs: readonly Bug[] = [
  {
    name: 'duplicate-by-arrival',
    what: 'Of two versions of the same age the one that arrived first stands, not the one that lies first in the file.',
    file: 'workflows/upload/catalogue/newness.ts',
    find: 'return candidate.offset < other.offset',
    replace: 'return false',
    caughtBy: inUnit(
      'workflows/upload/catalogue/newness.test.ts',
      'versions of the same age stand in the order of batches, then of places in the file',
    ),
  },
  {
    name: 'repeats-forgotten-by-a-restart',
    what: 'After a restart, elements are no repeats of those before the checkpoint.',
    file: 'workflows/upload/desk/file-repeats.ts',
    find: 'const goal = cursor?.index ?? 0',
    replace: 'const goal = 0',
    caughtBy: inUnit(
      'workflows/upload/desk/file-repeats.test.ts',
      'lines: each repeated id is given the newest of the elements before it, also after a restart',
    ),
  },
  {
    name: 'repeated-put-is-its-own-duplicate',
    what: 'An item that is put again after a crash is a duplicate of itself, and one that comes first by chance is first.',
    file: 'workflows/upload/catalogue/shelf.ts',
    find: 'return row.batch === batch ? null : row',
    replace: 'return row',
    caughtBy: inSimulation,
  },
  {
    name: 'first-look-is-the-last-word',
    what: 'What the comparison said before an item was written counts, not what the catalogue says when it is.',
    file: 'workflows/upload/item-processors.ts',
    find: '    case verdicts.duplicate:\n    case verdicts.repeat:\n      return compared(data, now, verdictAt(group, position))\n',
    replace: '',
    caughtBy: inSimulation,
  },
  {
    name: 'checkpoint-before-its-items',
    what: 'The place where an extraction goes on is kept before its items are: a crash between the two loses them.',
    file: batchProcessors,
    find: 'await context.spawn(itemsOf(group, entity.id, data, context.now()))\n    extracted += group.offsets.length\n',
    replace:
      'const items = itemsOf(group, entity.id, data, context.now())\n    extracted += group.offsets.length\n    if (group.next) await context.checkpoint({ at: group.next, extracted })\n    await context.spawn(items)\n',
    caughtBy: inSimulation,
  },
  {
    name: 'half-a-retry-refused',
    what: 'A retry that died when it had retried some items is refused when it goes on: it finds none that may be retried.',
    file: batchProcessors,
    find: 'retried === 0 && refused >= (data.itemsErrored ?? 0)',
    replace: 'retried === 0',
    caughtBy: inUnit(
      'workflows/upload/batch-retry.test.ts',
      'a retry is refused if no failed item may be retried, and not if items were retried before a crash',
    ),
  },
  {
    name: 'retried-item-forgets-its-twin',
    what: 'An item that is retried is compared as if no earlier element of its file had its id.',
    file: 'workflows/upload/item-processors.ts',
    find: '      ...(earlier === undefined ? {} : { earlier }),\n',
    replace: '',
    caughtBy: inUnit(
      'workflows/upload/retrying.test.ts',
      'an element whose id comes again in its file repeats an earlier one also after it failed by hand and was retried',
    ),
  },
  {
    name: 'early-end-accepted',
    what: 'A file that ended before its announced length is stored, and its batch completes.',
    file: fileStore,
    find: 'expectedBytes !== undefined && fileSize !== expectedBytes',
    replace: 'expectedBytes !== undefined && fileSize > expectedBytes',
    caughtBy: fileNotAnnounced,
  },
  {
    name: 'digest-not-compared',
    what: 'A file with another SHA-256 than was announced is stored.',
    file: fileStore,
    find: "for (const name of ['sha256', 'md5'] as const)",
    replace: "for (const name of ['md5'] as const)",
    caughtBy: fileNotAnnounced,
  },
  {
    name: 'changed-content-accepted',
    what: 'A stored file whose content was changed is validated as if it were the one that was received.',
    file: batchProcessors,
    find: "if (sha256 !== (data.received.storedSha256 ?? sha256)) return changed(data, 'its content is not what was received')",
    replace: '',
    caughtBy: inUnit(
      badInput,
      'a stored file whose content changed without its length is noticed when it is validated, and can be mended',
    ),
  },
  {
    name: 'lost-lines-accepted',
    what: 'A file that was cut after it had been validated completes with the items that are left.',
    file: batchProcessors,
    find: 'if (validation && extracted !== totalItemsInFile) {',
    replace: 'if (validation && extracted > totalItemsInFile) {',
    caughtBy: inUnit(
      badInput,
      'a stored file that was cut at the end of a line after it had been validated does not complete',
    ),
  },
  {
    name: 'skipped-counted-as-pending',
    what: 'Skipped items are left out of the counts: a batch with duplicates never closes.',
    file: itemCounts,
    find: 'pending: total - completed - failed - skipped,',
    replace: 'pending: total - completed - failed,',
    caughtBy: closesOnce,
  },
  {
    name: 'closed-before-all-are-extracted',
    what: 'A batch closes when the items that were extracted so far are through.',
    file: itemCounts,
    find: 'Math.max(expected, lane?.total ?? 0)',
    replace: 'lane?.total ?? expected',
    caughtBy: closesOnce,
  },
  {
    name: 'lost-catalogue-unnoticed',
    what: 'With a lost catalogue a search finds nothing, and known items count as new.',
    file: catalogueCheck,
    find: 'if (missing !== undefined) {',
    replace: 'if (missing === 0) {',
    caughtBy: inUnit(
      'workflows/upload/catalogue-check.test.ts',
      'a catalogue that was lost, or that lacks the newest items, is noticed',
    ),
  },
  {
    name: 'foreign-catalogue-unnoticed',
    what: 'With the catalogue of another store new items count as duplicates.',
    file: catalogueCheck,
    find: "if (isSluiceError(error, 'not_found')) return false",
    replace: "if (isSluiceError(error, 'not_found')) return true",
    caughtBy: inUnit('workflows/upload/catalogue-check.test.ts', 'a catalogue that has outlived its store is noticed'),
  },
  {
    name: 'same-notification-key-in-two-stores',
    what: 'Two stores tell their receiver of two batches under one key: the second is dropped as a repeat.',
    file: batchProcessors,
    find: 'data.identity ?? data.sha256.slice(0, 26)',
    replace: 'data.sha256.slice(0, 26)',
    caughtBy: inUnit(notifying, 'two stores never use the same key'),
  },
  {
    name: 'notification-lost-to-a-retry',
    what: 'A retry that is refused takes the place of a notification that waits: nobody is told.',
    file: 'workflows/upload/batch-failure.ts',
    find: "...(data.notification?.waiting ? { ask: 'notify_partially_completed' } : {}),",
    replace: '',
    caughtBy: inUnit(notifying, 'a retry that is refused in place of a waiting notification does not lose it'),
  },
  {
    name: 'refused-for-good-asked-again',
    what: 'A receiver that refuses for good is asked twenty times.',
    file: batchProcessors,
    find: 'attempt >= sendsMax || isPermanent(error)',
    replace: 'attempt >= sendsMax',
    caughtBy: inUnit(notifying, 'a receiver that refuses for good is asked once'),
  },
]
