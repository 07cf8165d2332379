import { type ChunkView, chunkedChunk, type JobView } from 'sluice/chunked'
import { SluiceError } from '../../errors.ts'
import type { Host } from '../host.ts'
import { momentOf } from '../moment.ts'
import { plain, table } from '../text.ts'
import { type JobPlace, lookCommand, openToLook } from './place.ts'
import { statesOf } from './states.ts'

export interface ChunksOptions extends JobPlace {
  readonly step?: string
  readonly state?: readonly string[]
  readonly after?: number
  readonly limit?: number
  readonly json?: boolean
}

/** A page of a job's chunks, in the order of their ids. */
export async function chunks(id: number, options: ChunksOptions, host: Host): Promise<number> {
  const { terminal, environment } = host
  const { step, state, after, limit = 20 } = options
  const states = statesOf(chunkedChunk, state)
  const { chunked, control, close } = await openToLook(options, environment)
  try {
    if (step !== undefined) refuseStep(await chunked.job(control, id), step)
    const page = await chunked.chunks(control, id, {
      limit,
      ...(step === undefined ? {} : { step }),
      ...(states === undefined ? {} : { states }),
      ...(after === undefined ? {} : { after }),
    })
    if (options.json) terminal.out(`${JSON.stringify(page)}\n`)
    else if (page.chunks.length === 0)
      terminal.out(`Job ${id} has no ${after === undefined ? '' : 'more '}such chunks.\n`)
    else {
      terminal.out(`${linesOf(page.chunks, host).join('\n')}\n`)
      if (page.next !== null) {
        const filters = [
          ...(step === undefined ? [] : ['--step', step]),
          ...(state === undefined ? [] : ['--state', state.join(',')]),
        ]
        const words = ['chunks', `${id}`, ...filters, '--limit', `${limit}`, '--after', `${page.next}`]
        terminal.err(`There may be more: ${lookCommand(options, ...words)}\n`)
      }
    }
    return 0
  } finally {
    await close()
  }
}

function refuseStep({ id, steps }: JobView, step: string): void {
  if (steps.some((one) => one.id === step)) return
  const known = steps.map((one) => one.id).join(', ')
  throw new SluiceError('not_found', `Job ${id} has no step ${step}. It has: ${known}.`, { id, step })
}

function linesOf(page: readonly ChunkView[], host: Host): readonly string[] {
  const rows = page.map((chunk) => [
    String(chunk.id),
    chunk.step,
    chunk.state.replaceAll('_', ' '),
    chunk.errorCount,
    chunk.pollAttempts,
    chunk.kind === 'REDUCER' ? 'the reducer' : gistOf(chunk.data),
    whyOf(chunk, host),
  ])
  return table([['chunk', 'step', 'state', 'errors', 'polls', 'data', 'why'], ...rows], '')
}

function whyOf({ reason, errorMessage, nextPollTimestamp, state }: ChunkView, host: Host): string {
  if (nextPollTimestamp !== null) return `is looked at again ${momentOf(nextPollTimestamp, host)}`
  if (state === 'failed' && reason && errorMessage && reason !== errorMessage)
    return plain(`${reason}: ${errorMessage}`)
  return plain(errorMessage ?? '')
}

function gistOf(data: unknown): string {
  return data === null || data === undefined ? '–' : plain(JSON.stringify(data), 60)
}
