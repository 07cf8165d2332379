import { Argument, Command } from 'commander'
import type { Doing } from './command.ts'
import type { Host } from './host.ts'
import { oneOf, wholeNumber } from './option.ts'
import type { Shell } from './upkeep/completion.ts'

/** What looks after this installation: `doctor`, `bench` and `completion`. */
export function upkeepCommands(doing: Doing, program: Command): readonly Command[] {
  const json = ['--json', 'for programs: one JSON object on standard output'] as const
  return [
    new Command('doctor')
      .description('look whether all is well here: Node, SQLite, the store, its folder, the clock, the disk, leases')
      .option('--folder <folder>', 'where all is kept (default: .)')
      .option('--store <file>', 'the store, if it is not in the folder')
      .option('--full', 'read every page of the store; takes its time on a big one')
      .option(...json)
      .addHelpText('after', '\nExit status\n  0 all is well · 1 something is not\n')
      .action(doing(async () => (await import('./upkeep/doctor.ts')).doctor)),
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
