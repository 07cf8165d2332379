import { Command } from 'commander'
import type { Doing } from './command.ts'

/** `sluice workflow …`: machines as JSON for entity-workflow platforms, and back. */
export function workflowCommand(doing: Doing): Command {
  const workflow = new Command('workflow')
    .description('machines as workflow JSON of entity-workflow platforms, in and out')
    .helpCommand(false)
  const json = ['--json', 'for programs: one JSON object on standard output'] as const

  workflow
    .command('export')
    .description('print the machines of the upload family as workflow JSON')
    .option('--output <file>', 'write it to a file instead')
    .action(doing(async () => (await import('./workflow/export.ts')).exportMachines))

  workflow
    .command('import')
    .argument('<file>', 'workflow JSON')
    .description('check that a document can be imported; tell its machines, what they need, and what is odd in them')
    .option(...json)
    .action(doing(async () => (await import('./workflow/import.ts')).importFile))

  workflow
    .command('lint')
    .argument('<file>', 'workflow JSON')
    .description('tell what is odd in a document; exit status 1 if anything is')
    .option(...json)
    .action(doing(async () => (await import('./workflow/lint.ts')).lintFile))

  return workflow
}
