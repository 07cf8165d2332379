import { Command } from 'commander'
import type { Doing } from './command.ts'
import { listOf, oneOf, pageSize, share, signedNumber, size, unixTime, wholeNumber } from './option.ts'
import { withPlace } from './place-option.ts'

const exitStatus = `
Exit status
  0 completed · 1 partially completed · 2 failed or refused · 130 interrupted
`

/** `sluice upload …`: this file only says what can be typed; what is done stands in upload/. */
export function uploadCommand(doing: Doing): Command {
  const upload = new Command('upload')
    .description('upload JSON files of Hacker News items, and look at what became of them')
    .helpCommand(false)
  const at = (command: Command) => withPlace(command)
  const json = ['--json', 'for programs: one JSON object on standard output'] as const
  const quiet = ['--quiet', 'no progress and no report; the exit status tells'] as const
  const textIndex = ['--text-index', 'index titles and texts for search'] as const
  const noTextIndex = ['--no-text-index', 'no search by text; faster'] as const

  at(upload.command('run'))
    .argument('<file>', 'a JSON array, JSON lines or concatenated objects, plain or gzip; - for standard input')
    .description('upload a file and wait until all its items are processed; a known file is not uploaded again')
    .option('--name <name>', 'the name to keep, if not that of the file')
    .option('--uploader <name>', 'who uploads it (default: the user)')
    .option('--collection <name>', 'whose it is: a hold over the collection keeps it back')
    .option('--content-type <type>', 'what the file is said to be (default: looked at)')
    .option('--sha256 <digest>', 'refuse the file if what is read has another digest')
    .option('--force', 'a new batch, even if this file was uploaded before')
    .option(...textIndex)
    .option(...noTextIndex)
    .option('--max-size <size>', 'refuse files above this size (default: 10GiB)', size)
    .option('--notify <file>', 'tell somebody at the end: settings for webhook and mail, as JSON')
    .option(...json)
    .option(...quiet)
    .addHelpText('after', exitStatus)
    .action(doing(async () => (await import('./upload/run.ts')).run))

  at(upload.command('list'))
    .description('the batches, the newest first, with the names of their files')
    .option('--after <id>', 'go on after this one', wholeNumber)
    .option('--limit <count>', 'how many', pageSize, 20)
    .option(...json)
    .action(doing(async () => (await import('./upload/list.ts')).list))

  at(upload.command('show'))
    .argument('<id>', 'the batch', wholeNumber)
    .description('what became of a batch')
    .option(...json)
    .action(doing(async () => (await import('./upload/show.ts')).show))

  at(upload.command('errors'))
    .argument('<id>', 'the batch', wholeNumber)
    .description('the items that failed, page by page')
    .option('--after <id>', 'go on after this one', wholeNumber)
    .option('--limit <count>', 'how many (default: 20; as CSV all)', pageSize)
    .option('--csv', 'all of them as CSV, for a spreadsheet')
    .option(...json)
    .action(doing(async () => (await import('./upload/errors.ts')).errors))

  at(upload.command('retry'))
    .argument('<id>', 'the batch', wholeNumber)
    .description('try again what failed: the failed items, or the whole batch')
    .option(...json)
    .option(...quiet)
    .addHelpText('after', exitStatus)
    .action(doing(async () => (await import('./upload/retry.ts')).retry))

  at(upload.command('notify'))
    .argument('<id>', 'the batch', wholeNumber)
    .description('send the notification of a batch that has ended, again if need be')
    .option('--notify <file>', 'settings for webhook and mail, as JSON; a server has its own')
    .addHelpText('after', '\nExit status\n  0 sent · 1 not sent, or not yet\n')
    .action(doing(async () => (await import('./upload/notify.ts')).notify))

  at(upload.command('fail'))
    .argument('<id>', 'the batch', wholeNumber)
    .description('end a batch that is not over; items that are not settled are stopped')
    .option('--reason <text>', 'why')
    .action(doing(async () => (await import('./upload/fail.ts')).fail))

  at(upload.command('search'))
    .description('find completed items')
    .option('--text <words>', 'words, prefix* or "a phrase" in title and text')
    .option('--type <types>', 'story, comment, job, poll, pollopt; several with commas', listOf(String))
    .option('--author <name>', 'by whom')
    .option('--min-score <score>', 'at least', signedNumber)
    .option('--max-score <score>', 'at most', signedNumber)
    .option('--from <time>', 'not before', unixTime)
    .option('--to <time>', 'not after', unixTime)
    .option('--parent <hnId>', 'answers to this item', wholeNumber)
    .option('--descendants', 'with --parent: the answers to the answers too')
    .option('--roots', 'only items that answer to nothing')
    .option('--sort <by>', 'score, time or relevance', oneOf('score', 'time', 'relevance'))
    .option('--order <order>', 'asc or desc', oneOf('asc', 'desc'))
    .option('--limit <count>', 'how many', pageSize, 20)
    .option('--after <cursor>', 'go on after this page')
    .option(...json)
    .action(doing(async () => (await import('./upload/search.ts')).search))

  at(upload.command('thread'))
    .argument('<hnId>', 'an item', wholeNumber)
    .description('an item with what it answers to and all that answers to it')
    .option('--depth <levels>', 'how deep', wholeNumber, 32)
    .option('--limit <count>', 'how many answers', pageSize, 100)
    .option(...json)
    .action(doing(async () => (await import('./upload/thread.ts')).thread))

  at(upload.command('rebuild-index'))
    .description('build the search index anew from what is stored')
    .option(...textIndex)
    .option(...noTextIndex)
    .option(...quiet)
    .action(doing(async () => (await import('./upload/rebuild.ts')).rebuild))

  upload
    .command('sample')
    .argument('<file>', 'where to write it')
    .description('write a file of realistic items to try things with')
    .requiredOption('--items <count>', 'how many', wholeNumber)
    .option('--bad <share>', 'how many of them are broken', share, 0)
    .option('--duplicates <share>', 'how many are copies of earlier ones, half of them newer', share, 0)
    .option('--form <form>', 'array, lines or concatenated', oneOf('array', 'lines', 'concatenated'), 'array')
    .option('--gzip', 'compressed')
    .option('--seed <number>', 'the same seed gives the same file', wholeNumber, 1)
    .option('--force', 'write over a file that exists')
    .option(...json)
    .option('--quiet', 'no progress')
    .action(doing(async () => (await import('./upload/sample.ts')).sample))

  return upload
}
