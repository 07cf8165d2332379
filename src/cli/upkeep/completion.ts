import type { Command } from 'commander'
import type { Host } from '../host.ts'

export type Shell = 'bash' | 'zsh' | 'fish'

/** What can be typed behind some words. */
interface Place {
  /** `upload run`; empty for the first word. */
  readonly path: string
  readonly commands: readonly Word[]
  readonly options: readonly Word[]
}

interface Word {
  readonly text: string
  readonly about: string
}

/** Prints the script for a shell, made from the commands themselves: what can be typed can be completed. */
export async function completion(
  program: Command,
  shell: Shell,
  { terminal }: Pick<Host, 'terminal'>,
): Promise<number> {
  terminal.out(scriptOf(shell, placesOf(program, [])), 'exact')
  return 0
}

export function scriptOf(shell: Shell, places: readonly Place[]): string {
  switch (shell) {
    case 'bash':
      return bashScript(places)
    case 'zsh':
      return zshScript(places)
    case 'fish':
      return fishScript(places)
    default:
      return shell satisfies never
  }
}

export function placesOf(command: Command, path: readonly string[]): readonly Place[] {
  const commands = command.commands.map((child) => ({ text: child.name(), about: firstSentence(child.description()) }))
  const options = command.options.flatMap(({ long, description, hidden }) =>
    long && !hidden ? [{ text: long, about: firstSentence(description) }] : [],
  )
  const help = { text: '--help', about: 'print the help' }
  return [
    { path: path.join(' '), commands, options: [...options, help] },
    ...command.commands.flatMap((child) => placesOf(child, [...path, child.name()])),
  ]
}

function firstSentence(text: string): string {
  return text.split(/[;(]/)[0]?.trim() ?? ''
}

/** Our own words are letters, digits and dashes; descriptions are quoted. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

function cases(places: readonly Place[], say: (place: Place) => string): string {
  return places.map((place) => `    ${quoted(place.path)}) ${say(place)} ;;`).join('\n')
}

const wordsOf = (words: readonly Word[]) => words.map(({ text }) => text).join(' ')

/** The words so far that are commands: the longest beginning that is one. */
const placeIn = (places: readonly Place[], take: string) => `  local place='' word next
  for word in "\${${take}}"; do
    case "$word" in -*) break ;; esac
    next="\${place:+$place }$word"
    case "$next" in
      ${places.flatMap(({ path }) => (path === '' ? [] : [quoted(path)])).join('|')}) place="$next" ;;
      *) break ;;
    esac
  done`

function bashScript(places: readonly Place[]): string {
  return `# Completion of sluice for bash: eval "$(sluice completion bash)"
_sluice() {
  local current="\${COMP_WORDS[COMP_CWORD]}"
${placeIn(places, 'COMP_WORDS[@]:1:COMP_CWORD-1')}
  local commands='' options=''
  case "$place" in
${cases(places, ({ commands, options }) => `commands=${quoted(wordsOf(commands))} options=${quoted(wordsOf(options))}`)}
  esac
  case "$current" in
    -*) COMPREPLY=($(compgen -W "$options" -- "$current")) ;;
    *) COMPREPLY=($(compgen -W "$commands" -- "$current")) ;;
  esac
}
complete -o default -F _sluice sluice
`
}

function zshScript(places: readonly Place[]): string {
  const described = (words: readonly Word[]) =>
    words.map(({ text, about }) => quoted(`${text}:${about.replaceAll(':', ' ')}`)).join(' ')
  return `#compdef sluice
# Completion of sluice for zsh: eval "$(sluice completion zsh)"
_sluice() {
  emulate -L zsh
${placeIn(places, '(@)words[2,CURRENT-1]')}
  local -a commands options
  case "$place" in
${cases(places, ({ commands, options }) => `commands=(${described(commands)}); options=(${described(options)})`)}
  esac
  if [[ "\${words[CURRENT]}" == -* ]]; then
    _describe -o 'option' options
  elif (( \${#commands} > 0 )); then
    _describe 'command' commands
  else
    _files
  fi
}
if [ "\${funcstack[1]}" = _sluice ]; then _sluice "$@"; else compdef _sluice sluice; fi
`
}

function fishScript(places: readonly Place[]): string {
  const known = places.flatMap(({ path }) => (path === '' ? [] : [quoted(path)])).join(' ')
  const lines = places.flatMap(({ path, commands, options }) => {
    const when = `-n "test (__sluice_path) = ${path === '' ? "''" : quoted(path)}"`
    const alone = commands.length > 0 ? ' -f' : ''
    return [
      ...commands.map(({ text, about }) => `complete -c sluice${alone} ${when} -a ${text} -d ${quoted(about)}`),
      ...options.map(({ text, about }) => `complete -c sluice ${when} -l ${text.slice(2)} -d ${quoted(about)}`),
    ]
  })
  return `# Completion of sluice for fish: sluice completion fish | source
function __sluice_path
  set -l path ''
  set -l words (commandline -opc)
  for word in $words[2..]
    set -l next (string trim "$path $word")
    contains -- "$next" ${known}
    and set path $next
    or break
  end
  echo "$path"
end
${lines.join('\n')}
`
}
