import { Argument, Command } from 'commander'
import type { Doing } from './command.ts'
import type { Host } from './host.ts'
import { eachOf, oneOf, wholeNumber } from './option.ts'
import { withPlace } from './place-option.ts'
import type { Shell } from './upkeep/completion.ts'

/** What looks after this installation: `migrate`, `doctor`, `backup`, `restore`, `bench` and `completion`. */
export function upkeepCommands(doing: Doing, program: Command): readonly Command[] {
  const json = ['--json', 'for programs: one JSON object on standard output'] as const
  return [
    withPlace(new Command('migrate'), ['folder', 'store'])
      .description('make the tables of a store, or bring them up to date')
      .option('--dry-run', 'change nothing; say what would be done')
      .option('--sql', 'change nothing; print the SQL, to be read or given to psql')
      .option(...json)
      .addHelpText('after', '\nExit status\n  0 up to date, or would be · 3 not allowed · 5 made by a newer program\n')
      .action(doing(async () => (await import('./upkeep/migrate.ts')).migrate)),
    withPlace(new Command('doctor'), ['folder', 'store'])
      .description(
        'look whether all is well here: Node, memory limits, the store and its server, the folder, the clock, the disk, leases',
      )
      .option('--machines <module>', 'a module of your machines, to be checked; may be given again', eachOf)
      .option('--full', 'read every page of the store; takes its time on a big one')
      .option(...json)
      .addHelpText('after', '\nExit status\n  0 all is well · 1 something is not\n')
      .action(doing(async () => (await import('./upkeep/doctor.ts')).doctor)),
    withPlace(new Command('backup'), ['folder', 'store'])
      .description('copy the store file as it is now; processes that use it go on')
      .argument('<file>', 'where the copy goes; it must not exist yet')
      .option(...json)
      .addHelpText('after', '\nExit status\n  0 copied · 5 that file exists already\n')
      .action(doing(async () => (await import('./upkeep/backup.ts')).backup)),
    withPlace(new Command('restore'), ['folder', 'store'])
      .description('put a backup in the place of the store file; the one that was there is kept beside it')
      .argument('<file>', 'the backup')
      .option(...json)
      .addHelpText(
        'after',
        '\nExit status\n  0 restored · 2 not a store of Sluice, or damaged · 5 a process uses the store\n',
      )
      .action(doing(async () => (await import('./upkeep/backup.ts')).restore)),
    new Command('bench')
      .description('how fast this machine is, in a few seconds')
      .option('--entities <count>', 'how many', wholeNumber, 20_000)
      .option('--folder <folder>', 'a folder on the disk that is meant (default: where temporary files are)')
      .option(...json)
      .action(doing(async () => (await import('./upkeep/bench.ts')).bench)),
    new Command('completion')
      .description('print what makes a shell complete the words of sluice')
      .addArgument(new Argument('<shell>', 'bash, zsh or fish').argParser(oneOf('bash', 'zsh', 'fish')))
      .action(
        doing(async () => {
          const { completion } = await import('./upkeep/completion.ts')
          return (name: Shell, _options: object, host: Host) => completion(program, name, host)
        }),
      ),
  ]
}
