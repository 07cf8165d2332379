import type { UploadBatchView } from 'sluice/upload'
import { sentenceOf } from '../failure.ts'
import type { Host } from '../host.ts'
import { Interrupt, interruptedExit } from '../interrupt.ts'
import { ProgressBar } from '../progress-bar.ts'
import { commandLine } from '../text.ts'
import { isOver } from './batch.ts'
import { finish, finishNotification } from './finish.ts'
import type { Opened, Place } from './place.ts'
import { exitOfState, type Result, refusalResult, reportOf, resultOf } from './report.ts'

export interface WorkOptions extends Place {
  readonly json?: boolean
  readonly quiet?: boolean
}

/** What sets a batch going. */
export interface Work {
  open(signal: AbortSignal): Promise<Opened>
  begin(opened: Opened, bar: ProgressBar | null): Promise<{ readonly id: number; readonly existing: boolean }>
}

/** Sets a batch going, stays until it is settled, and reports. The exit status tells its state; 2 is also any refusal. */
export async function workOn(work: Work, options: WorkOptions, host: Host): Promise<number> {
  const { terminal } = host
  const bar = options.quiet ? null : new ProgressBar(terminal, () => host.clock.now())
  const interrupt = new Interrupt(
    host.signals,
    () => {
      bar?.clear()
      terminal.err('Stopping. Press Ctrl-C again to leave at once.\n')
    },
    (status) => host.exit(status),
  )
  try {
    return await worked(work, options, host, bar, interrupt)
  } catch (error) {
    bar?.clear()
    // An interrupt shows as an error of whatever was under way.
    if (interrupt.isAsked) return interrupted(null, options, host)
    const sentence = sentenceOf(error)
    terminal.err(`${sentence}\n`)
    if (options.json) print(refusalResult(sentence, host.peakRssMiB()), host)
    return 2
  } finally {
    interrupt.close()
  }
}

async function worked(
  work: Work,
  options: WorkOptions,
  host: Host,
  bar: ProgressBar | null,
  interrupt: Interrupt,
): Promise<number> {
  const opened = await work.open(interrupt.signal)
  try {
    const { upload, control } = opened
    const startedAt = host.clock.now()
    const { id, existing } = await work.begin(opened, bar)
    const isDone = existing && isOver(await control.get(id))
    const isSettled = isDone || (await finish(opened, id, host, bar, interrupt))
    const workedMs = isDone ? null : host.clock.now() - startedAt
    if (isSettled && !isDone) await finishNotification(opened, id, host, interrupt)
    const view = await upload.batch(control, id)
    bar?.clear()
    const result = resultOf(view, { existing, workedMs, peakRssMiB: host.peakRssMiB() })
    if (!isSettled) return interrupted(result, options, host, view.trouble)
    if (options.json) print(result, host)
    else if (!options.quiet) host.terminal.out(reportOf(view, result, options))
    return exitOfState(view.state)
  } finally {
    await opened.close()
  }
}

/** What was received goes on where it was; what was not is to be sent again. Either way it is the same command. */
function interrupted(
  result: Result | null,
  options: WorkOptions,
  host: Host,
  trouble: UploadBatchView['trouble'] = null,
): number {
  const what = result ? `Batch ${result.batchId} is ${result.state}` : 'Nothing was begun'
  // With --force the same command would begin another batch of the same file.
  const words = host.words.filter((word) => result === null || word !== '--force')
  const sentence = `Interrupted. ${trouble ? `${trouble.sentence} ` : ''}${what}; it goes on with: ${commandLine(['sluice', ...words])}`
  host.terminal.err(`${sentence}\n`)
  if (options.json) print({ ...(result ?? refusalResult('', host.peakRssMiB())), error: sentence }, host)
  return interruptedExit
}

function print(result: Result, { terminal }: Host): void {
  terminal.out(`${JSON.stringify(result)}\n`)
}
