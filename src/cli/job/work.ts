import type { JobView } from 'sluice/chunked'
import { isSluiceError } from '../../errors.ts'
import { sentenceOf } from '../failure.ts'
import type { Host } from '../host.ts'
import { Interrupt, interruptedExit } from '../interrupt.ts'
import { commandLine } from '../text.ts'
import { failureSamples } from './failure-sample.ts'
import { finish } from './finish.ts'
import { JobProgress } from './job-progress.ts'
import { type JobPlace, type Opened, workCommand } from './place.ts'
import { exitOfState, type Result, refusalResult, reportOf, resultOf, stateText } from './report.ts'

export interface WorkOptions extends JobPlace {
  readonly json?: boolean
  readonly quiet?: boolean
}

/** What sets a job going. */
export interface Work {
  open(signal: AbortSignal): Promise<Opened>
  begin(opened: Opened): Promise<{ readonly id: number; readonly existing: boolean }>
}

/** Sets a job going, stays until it has ended, and reports. The exit status tells its state; 2 is also any refusal. */
export async function workOn(work: Work, options: WorkOptions, host: Host): Promise<number> {
  const status = await workedOn(work, options, host)
  // A step that does not heed its signal would keep the process for as long as it likes.
  host.leave(status)
  return status
}

async function workedOn(work: Work, options: WorkOptions, host: Host): Promise<number> {
  const { terminal } = host
  const progress = options.quiet ? null : new JobProgress(host)
  const interrupt = new Interrupt(
    host.signals,
    () => {
      progress?.clear()
      terminal.err('Stopping. Press Ctrl-C again to leave at once.\n')
    },
    (status) => host.exit(status),
  )
  try {
    return await worked(work, options, host, progress, interrupt)
  } catch (error) {
    progress?.clear()
    // An interrupt shows as an error of whatever was under way.
    if (interrupt.isAsked) return interrupted(null, options, host)
    return refused(error, options, host)
  } finally {
    interrupt.close()
  }
}

async function worked(
  work: Work,
  options: WorkOptions,
  host: Host,
  progress: JobProgress | null,
  interrupt: Interrupt,
): Promise<number> {
  const opened = await work.open(interrupt.signal)
  try {
    const { chunked, control } = opened
    const startedAt = host.clock.now()
    const { id, existing } = await work.begin(opened)
    const { settled, request } = await control.get(id)
    const isDone = existing && settled && request === null
    const { records: recordsBefore } = await chunked.job(control, id)
    const isEnded = isDone || (await finish(opened, id, host, progress, interrupt))
    const workedMs = isDone ? null : host.clock.now() - startedAt
    const view = await chunked.job(control, id)
    progress?.clear()
    const samples = await failureSamples(opened, view)
    const result = resultOf(view, { existing, workedMs, recordsBefore, samples, peakRssMiB: host.peakRssMiB() })
    if (!isEnded) return interrupted(result, options, host, view.trouble)
    if (options.json) print(result, host)
    else if (!options.quiet) host.terminal.out(reportOf(view, result, options, isDone))
    return exitOfState(view.state)
  } finally {
    await opened.close()
  }
}

/** One sentence and the object for programs: whatever was asked for was not begun. */
export function refused(error: unknown, { json }: WorkOptions, host: Host): number {
  const sentence = sentenceOf(error)
  host.terminal.err(`${sentence}\n`)
  const faults =
    isSluiceError(error) && Array.isArray(error.detail.faults) ? error.detail.faults.map(String) : undefined
  if (json) print(refusalResult(sentence, host.peakRssMiB(), faults), host)
  return 2
}

/** A job that was started stays; it goes on where it was when somebody works on it. */
function interrupted(
  result: Result | null,
  options: WorkOptions,
  host: Host,
  trouble: JobView['trouble'] = null,
): number {
  const sentence =
    result === null
      ? `Interrupted. Nothing was begun; begin with: ${commandLine(['sluice', ...host.words])}`
      : `Interrupted. ${trouble ? `${trouble.sentence} ` : ''}Job ${result.jobId} is ${stateText(result.state)}; it goes on with: ${workCommand(options, 'resume', String(result.jobId))}`
  host.terminal.err(`${sentence}\n`)
  if (options.json) print({ ...(result ?? refusalResult('', host.peakRssMiB())), error: sentence }, host)
  return interruptedExit
}

export function print(result: unknown, { terminal }: Pick<Host, 'terminal'>): void {
  terminal.out(`${JSON.stringify(result)}\n`)
}
