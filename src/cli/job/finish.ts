import { sleep } from '../../clock.ts'
import type { Host } from '../host.ts'
import type { Interrupt } from '../interrupt.ts'
import type { JobProgress } from './job-progress.ts'
import type { Opened } from './place.ts'

const tickMsDefault = 100

/** Waits until the job has ended and its handler was told, and shows how far it is. False: somebody asked to stop. */
export async function finish(
  { chunked, control, tickMs = tickMsDefault }: Opened,
  id: number,
  { clock }: Host,
  progress: JobProgress | null,
  interrupt: Interrupt,
): Promise<boolean> {
  while (!interrupt.isAsked) {
    const settled = await control.settled(id, tickMs)
    // A job whose rerun was asked for moves as soon as a worker has taken it up; a handler is called after the end.
    if (settled && settled.request === null) return true
    if (settled) await sleep(clock, tickMs, interrupt.signal)
    if (!progress || interrupt.isAsked) continue
    const view = await chunked.job(control, id)
    // It may have moved since.
    progress.show(view, settled?.state === view.state ? waitsFor(settled.request?.edge ?? '') : null)
  }
  return false
}

function waitsFor(edge: string): string {
  return edge === 'rerun' ? 'and about to be run again' : 'and its handler is called'
}
