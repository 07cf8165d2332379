import { Command } from 'commander'
import type { Doing } from './command.ts'
import { wholeNumber } from './option.ts'

const notes = `
Addresses
  FILE, sqlite:FILE or postgres://user@host:5432/database[?schema=NAME]; a password is better in PGPASSWORD or PGPASSFILE.

What happens
  Everything is carried, running batches included, and compared record by record; then the source is closed for ever. Stopped or killed,
  the same command goes on where it was. Until it is finished neither store can be used. Files in --folder are not touched.

Exit status
  0 moved · 5 somebody works on it, the target is not empty, or the two differ · 130 stopped; run it again
`

/** `sluice move`: this file only says what can be typed; what is done stands in move/. */
export function moveCommand(doing: Doing): Command {
  return new Command('move')
    .description('carry a store into another one: from a file to PostgreSQL, or back')
    .option('--from <address>', 'the store that is moved')
    .option('--to <address>', 'where to: a store that is empty, or not there yet')
    .option('--wait <ms>', 'how long to wait for workers that end, or for the leases of dead ones', wholeNumber, 0)
    .option('--copy', 'leave the source as it is, for a trial; not gone on with if it is stopped')
    .option('--abandon', 'take back a move that was begun: the source may be used again, the target is emptied')
    .option('--json', 'for programs: one JSON object on standard output')
    .addHelpText('after', notes)
    .action(doing(async () => (await import('./move/move.ts')).move))
}
