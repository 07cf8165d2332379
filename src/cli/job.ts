import { Command } from 'commander'
import type { Doing } from './command.ts'
import { attachedFile } from './job/attached-file.ts'
import { eachOf, listOf, pageSize, signedNumber, wholeNumber } from './option.ts'
import { withPlace } from './place-option.ts'

const exitStatus = `
Exit status
  0 completed · 1 cancelled · 2 failed or refused · 130 interrupted
`

/** `sluice job …`: this file only says what can be typed; what is done stands in job/. */
export function jobCommand(doing: Doing): Command {
  const job = new Command('job')
    .description('run jobs of many chunks, and look at what became of them')
    .helpCommand(false)
  const at = (command: Command) => withPlace(command)
  const json = ['--json', 'for programs: one JSON object on standard output'] as const
  const quiet = ['--quiet', 'no progress and no report; the exit status tells'] as const
  const jobs = ['--jobs <module>', 'a file that exports definitions of jobs; may be given again', eachOf] as const
  const toWork = (command: Command) =>
    at(command)
      .option(...jobs)
      .option('--allow <host>', 'a host or network of your own that jobs may fetch from; may be given again', eachOf)
      .option('--allow-port <port>', 'besides 80, 443, 8080 and 8443; several with commas', listOf(wholeNumber))
  const after = ['--after <id>', 'go on after this one', wholeNumber] as const
  const limit = ['--limit <count>', 'how many', pageSize, 20] as const

  toWork(job.command('run'))
    .argument('<name>', 'the job')
    .description('start a job and wait until it has ended')
    .option('--params <json>', 'its parameters, as JSON')
    .option('--params-file <file>', 'its parameters, from a file of JSON; - for standard input')
    .option('--attach <name=file>', 'a file that its steps read; may be given again', attachedFile)
    .option('--job-version <number>', 'which version of the definition (default: the newest)', wholeNumber)
    .option('--key <key>', 'the same key gives the same job, however often this is typed')
    .option('--again', 'if the job of this key has failed or was cancelled, start another one')
    .option('--priority <number>', 'lower comes first', signedNumber)
    .option('--collection <name>', 'whose it is: a hold over the collection keeps it back')
    .option('--no-wait', 'only start it; whoever works on the store takes it up')
    .option(...json)
    .option(...quiet)
    .addHelpText('after', exitStatus)
    .action(doing(async () => (await import('./job/run.ts')).run))

  at(job.command('list'))
    .description('jobs, the newest first')
    .option('--definition <name>', 'only of this definition')
    .option('--job-version <number>', 'only of this version', wholeNumber)
    .option('--state <states>', 'only in this state; several with commas', listOf(String))
    .option(...after)
    .option(...limit)
    .option(...json)
    .action(doing(async () => (await import('./job/list.ts')).list))

  at(job.command('show'))
    .argument('<id>', 'the job', wholeNumber)
    .description('what became of a job, step by step')
    .option(...json)
    .action(doing(async () => (await import('./job/show.ts')).show))

  at(job.command('chunks'))
    .argument('<id>', 'the job', wholeNumber)
    .description('the chunks of a job, page by page')
    .option('--step <id>', 'only of this step')
    .option('--state <states>', 'only in this state; several with commas', listOf(String))
    .option(...after)
    .option(...limit)
    .option(...json)
    .action(doing(async () => (await import('./job/chunks.ts')).chunks))

  at(job.command('warnings'))
    .argument('<id>', 'the job', wholeNumber)
    .description('what its steps found odd, page by page')
    .option(...after)
    .option(...limit)
    .option(...json)
    .action(doing(async () => (await import('./job/warnings.ts')).warnings))

  at(job.command('cancel'))
    .argument('<id>', 'the job', wholeNumber)
    .description('end a job that has not ended; what runs is stopped')
    .option('--reason <text>', 'why')
    .action(doing(async () => (await import('./job/cancel.ts')).cancel))

  toWork(job.command('rerun'))
    .argument('<id>', 'the job', wholeNumber)
    .description('run the failed chunks of a failed job again, and wait until it has ended')
    .option(...json)
    .option(...quiet)
    .addHelpText('after', exitStatus)
    .action(doing(async () => (await import('./job/rerun.ts')).rerun))

  toWork(job.command('resume'))
    .argument('<id>', 'the job', wholeNumber)
    .description('work on a job until it has ended')
    .option(...json)
    .option(...quiet)
    .addHelpText('after', exitStatus)
    .action(doing(async () => (await import('./job/resume.ts')).resume))

  at(job.command('sweep'))
    .description('remove attachments that no job names any more')
    .action(doing(async () => (await import('./job/sweep.ts')).sweep))

  withPlace(job.command('definitions'), ['folder', 'server', 'tokenFile'])
    .argument('[name]', 'only this one')
    .description('the jobs that can be run, with their parameters and steps')
    .option(...jobs)
    .option(...json)
    .action(doing(async () => (await import('./job/definitions.ts')).definitions))

  return job
}
