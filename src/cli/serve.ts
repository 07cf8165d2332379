import { Command, Option } from 'commander'
import type { Doing } from './command.ts'
import { eachOf, listOf, oneOf, wholeNumber } from './option.ts'
import { levels, withPlace } from './place-option.ts'

const precedence = `
Options go before environment variables (SLUICE_STORE, SLUICE_LISTEN, …), and those before --config. docs/guides/cli.md has them all.
`

const hosts = `
Several hosts
  Any number of processes may work on one store at postgres://…; a password is better in PGPASSWORD, PGPASSFILE or SLUICE_STORE than here.
  Uploads, attachments and what FHIR jobs keep are files in --folder, which processes on one host share. A network drive damages some
  of them: let only the host that has the folder work on these, and name to the others, by --machines, what they are to do.
`

/** `sluice serve` and `sluice worker`: this file only says what can be typed; what is done stands in serve/. */
export function serveCommands(doing: Doing): readonly Command[] {
  const serve = atWork(new Command('serve'))
    .description('engine, API and dashboard in one process')
    .option('--listen <address>', 'host:port, or a port of this machine (default: 127.0.0.1:7878)')
    .option('--names <names>', 'other names that it may be called by; several with commas', listOf(String))
    .option('--no-dashboard', 'the API alone')
    .option('--samples', 'make sample batches first, if the store is empty')
    .addHelpText('after', `${hosts}${precedence}`)
    .action(doing(async () => (await import('./serve/serve.ts')).serve))

  const worker = atWork(new Command('worker'))
    .description('an engine without an API, on a store that others share')
    .option('--metrics <address>', 'answer /health, /ready and /metrics at this host:port, or port of this machine')
    .addHelpText('after', `${hosts}${precedence}`)
    .action(doing(async () => (await import('./serve/worker.ts')).worker))

  return [serve, worker]
}

function atWork(command: Command): Command {
  return withPlace(command, ['folder', 'store'])
    .option('--connections <count>', 'for work on a PostgreSQL server, besides two (default: 6)', wholeNumber)
    .option('--migrate', 'make the tables, or bring them up to date, at the start (default)')
    .option('--no-migrate', 'refuse to start if that has to be done; sluice migrate does it')
    .option('--config <file>', 'settings, as JSON')
    .option(
      '--machines <which>',
      'work only on these (NAME or NAME@VERSION, several with commas); or a file that exports machines of your own; may be given again',
      eachOf,
    )
    .option('--jobs <module>', 'a file that exports definitions of jobs; may be given again', eachOf)
    .option('--allow <host>', 'a host or network of your own that jobs may fetch from; may be given again', eachOf)
    .option('--allow-port <port>', 'besides 80, 443, 8080 and 8443; several with commas', listOf(wholeNumber))
    .option(
      '--roots <folders>',
      'files and folders that jobs may use that are started over HTTP; several with commas (default: none)',
      listOf(String),
    )
    .option('--text-index', 'index titles and texts of uploads for search')
    .option('--no-text-index', 'no search by text in uploads; faster')
    .option('--max-size <size>', 'refuse uploads above this size (default: 10GiB)')
    .option('--name <name>', 'what the worker is called in lists and histories')
    .option('--roles <roles>', 'serve only processors of these roles; several with commas', listOf(String))
    .addOption(new Option('--log <level>', 'log to standard error (default: warn)').argParser(oneOf(...levels)))
    .option('--json', 'for programs: one JSON object on standard output once it is ready')
}
