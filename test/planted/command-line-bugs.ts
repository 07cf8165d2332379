import { type Bug, inUnit } from './bug.ts'

const main = 'src/cli/main.ts'
const memoryFlags = 'src/cli/memory-flags.ts'
const flagsAreTheUsers = inUnit('src/cli/memory-flags.test.ts', 'a flag is known under every spelling that V8 knows')

/** What the command line can do wrong with a program that does everything right. */
export const commandLineBugs: readonly Bug[] = [
  {
    name: 'heap-limited',
    what: 'A process that runs code of the user has 128 MiB for it, whatever the user sets.',
    file: memoryFlags,
    find: "'--max-semi-space-size=16',",
    replace: "'--max-semi-space-size=16',\n  '--max-old-space-size=128',",
    caughtBy: flagsAreTheUsers,
  },
  {
    name: 'node-options-overruled',
    what: 'The memory settings of Sluice go before those in NODE_OPTIONS.',
    file: memoryFlags,
    find: '[...execArgv, ...optionsIn(nodeOptions)].map(nameOf)',
    replace: 'execArgv.map(nameOf)',
    caughtBy: flagsAreTheUsers,
  },
  {
    name: 'refusal-exits-as-success',
    what: 'A command that was refused ends with the exit status 0.',
    file: main,
    find: '  return exit\n',
    replace: '  return 0\n',
    caughtBy: inUnit('src/cli/main.test.ts', 'words sluice zzz is refused in one sentence'),
  },
  {
    name: 'json-error-on-the-error-stream',
    what: 'With --json an error is no object on standard output, where programs look for it.',
    file: main,
    find: 'terminal.out(`${JSON.stringify({ error',
    replace: 'terminal.err(`${JSON.stringify({ error',
    caughtBy: inUnit('src/cli/main.test.ts', 'words with --json a refusal is an object on standard output as well'),
  },
  {
    name: 'failure-exits-as-success',
    what: 'A state that is declared as a failure ends the command with the exit status 1, as if some of it had succeeded.',
    file: 'src/cli/control/outcome.ts',
    find: "case 'failure':\n      return 2",
    replace: "case 'failure':\n      return 1",
    caughtBy: inUnit(
      'src/cli/control/outcome.test.ts',
      'the exit status follows the declared outcome, never the name of a state',
    ),
  },
  {
    name: 'pending-retry-is-over',
    what: 'A batch whose retry was asked for counts as over: upload run ends before the retry has begun.',
    file: 'src/cli/upload/batch.ts',
    find: 'settled && (request === null || isNotification(request))',
    replace: 'settled',
    caughtBy: inUnit(
      'src/cli/upload/batch.test.ts',
      'a batch is over when it is settled, unless its retry was asked for',
    ),
  },
  {
    name: 'folder-overlooked',
    what: 'Uploads lie in the current folder, whatever --folder says.',
    file: 'src/cli/family/layout.ts',
    find: "upload: join(base, 'sluice-upload')",
    replace: "upload: join(folderDefault, 'sluice-upload')",
    caughtBy: inUnit(
      'src/cli/serve/settings.test.ts',
      'a store is a file beside the settings, or on a server; machines are names or modules',
    ),
  },
  {
    name: 'environment-before-options',
    what: 'A setting of the environment goes before what was typed.',
    file: 'src/cli/serve/settings.ts',
    find: '...config, ...fromEnvironment, ...options }',
    replace: '...config, ...options, ...fromEnvironment }',
    caughtBy: inUnit(
      'src/cli/serve/settings.test.ts',
      'options go before the environment, the environment before the file; an empty variable is none',
    ),
  },
  {
    name: 'formula-in-csv',
    what: 'A cell that begins with = is a formula for the spreadsheet that opens the errors of a batch.',
    file: 'src/cli/upload/csv.ts',
    find: '/^[=+@\\t\\r]',
    replace: '/^[+@\\t\\r]',
    caughtBy: inUnit('src/cli/upload/csv.test.ts', 'cells are quoted where they must be, and none is a formula'),
  },
]
