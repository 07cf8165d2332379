import { Command, CommanderError } from 'commander'
import { doingOn } from './command.ts'
import { controlCommands } from './control.ts'
import { codeOf, exitOf, sentenceOf } from './failure.ts'
import { removeMemoryFolder } from './family/layout.ts'
import { fhirCommand } from './fhir.ts'
import { type Host, processHost } from './host.ts'
import { jobCommand } from './job.ts'
import { moveCommand } from './move.ts'
import { placeLast } from './place-option.ts'
import { serveCommands } from './serve.ts'
import { noColour } from './terminal.ts'
import { upkeepCommands } from './upkeep.ts'
import { uploadCommand } from './upload.ts'
import { versionOfPackage } from './version.ts'
import { workflowCommand } from './workflow.ts'

/** Whoever typed what does not exist. */
const usageExit = 2

/** Runs the command that the words say, and gives its exit status. */
export async function main(words: readonly string[], host: Host = processHost(words)): Promise<number> {
  let status = 0
  const program = programOf(host, (exit) => {
    status = exit
  })
  try {
    await program.parseAsync(withoutColourWord(words), { from: 'user' })
    return status
  } catch (error) {
    if (error instanceof CommanderError) return usageEnd(error, host)
    return refused(sentenceOf(error), codeOf(error), exitOf(error), host)
  } finally {
    removeMemoryFolder()
  }
}

/** It may stand anywhere, and says how to print, not what to do: no command sees it. */
function withoutColourWord(words: readonly string[]): readonly string[] {
  const end = words.indexOf('--')
  return words.filter((word, index) => word !== noColour || (end >= 0 && index > end))
}

/** One sentence for people; and for programs an object on standard output, where they look for it. */
function refused(sentence: string, code: string, exit: number, { terminal, words }: Host): number {
  terminal.err(`${sentence}\n`)
  if (words.includes('--json')) terminal.out(`${JSON.stringify({ error: sentence, code, exit })}\n`)
  return exit
}

function programOf(host: Host, onEnd: (status: number) => void): Command {
  const program = new Command('sluice')
    .description('A durable batch engine: files in, every item through its workflow, a truthful report out.')
    .version(versionOfPackage(), '--version', 'print the version')
    .option(noColour, 'no colours on a terminal (or NO_COLOR)')
    .helpOption('-h, --help', 'print this help')
    .helpCommand(false)
    // What a command takes stands in its own help.
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .exitOverride()
    .configureOutput({
      writeOut: (text) => host.terminal.out(text),
      writeErr: (text) => host.terminal.err(text),
      // Errors are told by usageEnd, in one sentence.
      outputError: () => {},
    })
    .addHelpText('after', examples)
  const doing = doingOn(host, onEnd)
  const add = (group: string, ...commands: readonly Command[]) => {
    for (const command of commands) program.addCommand(inherit(command, program).helpGroup(group))
  }
  add('Serving', ...serveCommands(doing))
  add('Files and jobs', uploadCommand(doing), jobCommand(doing), fhirCommand(doing), workflowCommand(doing))
  add('Entities of every machine', ...controlCommands(doing))
  add('Looking after it', moveCommand(doing), ...upkeepCommands(doing, program))
  return program
}

/** Commands that were built apart do not take over the settings of their parent by themselves. */
function inherit(command: Command, parent: Command): Command {
  placeLast(command)
  command.copyInheritedSettings(parent)
  for (const child of command.commands) inherit(child, command)
  return command
}

function usageEnd(error: CommanderError, host: Host): number {
  switch (error.code) {
    case 'commander.helpDisplayed':
    case 'commander.version':
      return 0
    case 'commander.help':
      // A command that only holds others was called alone; its help was told to the error stream.
      return usageExit
    default: {
      const sentence = error.message.replace(/^error: /, '').replaceAll(/\s*\n\s*/g, ' ')
      const text = `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}${/[.)?]$/.test(sentence) ? '' : '.'}`
      return refused(text, 'invalid', usageExit, host)
    }
  }
}

const examples = `
Examples
  sluice serve --samples                                      engine, API and dashboard, with something to look at
  sluice status                                               what there is, who works on it, and what is held
  sluice watch 1                                              stay with an entity until it is settled
  sluice upload sample items.json --items 100000 --bad 0.01   write a file to try it with
  sluice upload run items.json                                upload it and wait for the end
  sluice upload errors 1                                      see what failed, and why
  sluice upload search --type story --min-score 100           look at what was uploaded
  sluice job definitions                                      the jobs that can be run, and their parameters
  sluice upload run --help                                    all that a command can do
`
