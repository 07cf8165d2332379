import type { Known, Model } from '../../src/testing/simulation/index.ts'
import type { Complain } from '../../src/testing/simulation/judge.ts'
import type { Book } from './book.ts'
import { chunksByPlace, frontierOf, isJob, jobOf } from './job-reading.ts'

/** When everything has come to rest: each end was told, and no job waits for what will never come. */
export function checkAtRest(model: Model, book: Book, complain: Complain): void {
  for (const { id, generation, state } of book.untold) {
    const job = model.find(id)
    // What is held is told when it is let go.
    if (job?.generation === generation && job.row.request !== null) continue
    complain('A11 handlers', `The end of job ${id} as ${state} in generation ${generation} was told to nobody.`)
  }
  for (const known of model.all) {
    const complaint = isJob(known) ? stuck(model, known) : null
    if (complaint) complain('A7 outcome', `chunked_job ${known.id}: ${complaint}`)
  }
}

/** A job that has not ended waits for a chunk that is held, and not for one that only the job itself could let go. */
function stuck(model: Model, job: Known): string | null {
  if (job.settled || job.state === 'queued') return null
  const places = chunksByPlace(model, job)
  const frontier = frontierOf(places)
  const reducer = places.at(-1)![0]
  if (frontier < 0) {
    const waits = job.row.wait.for === 'run' || reducer?.settled === false
    return waits ? null : `It is ${job.state}, and no chunk of it is open.`
  }
  const lane = jobOf(job).plan.steps[frontier]!.id
  const open = places[frontier]!.filter(({ settled }) => !settled)
  return !model.opened.has(`${job.id}/${lane}`) && open.every(({ state }) => state === 'gate_waiting')
    ? `It is ${job.state}, ${open.length} chunks of ${lane} wait at its gate, and nobody will open it.`
    : null
}
