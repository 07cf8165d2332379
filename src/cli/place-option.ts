import { type Command, Option } from 'commander'
import { oneOf } from './option.ts'

const texts = {
  folder: ['--folder <folder>', 'the folder with sluice.db, sluice-upload, sluice-jobs and sluice-server (default: .)'],
  store: [
    '--store <address>',
    'the store, if it is not in the folder: FILE, sqlite:FILE or postgres://user@host/database',
  ],
  server: ['--server <url>', 'ask this server instead (or SLUICE_SERVER)'],
  tokenFile: ['--token-file <file>', 'the token for it (or SLUICE_TOKEN)'],
  log: ['--log <level>', 'log to standard error: silent (default), error, warn, info, debug or trace'],
} as const

export type PlaceOption = keyof typeof texts

const title = 'Where it looks:'

/** Options that say where a command finds its Sluice: the same words with the same meaning for every command. */
export function withPlace(
  command: Command,
  names: readonly PlaceOption[] = Object.keys(texts) as PlaceOption[],
): Command {
  for (const name of names) {
    const [flags, text] = texts[name]
    const option = new Option(flags, text).helpGroup(title)
    command.addOption(name === 'log' ? option.argParser(oneOf(...levels)) : option)
  }
  return command
}

export const levels = ['silent', 'error', 'warn', 'info', 'debug', 'trace'] as const

/** What a command does of its own stands first in its help. */
export function placeLast(command: Command): void {
  const isPlace = ({ helpGroupHeading }: Option) => helpGroupHeading === title
  const own = command.options.filter((option) => !isPlace(option))
  const place = command.options.filter(isPlace)
  ;(command.options as Option[]).splice(0, command.options.length, ...own, ...place)
}
