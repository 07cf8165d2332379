import type { Host } from '../host.ts'
import { type AttachedFile, attachmentsOf, checkFiles } from './attached-file.ts'
import { type ParameterOptions, parametersOf } from './parameters.ts'
import { type Opened, openToStart, openToWork, workCommand } from './place.ts'
import { resultOf, titleOf } from './report.ts'
import { print, refused, type Work, type WorkOptions, workOn } from './work.ts'

export interface RunOptions extends WorkOptions, ParameterOptions {
  readonly attach?: readonly AttachedFile[]
  readonly jobVersion?: number
  readonly key?: string
  readonly again?: boolean
  readonly priority?: number
  readonly collection?: string
  /** False: start it and leave. */
  readonly wait?: boolean
}

/** Starts a job and stays until it has ended. */
export async function run(name: string, options: RunOptions, host: Host): Promise<number> {
  const { attach = [], key, again, priority, collection } = options
  const version = options.jobVersion === undefined ? {} : { version: options.jobVersion }
  const stopping = new AbortController()
  let parameters: unknown
  const open: Work['open'] = async (signal) => {
    signal.addEventListener('abort', () => stopping.abort(), { once: true })
    parameters = await parametersOf(options, host.input)
    await checkFiles(attach)
    const opening = options.wait === false ? openToStart : openToWork
    // Refused before there is a store: a mistyped name leaves none behind.
    return opening(options, host.environment, (chunked) => chunked.check(name, parameters, options.jobVersion))
  }
  const begin: Work['begin'] = ({ chunked, control }) =>
    chunked.start(control, name, parameters, {
      ...version,
      startedBy: host.user,
      ...(key === undefined ? {} : { key }),
      ...(again === undefined ? {} : { again }),
      ...(priority === undefined ? {} : { priority }),
      ...(collection === undefined ? {} : { collection }),
      ...(attach.length === 0 ? {} : { attachments: attachmentsOf(attach, stopping.signal) }),
    })
  return options.wait === false ? startOnly({ open, begin }, options, host) : workOn({ open, begin }, options, host)
}

async function startOnly(work: Work, options: RunOptions, host: Host): Promise<number> {
  let opened: Opened | null = null
  try {
    opened = await work.open(new AbortController().signal)
    const { id, existing } = await work.begin(opened)
    const view = await opened.chunked.job(opened.control, id)
    const resume = workCommand(options, 'resume', String(id))
    const circumstances = { existing, workedMs: null, recordsBefore: 0, samples: [], peakRssMiB: host.peakRssMiB() }
    if (options.json) print(resultOf(view, circumstances), host)
    else if (!options.quiet)
      host.terminal.out(`${titleOf(view)} Whoever works on this store takes it up; or: ${resume}\n`)
    return 0
  } catch (error) {
    return refused(error, options, host)
  } finally {
    await opened?.close()
  }
}
