import { Command } from 'commander'
import { stateOutcomes } from '../state-outcome.ts'
import type { Doing } from './command.ts'
import { filterField } from './control/filter-option.ts'
import { eachOf, labelValue, listOf, oneOf, pageSize, signedNumber, unixTime, wholeNumber } from './option.ts'
import { withPlace } from './place-option.ts'

const outcomes = `
Exit status
  0 success · 1 neutral (cancelled) or attention, or some below it failed · 2 failure or refused · 130 interrupted
`

/** `sluice show`, `sluice act` and the like, for entities of every machine: this file only says what can be typed; what is done stands in control/. */
export function controlCommands(doing: Doing): readonly Command[] {
  const command = (name: string, description: string) => at(new Command(name).description(description))
  const id = ['<id>', 'the entity', wholeNumber] as const
  const json = ['--json', 'for programs: one JSON object on standard output'] as const
  const reason = ['--reason <text>', 'why; it stands in the history'] as const
  const yes = ['--yes', 'do not ask'] as const
  const limit = (count: number) => ['--limit <count>', 'how many', pageSize, count] as const
  const machineVersion = ['--machine-version <number>', 'of this version', wholeNumber] as const
  const collection = ['--collection <name>', 'of this collection'] as const
  const label = ['--label <name=value>', 'with this label', labelValue] as const

  return [
    command('submit', 'make an entity of a machine')
      .argument('<machine>', 'its machine')
      .argument('<data>', 'its data: JSON, @FILE, or - for standard input')
      .option('--key <key>', 'the same key gives the same entity, however often this is typed')
      .option('--priority <number>', 'lower comes first', signedNumber)
      .option('--at <time>', 'not before', unixTime)
      .option('--state <state>', 'where it begins, if the machine has several such states')
      .option(...machineVersion)
      .option('--wait', 'stay until it is settled')
      .option(...json)
      .option('--quiet', 'no progress; the exit status tells')
      .addHelpText('after', outcomes)
      .action(doing(async () => (await import('./control/submit.ts')).submit)),

    command('status', 'what there is, who works on it, and what is held')
      .option(...json)
      .action(doing(async () => (await import('./control/status.ts')).status)),

    command('watch', 'stay with an entity until it is settled; without one: tell every change')
      .argument('[id]', 'the entity', wholeNumber)
      .option('--after <position>', 'without an id: from this position of the feed', wholeNumber)
      .option('--json', 'for programs: an object at the end; without an id one for each change')
      .option('--quiet', 'no progress and no report; the exit status tells')
      .addHelpText('after', outcomes)
      .action(doing(async () => (await import('./control/watch.ts')).watch)),

    command('find', 'the entity of this id, and the one with this key')
      .argument('<text>', 'an id or a key')
      .option(...json)
      .action(doing(async () => (await import('./control/find.ts')).find)),

    command('list', 'entities, the newest first')
      .option('--machine <name>', 'of this machine')
      .option(...machineVersion)
      .option('--state <states>', 'in this state; several with commas', listOf(String))
      .option(
        '--outcome <outcomes>',
        `with such an outcome: ${stateOutcomes.join(', ')}`,
        listOf(oneOf(...stateOutcomes)),
      )
      .option('--parent <id>', 'the children of this one (default: roots only)', wholeNumber)
      .option('--all', 'children too, of whatever parent')
      .option('--lane <name>', 'in this lane of their parent')
      .option(...collection)
      .option(...label)
      .option('--settled', 'only those that are settled')
      .option('--open', 'only those that are not')
      .option('--reason <text>', 'that failed for this reason')
      .option('--key <key>', 'the one with this key; with --all also if it is a child')
      .option('--oldest', 'the oldest first')
      .option('--after <id>', 'go on after this one', wholeNumber)
      .option(...limit(20))
      .option(...json)
      .action(doing(async () => (await import('./control/list.ts')).list)),

    command('show', 'all about one entity')
      .argument(...id)
      .option(...json)
      .action(doing(async () => (await import('./control/show.ts')).show)),

    command('history', 'every move of an entity, oldest first')
      .argument(...id)
      .option('--after <seq>', 'go on after this one', wholeNumber)
      .option(...limit(100))
      .option(...json)
      .action(doing(async () => (await import('./control/history.ts')).history)),

    command('explain', 'why an entity is where it is')
      .argument(...id)
      .option(...json)
      .action(doing(async () => (await import('./control/explain.ts')).explain)),

    command('report', 'how an entity ended, or how far it is')
      .argument(...id)
      .option(...json)
      .addHelpText('after', outcomes)
      .action(doing(async () => (await import('./control/report.ts')).report)),

    command('act', 'ask entities for an action')
      .argument('<action>', 'what sluice show lists')
      .argument('[ids...]', 'the entities', listOf(wholeNumber))
      .option('--filter <field=value>', 'all that match, instead of ids; may be given again', filterField)
      .option('--to <state>', 'which of several ways of that name')
      .option('--input <json>', 'what the action is given: JSON, @FILE, or - for standard input')
      .option('--seq <number>', 'refuse if it has moved since this one', wholeNumber)
      .option(...reason)
      .option(...yes)
      .option('--no-wait', 'with --filter: do not stay until all were asked')
      .option(...json)
      .addHelpText('after', '\nExit status\n  0 done · 1 some of many refused · 5 refused, or nobody agreed\n')
      .action(doing(async () => (await import('./control/act.ts')).act)),

    command('resume', 'set going again what has ended')
      .argument(...id)
      .option(...reason)
      .option('--input <json>', 'what the action is given')
      .option(...yes)
      .option(...json)
      .action(doing(async () => (await import('./control/turn.ts')).resume)),

    command('cancel', 'end what is still open')
      .argument(...id)
      .option(...reason)
      .option(...yes)
      .option(...json)
      .action(doing(async () => (await import('./control/turn.ts')).cancel)),

    command('hold', 'hold all that is named until it is released')
      .requiredOption('--reason <text>', 'why; everybody sees it')
      .option(...collection)
      .option(...label)
      .option('--machine <name>', 'of this machine')
      .option('--state <state>', 'in this state')
      .option('--parent <id>', 'the children of this one', wholeNumber)
      .option('--entity <id>', 'this one', wholeNumber)
      .option('--until <time>', 'it ends by itself then', unixTime)
      .option(...json)
      .action(doing(async () => (await import('./control/holds.ts')).hold)),

    command('release', 'end a hold')
      .argument('<hold>', 'its number, as sluice holds lists it', wholeNumber)
      .option(...reason)
      .option(...json)
      .action(doing(async () => (await import('./control/holds.ts')).release)),

    command('holds', 'what is held, by whom and why')
      .option('--past', 'those that have ended')
      .option(...limit(20))
      .option(...json)
      .action(doing(async () => (await import('./control/holds.ts')).holds)),

    command('diagram', 'print a machine as a Mermaid diagram')
      .argument('<machine>', 'its name')
      .option(...machineVersion)
      .option('--output <file>', 'write it to a file instead')
      .action(doing(async () => (await import('./control/diagram.ts')).diagram)),

    command('check', 'count anew, and name every count that is wrong; exit status 1 if any is')
      .argument('[parents...]', 'whose children (default: the roots)', listOf(wholeNumber))
      .option('--all', 'the children of every root too')
      .option(...json)
      .action(doing(async () => (await import('./control/check.ts')).check)),

    command('repair', 'count anew, and mend every count that is wrong')
      .argument('[parents...]', 'whose children (default: the roots)', listOf(wholeNumber))
      .option('--all', 'the children of every root too')
      .option(...reason)
      .option(...json)
      .action(doing(async () => (await import('./control/check.ts')).repair)),

    tokenCommand(doing),
  ]
}

function tokenCommand(doing: Doing): Command {
  const token = new Command('token').description('who may call a server').helpCommand(false)
  const json = ['--json', 'for programs: one JSON object on standard output'] as const
  withPlace(token.command('create'), ['folder', 'server', 'tokenFile'])
    .description('make a token; its secret is printed this once')
    .requiredOption('--name <name>', 'who it is for: it stands in the history of all that is done with it')
    .requiredOption('--role <role>', 'submitter, operator or admin', oneOf('submitter', 'operator', 'admin'))
    .option('--collections <names>', 'only for these; several with commas', listOf(String))
    .option('--expires <time>', 'not valid any more from then on', unixTime)
    .option(...json)
    .action(doing(async () => (await import('./control/token.ts')).create))
  withPlace(token.command('list'), ['folder', 'server', 'tokenFile'])
    .description('the tokens that there are')
    .option(...json)
    .action(doing(async () => (await import('./control/token.ts')).list))
  withPlace(token.command('revoke'), ['folder', 'server', 'tokenFile'])
    .argument('<name>', 'its name')
    .description('take a token back; it stops working within a second')
    .option(...json)
    .action(doing(async () => (await import('./control/token.ts')).revoke))
  return token
}

function at(command: Command): Command {
  return withPlace(command).option(
    '--machines <module>',
    'a file that exports machines of your own; may be given again',
    eachOf,
  )
}
