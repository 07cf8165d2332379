import { sleep } from '../../clock.ts'
import type { Control, Detail, Progress } from '../../control.ts'
import { countOf } from '../figures.ts'
import type { Host } from '../host.ts'
import { Interrupt, interruptedExit } from '../interrupt.ts'
import { ProgressBar, type Step } from '../progress-bar.ts'
import { plain } from '../text.ts'
import type { AnswerOptions } from './answer.ts'
import { cellsOf } from './history.ts'
import { exitOfEntity, stateText, unknownOutcome } from './outcome.ts'
import { commandHere, type Reached, type ReachOptions, reach } from './reach.ts'

export interface WatchOptions extends AnswerOptions {
  readonly quiet?: boolean
  readonly after?: number
}

/** Stays with an entity until it is settled; without one it tells every change that there is. */
export async function watch(id: number | undefined, options: WatchOptions, host: Host): Promise<number> {
  const reached = await reach(options, host)
  try {
    return id === undefined ? await tellAll(reached, options, host) : await follow(reached, id, options, host)
  } finally {
    await reached.close()
  }
}

function interruptOf(host: Host, onFirst: () => void): Interrupt {
  return new Interrupt(host.signals, onFirst, (status) => host.exit(status))
}

/** How often a bar is painted with new figures. */
const tickMs = 250

/** The exit status tells how it ended. */
export async function follow(reached: Reached, id: number, options: WatchOptions, host: Host): Promise<number> {
  const { control } = reached
  const { terminal, clock } = host
  const bar = options.quiet || options.json ? null : new ProgressBar(terminal, () => clock.now())
  const interrupt = interruptOf(host, () => bar?.clear())
  try {
    const settled = await untilSettled(reached, id, host, bar, interrupt)
    bar?.clear()
    const progress = await control.progress(id)
    const entity = settled ?? (await control.get(id))
    if (options.json) terminal.out(`${JSON.stringify({ entity, progress })}\n`)
    else if (!options.quiet) terminal.out(`${endOf(entity, progress, settled !== null, options)}\n`)
    if (!settled) {
      // A server may still be asked for the end, which nobody waits for any more.
      if (reached.client !== null) host.leave(interruptedExit)
      return interruptedExit
    }
    const machines = await control.machines()
    const machine = machines.find(({ name, version }) => name === settled.machine && version === settled.version)
    if (!options.quiet && !machine) terminal.err(`${unknownOutcome([`${settled.machine}@${settled.version}`])}\n`)
    else if (!options.quiet && machine?.states[settled.state]?.outcomeDeclared === false) {
      const what = `State ${settled.state} of machine ${plain(settled.machine, 60)}`
      terminal.err(`${what} declares no outcome, so the exit status is not 0.\n`)
    }
    return exitOfEntity(machines, settled, progress)
  } finally {
    bar?.clear()
    interrupt.close()
  }
}

/** How long a wait on a store of this machine may outlast the wish to stop: the store is closed afterwards. */
const waitMs = 250

/** Null: somebody asked to stop. */
async function untilSettled(
  { control, client }: Reached,
  id: number,
  { clock }: Host,
  bar: ProgressBar | null,
  interrupt: Interrupt,
): Promise<Detail | null> {
  const stop = new AbortController()
  const asked = new Promise<null>((resolve) => {
    interrupt.signal.addEventListener('abort', () => resolve(null), { once: true })
  })
  // What does not exist is told before anything is painted.
  await control.get(id)
  const painting = bar ? paint(control, id, clock, bar, stop.signal) : Promise.resolve()
  try {
    // A server that restarts meanwhile is waited for.
    if (client !== null) return await Promise.race([control.settled(id), asked])
    while (!interrupt.isAsked) {
      const settled = await control.settled(id, waitMs)
      if (settled) return settled
    }
    return null
  } finally {
    stop.abort()
    await painting
  }
}

async function paint(
  control: Control,
  id: number,
  clock: Host['clock'],
  bar: ProgressBar,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      const progress = await control.progress(id)
      if (!signal.aborted) bar.show(stepOf(progress))
    } catch {
      // A server that restarts is back soon; whoever waits for the end is told by the watch.
    }
    await sleep(clock, tickMs, signal)
  }
}

function stepOf(progress: Progress): Step {
  const { state, total, settled, ratePerSecond, percent, etaMs, etaLowMs, etaHighMs, trouble } = progress
  return {
    phase: stateText(state),
    done: settled,
    total: total === 0 ? null : total,
    unit: 'items',
    ...{ ratePerSecond, percent, etaMs, etaLowMs, etaHighMs, trouble },
  }
}

function endOf(
  { id, machine, state, reason, error }: Detail,
  { total, counts }: Progress,
  isSettled: boolean,
  options: ReachOptions,
): string {
  // The phrase by which it is counted, and the message that tells the rest.
  const why = [...new Set([reason, error])].filter((text) => text !== null).join(': ')
  const children = Object.entries(counts).map(([name, count]) => `${countOf(count)} ${stateText(name)}`)
  return [
    `${plain(machine, 60)} ${id} is ${stateText(state)}${why === '' ? '' : `: ${plain(why, 300).replace(/\.$/, '')}`}.`,
    ...(total === 0 ? [] : [`Children: ${children.join(', ')}.`]),
    ...(isSettled ? [] : [`Go on watching by: ${commandHere(options, 'watch', String(id))}`]),
  ].join('\n')
}

/** A line for each event, or each change as an object. */
async function tellAll({ control }: Reached, { json, after }: WatchOptions, host: Host): Promise<number> {
  const { terminal } = host
  const interrupt = interruptOf(host, () => {})
  try {
    const begun = () => {
      if (!json) terminal.err('Every change from now on; Ctrl-C ends it.\n')
    }
    const options = { signal: interrupt.signal, begun, ...(after === undefined ? {} : { after }) }
    for await (const change of control.watch(options)) {
      if (json) terminal.out(`${JSON.stringify(change)}\n`)
      else {
        for (const event of change.events) {
          const [, at = '', ...cells] = cellsOf(event, host)
          terminal.out(`${[at, event.entity, ...cells].join('  ').trimEnd()}\n`)
        }
        if (change.births.length > 0) terminal.out(`${birthsOf(change.births)}\n`)
      }
    }
    return 0
  } finally {
    interrupt.close()
  }
}

function birthsOf(births: readonly number[]): string {
  const shown = births.slice(0, 10).join(', ')
  return births.length <= 10 ? `created ${shown}` : `created ${shown} and ${countOf(births.length - 10)} more`
}
