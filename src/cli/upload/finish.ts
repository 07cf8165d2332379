import type { UploadBatchView } from 'sluice/upload'
import { sleep } from '../../clock.ts'
import type { Host } from '../host.ts'
import type { Interrupt } from '../interrupt.ts'
import type { ProgressBar, Step } from '../progress-bar.ts'
import { isNotification, isOver } from './batch.ts'
import type { Opened } from './place.ts'

const tickMsDefault = 100

/** Waits until the batch is settled and shows how far it is. False: somebody asked to stop. */
export async function finish(
  { upload, control, tickMs = tickMsDefault }: Opened,
  id: number,
  { clock }: Host,
  bar: ProgressBar | null,
  interrupt: Interrupt,
): Promise<boolean> {
  while (!interrupt.isAsked) {
    const settled = await control.settled(id, tickMs)
    if (settled && isOver(settled)) return true
    if (settled) await sleep(clock, tickMs, interrupt.signal)
    if (bar) bar.show(stepOf(await upload.batch(control, id)))
  }
  return false
}

/** A receiver that answers is waited for; one that is down is told later, by whichever process works on the store then. */
const notificationMs = 15_000

/** Waits a while for a notification that is under way. */
export async function finishNotification(
  { control, tickMs = tickMsDefault }: Opened,
  id: number,
  { clock }: Host,
  interrupt: Interrupt,
): Promise<void> {
  const end = clock.now() + notificationMs
  while (!interrupt.isAsked && clock.now() < end) {
    const { request } = await control.get(id)
    if (request === null || !isNotification(request)) return
    await sleep(clock, tickMs, interrupt.signal)
  }
}

/** The states of a batch as phases that a person waits through. What its processors say of themselves is finer than the counts. */
export function stepOf(view: UploadBatchView): Step {
  const { itemsProcessed, itemsErrored, itemsSkipped, itemsPending, trouble } = view
  const settled = itemsProcessed + itemsErrored + itemsSkipped
  const total = view.totalItemsInFile || null
  const said = (view.work ?? {}) as { validated?: number; extracted?: number; of?: number }
  switch (view.state) {
    case 'initial_state':
    case 'uploaded':
      return { phase: 'validating', done: said.validated ?? 0, total: said.of ?? null, unit: 'bytes', trouble }
    case 'validated':
    case 'extracting':
      return { phase: 'extracting', done: said.extracted ?? settled + itemsPending, total, unit: 'items', trouble }
    default: {
      const { ratePerSecond, etaMs } = view
      return { phase: 'processing', done: settled, total, unit: 'items', ratePerSecond, etaMs, trouble }
    }
  }
}
