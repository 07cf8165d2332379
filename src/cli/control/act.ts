import type { ActResult, ManyResult } from '../../control.ts'
import type { WalkData } from '../../engine/walk.ts'
import { isSluiceError, SluiceError } from '../../errors.ts'
import { exitOf, sentenceOf } from '../failure.ts'
import { countOf } from '../figures.ts'
import type { Host } from '../host.ts'
import { jsonOf } from '../json-input.ts'
import { isAgreed } from '../question.ts'
import { plain, table } from '../text.ts'
import type { AnswerOptions } from './answer.ts'
import { type FilterOptions, filterOf } from './list.ts'
import { stateText } from './outcome.ts'
import { commandHere, type Reached, type ReachOptions, reach } from './reach.ts'
import { follow } from './watch.ts'

export interface AskOptions extends AnswerOptions {
  readonly reason?: string
  readonly input?: string
  readonly to?: string
  readonly seq?: number
  readonly yes?: boolean
}

export interface ActOptions extends AskOptions {
  readonly filter?: FilterOptions
  readonly wait?: boolean
}

/** What a person did not agree to: as if it had been refused. */
const declinedExit = 5

/** Asks entities for an action: those that are named, or all that a filter matches. */
export async function act(action: string, ids: readonly number[], options: ActOptions, host: Host): Promise<number> {
  const { filter } = options
  if (ids.length > 0 === (filter !== undefined)) {
    throw new SluiceError(
      'invalid',
      'Name the entities, or all that match: sluice act ACTION ID…, or --filter machine=… --filter state=….',
    )
  }
  const reached = await reach(options, host)
  try {
    return filter
      ? await actOnMany(reached, filter, action, options, host)
      : await actOnEach(reached, ids, action, options, host)
  } finally {
    await reached.close()
  }
}

async function askedOf({ actor }: Reached, options: AskOptions, host: Host) {
  const { reason, input, to, seq } = options
  return {
    ...actor,
    ...(reason === undefined ? {} : { reason }),
    ...(input === undefined ? {} : { input: await jsonOf(input, host.input, 'The input') }),
    ...(to === undefined ? {} : { to }),
    ...(seq === undefined ? {} : { seq }),
  }
}

/** One after another; the worst of them is the exit status. */
async function actOnEach(
  reached: Reached,
  ids: readonly number[],
  action: string,
  options: AskOptions,
  host: Host,
): Promise<number> {
  const results: object[] = []
  let exit = 0
  for (const id of ids) {
    try {
      const result = await actOnOne(reached, id, action, options, host)
      results.push(result ?? { id, kind: 'declined' })
      if (result === null) exit = Math.max(exit, declinedExit)
      else if (!options.json) host.terminal.out(`${toldOf(result, action, options)}\n`)
    } catch (error) {
      if (ids.length === 1 && !options.json) throw error
      exit = Math.max(exit, exitOf(error))
      host.terminal.err(`${sentenceOf(error)}\n`)
      results.push({ id, kind: 'refused', message: sentenceOf(error) })
    }
  }
  if (options.json) host.terminal.out(`${JSON.stringify({ results })}\n`)
  return exit
}

/** Null: a person was warned, and did not want it any more. */
export async function actOnOne(
  reached: Reached,
  id: number,
  action: string,
  options: AskOptions,
  host: Host,
): Promise<ActResult | null> {
  const asked = await askedOf(reached, options, host)
  try {
    return await reached.control.act(id, action, { ...asked, confirmed: options.yes === true })
  } catch (error) {
    const warning = warningIn(error)
    if (warning === null) throw error
    if (!(await isAgreed(`${plain(warning, 1_000)} ${action} ${id} all the same?`, host))) {
      host.terminal.err('Nothing was done.\n')
      return null
    }
    return reached.control.act(id, action, { ...asked, confirmed: true })
  }
}

function warningIn(error: unknown): string | null {
  if (!isSluiceError(error, 'conflict') || error.detail.confirm !== true) return null
  return typeof error.detail.warning === 'string' ? error.detail.warning : error.message
}

export function toldOf({ id, kind, state }: ActResult, action: string, options: ReachOptions): string {
  return kind === 'done'
    ? `${id} is ${stateText(plain(state, 60))}.`
    : `${id} was asked to ${plain(action, 60)}; whoever works on it takes it up. Watch it by: ${commandHere(options, 'watch', String(id))}`
}

async function actOnMany(
  reached: Reached,
  given: FilterOptions,
  action: string,
  options: ActOptions,
  host: Host,
): Promise<number> {
  const { control } = reached
  const { terminal } = host
  const filter = filterOf({ all: given.parent === undefined, ...given })
  const asked = await askedOf(reached, options, host)
  const counted = await control.actOnMany(filter, action, asked)
  if (counted.matching === 0) {
    terminal.out(options.json ? `${JSON.stringify(counted)}\n` : 'Nothing matches; nothing was done.\n')
    return 0
  }
  if (!options.yes && !(await isAgreed(questionOf(counted, action), host))) {
    terminal.err('Nothing was done.\n')
    if (options.json) terminal.out(`${JSON.stringify(counted)}\n`)
    return declinedExit
  }
  const started = await control.actOnMany(filter, action, { ...asked, confirm: true })
  const walk = started.walk as number
  const isWorked = (await control.workers()).length > 0
  if (options.wait === false || !isWorked) {
    const idle = isWorked ? '' : ' Nobody works on this store: start sluice serve or sluice worker.'
    const look = commandHere(options, 'show', String(walk))
    terminal.out(
      options.json ? `${JSON.stringify(started)}\n` : `Walk ${walk} asks them all.${idle} Look at it by: ${look}\n`,
    )
    return 0
  }
  const exit = await follow(reached, walk, { ...options, quiet: true, json: false }, host)
  const { result } = (await control.get(walk)).data as WalkData
  if (options.json) terminal.out(`${JSON.stringify({ ...started, result })}\n`)
  else terminal.out(`${walkLines(walk, result).join('\n')}\n`)
  return exit === 0 && result && result.refused + result.stale > 0 ? 1 : exit
}

function questionOf({ matching, exact, warnings }: ManyResult, action: string): string {
  const count = `${exact ? '' : 'At least '}${countOf(matching)}`
  return `${count} ${matching === 1 ? 'entity matches' : 'entities match'}.${warnings.map((text) => ` ${plain(text, 500)}`).join('')} ${plain(action, 60)} them all?`
}

function walkLines(walk: number, result: WalkData['result']): readonly string[] {
  if (result === null) return [`Walk ${walk} has no result yet.`]
  const { done, requested, refused, stale, refusals } = result
  return [
    `Walk ${walk}: everybody was asked.`,
    ...table([
      ['done', done],
      ['requested', requested],
      ['refused', refused],
      ['moved meanwhile', stale],
    ]),
    ...refusals.slice(0, 10).map(({ id, message }) => `  ${id}: ${plain(message, 200)}`),
  ]
}
