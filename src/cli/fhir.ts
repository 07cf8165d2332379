import { Command } from 'commander'
import type { Doing } from './command.ts'
import { share, wholeNumber } from './option.ts'

/** `sluice fhir …`: what the FHIR jobs need besides running, which is `sluice job`. */
export function fhirCommand(doing: Doing): Command {
  const fhir = new Command('fhir').description('files of FHIR resources to try the FHIR jobs with').helpCommand(false)

  fhir
    .command('sample')
    .argument('<folder>', 'where to write the files, one for each type')
    .description('write NDJSON files of realistic R4 resources')
    .requiredOption('--resources <count>', 'how many', wholeNumber)
    .option('--bad <share>', 'how many of them are broken', share, 0)
    .option('--repeated <share>', 'how many say again what an earlier one said', share, 0)
    .option('--changed <share>', 'how many say something else under an earlier id', share, 0)
    .option('--gzip', 'compressed')
    .option('--seed <number>', 'the same seed gives the same files', wholeNumber, 1)
    .option('--force', 'write into a folder that is not empty')
    .option('--json', 'for programs: one JSON object on standard output')
    .option('--quiet', 'no progress')
    .action(doing(async () => (await import('./fhir/sample.ts')).sample))

  return fhir
}
