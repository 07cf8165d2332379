import { isDeepStrictEqual } from 'node:util'
import type { Invariant, Known, Model, MoveFact } from '../../src/testing/simulation/index.ts'
import { type Book, forReducer, type Item } from './book.ts'
import {
  chunkAfter,
  chunkOf,
  chunksByPlace,
  frontierOf,
  isBeyondTolerance,
  isChunk,
  isJob,
  jobAfter,
  jobOf,
  placeOf,
} from './job-reading.ts'
import { unrecoverable } from './performance.ts'

/** What only the definitions say of a step. */
export interface StepRules {
  readonly attemptsMax: number
  readonly concurrency: number | null
}

/** What the checks must be told of the world. */
export interface Expectations {
  rulesOf(definition: string, step: string): StepRules
  /** Whether the process of this name knows this definition. */
  knows(process: string, definition: string): boolean
}

const hopIn = ({ record }: MoveFact, name: string): boolean => record.hops.some(({ transition }) => transition === name)

function jobOver(model: Model, { parent }: Known): Known | undefined {
  return parent === null ? undefined : model.find(parent)
}

/** The promises of the chunked family: A1 to A9 of the research, two of its own, and each with its check. */
export function chunkedInvariants(book: Book, { rulesOf, knows }: Expectations): readonly Invariant[] {
  return [
    {
      name: 'A1 gates',
      sentence:
        'A gate opens in the commit that makes its step the current one, when no step before it has open chunks; the current step goes back by a rerun only.',
      move(fact) {
        if (isJob(fact.known)) return gatesOfJob(fact)
        return isChunk(fact.known) ? gateOfChunk(fact) : null
      },
    },
    {
      name: 'A2 queue',
      sentence: 'A chunk is queued and started in one claim: nothing is ever queued and forgotten.',
      move({ known, record }) {
        if (!isChunk(known)) return null
        const at = record.hops.findIndex(({ transition }) => transition === 'queue')
        if (at < 0) return null
        if (record.cause !== 'claim') return `It was queued by a row of cause ${record.cause}.`
        return record.hops[at + 1]?.transition === 'start' ? null : 'It was queued, and not started.'
      },
      row: ({ row, known }) => (isChunk(known) && row.state === 'queued' ? 'It stands queued.' : null),
    },
    {
      name: 'A3 polls',
      sentence: 'Nobody polls before the time; a poll is no error, is counted, and ends at its deadline.',
      move: (fact) => (isChunk(fact.known) ? pollsOf(fact) : null),
    },
    {
      name: 'A4 errors',
      sentence:
        'Every error is counted in its own commit; a chunk fails for good reason or after all its attempts, not before.',
      move: (fact) => (isChunk(fact.known) ? errorsOf(fact, rulesOf) : null),
    },
    {
      name: 'A5 outputs',
      sentence: 'What a chunk gave out appears with its completion: all that one successful run gave out, once.',
      move: (fact) => (isChunk(fact.known) ? outputsOf(fact, book) : null),
      row({ known, model }) {
        const source = known.source === null ? undefined : model.find(known.source)
        return source && isChunk(source) && source.state !== 'completed'
          ? `It is there, and chunk ${source.id}, which gave it out, is ${source.state}.`
          : null
      },
    },
    {
      name: 'A6 retention',
      sentence: 'Chunks are removed only with their job, after it has ended.',
      row({ known, model }) {
        if (!isChunk(known) || !model.isPurging(known)) return null
        const job = jobOver(model, known)
        return job && !job.settled ? `It is being removed, and its job is ${job.state}.` : null
      },
    },
    {
      name: 'A7 outcome',
      sentence: 'What becomes of a job follows from its chunks alone; a job that completed has no open chunk.',
      move: (fact) => (isJob(fact.known) ? outcomeOf(fact) : null),
      row({ known, model }) {
        const job = isChunk(known) ? jobOver(model, known) : undefined
        return job?.state === 'completed' && !known.settled ? `It is ${known.state}, and its job is completed.` : null
      },
    },
    {
      name: 'A8 reducer',
      sentence:
        'A job reduces once per generation, by one chunk, which takes in each output of each completed chunk of the last step once, in order.',
      move(fact) {
        if (isJob(fact.known)) return reductionOfJob(fact)
        return isChunk(fact.known) && chunkOf(fact.known).kind === 'REDUCER' ? inputOfReducer(fact) : null
      },
    },
    {
      name: 'A9 ended',
      sentence:
        'Under a job that ended no chunk is started; under a cancelled one none is moved; errored is not left for in_progress.',
      move(fact) {
        const { known, record, model } = fact
        if (isJob(known)) {
          const back = record.hops.some(({ from, to }) => from === 'errored' && to === 'in_progress')
          return back ? 'It was errored, and is in progress.' : null
        }
        const job = isChunk(known) ? jobOver(model, known) : undefined
        if (!job) return null
        if (job.state === 'cancelled' && fact.move?.by === 'lease')
          return 'It was moved by its lease after its job was cancelled.'
        const isStarted = hopIn(fact, 'start') || record.cause === 'claim'
        const isReducer = chunkOf(known).kind === 'REDUCER'
        const allowed = isReducer ? ['finalize'] : ['in_progress', 'errored']
        return isStarted && !allowed.includes(job.state) ? `It was started, and its job is ${job.state}.` : null
      },
    },
    {
      name: 'A10 limits',
      sentence: 'No more chunks of a step run at once than it says. Whoever does not know the definition runs nothing.',
      row({ row, known, model }) {
        if (!isChunk(known) || row.owner === null) return null
        const { definition, limit } = chunkOf(known)
        const max = rulesOf(definition, known.lane).concurrency
        if (limit === undefined || max === null) return null
        const runs = ({ row: { owner } }: Known) =>
          owner !== null && knows(model.workers.get(owner)?.owner ?? '', definition)
        let count = 0
        for (const other of model.all) if (isChunk(other) && runs(other) && chunkOf(other).limit === limit) count += 1
        return count <= max ? null : `${count} of ${limit} run at once; ${max} may.`
      },
    },
    {
      name: 'A11 handlers',
      sentence:
        'The commit that ends a job asks for its handler, if it has one; each end is told, with a key of its own.',
      move(fact) {
        const { known, record, move } = fact
        if (!isJob(known)) return null
        const { from, to } = record.hops.at(-1)!
        if (from === to || !known.machine.settled.includes(to)) return null
        const { tells } = jobOf(known).plan
        const wanted = (to === 'completed' ? tells.completed : tells.failed) ? `notify_${to}` : null
        const asked = move?.request?.edge ?? null
        if (wanted !== null) book.ended({ id: known.id, generation: record.generation, state: to })
        return asked === wanted
          ? null
          : `It entered ${to} and asked for ${asked ?? 'nothing'} instead of ${wanted ?? 'nothing'}.`
      },
    },
  ]
}

function gatesOfJob(fact: MoveFact): string | null {
  const { known, move, model } = fact
  if (!move) return null
  const before = jobOf(known)
  const after = jobAfter(fact)
  const { steps } = after.plan
  const place = placeOf(after, after.currentStep)
  const isRerun = hopIn(fact, 'rerun')
  for (const lane of move.opens) {
    // A rerun may find that gates before its step were never opened.
    const fits = isRerun ? placeOf(after, lane) <= place : after.currentStep === lane
    if (!fits) return `The gate of ${lane} opened, and the current step is ${after.currentStep}.`
    const open = openBefore(model, known, place)
    if (open) return `The gate of ${lane} opened, and chunk ${open.id} of ${open.lane} is ${open.state}.`
  }
  const left = steps.find(({ gated, id }, index) => isRerun && gated && index > place && !move.shuts.includes(id))
  if (left) return `It runs again from ${after.currentStep}, and the gate of ${left.id} is not shut.`
  if (!isRerun && after.currentStep !== null && place < placeOf(before, before.currentStep))
    return `Its step went from ${before.currentStep} back to ${after.currentStep}.`
  const isOpen = move.opens.includes(after.currentStep ?? '') || model.opened.has(`${known.id}/${after.currentStep}`)
  return steps[place]?.gated && !isOpen ? `Its step is ${after.currentStep}, whose gate was not opened.` : null
}

function gateOfChunk({ known, record, model }: MoveFact): string | null {
  const job = jobOver(model, known)
  // Whoever is tried again, or looked at again, has passed its gate before, and a rerun of the job does not send it back.
  const passes = record.hops[0]?.transition === 'open_gate' || record.hops[0]?.from === 'ready'
  if (record.cause !== 'claim' || !passes || !job) return null
  const data = jobOf(job)
  const place = placeOf(data, known.lane)
  if (!data.plan.steps[place]?.gated) return null
  if (placeOf(data, data.currentStep) < place) return `It was started, and the current step is ${data.currentStep}.`
  const open = openBefore(model, job, place)
  return open ? `It was started behind its gate, and chunk ${open.id} of ${open.lane} is ${open.state}.` : null
}

function openBefore(model: Model, job: Known, place: number): Known | undefined {
  const data = jobOf(job)
  return model.childrenOf(job.id).find((chunk) => !chunk.settled && placeOf(data, chunk.lane) < place)
}

function pollsOf(fact: MoveFact): string | null {
  const { known, record, move } = fact
  const before = chunkOf(known)
  const after = chunkAfter(fact)
  if (hopIn(fact, 'poll_again')) {
    if (before.nextPollTimestamp === null) return 'It was looked at again, and has no time for that.'
    if (record.at < before.nextPollTimestamp)
      return `It was looked at again at ${record.at}, before ${before.nextPollTimestamp}.`
  }
  if (move?.reason === 'poll deadline passed' && record.at < (before.pollDeadline ?? Number.POSITIVE_INFINITY))
    return `It failed at ${record.at}, before its deadline ${before.pollDeadline}.`
  if (!hopIn(fact, 'poll_later')) return null
  if (after.errorCount !== before.errorCount)
    return `A poll raised its errors from ${before.errorCount} to ${after.errorCount}.`
  if (after.nextPollTimestamp === null) return 'It polls, and has no time for the next look.'
  // A process that does not know the definition has not looked: it changes nothing but the time.
  if (after.pollAttempts === before.pollAttempts && after.pollDeadline === before.pollDeadline) return null
  if (after.pollAttempts !== before.pollAttempts + 1)
    return `Its polls went from ${before.pollAttempts} to ${after.pollAttempts}.`
  if (before.pollDeadline !== undefined && after.pollDeadline !== before.pollDeadline)
    return `Its deadline went from ${before.pollDeadline} to ${after.pollDeadline}.`
  return after.nextPollTimestamp <= (after.pollDeadline ?? -1)
    ? null
    : `Its next look is at ${after.nextPollTimestamp}, and its deadline is ${after.pollDeadline}.`
}

function errorsOf(fact: MoveFact, rulesOf: Expectations['rulesOf']): string | null {
  const { known, move } = fact
  const before = chunkOf(known)
  const after = chunkAfter(fact)
  const isRetried = hopIn(fact, 'try_again')
  const isFailed = hopIn(fact, 'fail')
  if (!isRetried && !isFailed) return null
  if (after.errorCount !== before.errorCount + 1)
    return `Its errors went from ${before.errorCount} to ${after.errorCount}.`
  const { attemptsMax } = rulesOf(before.definition, known.lane)
  const { wait } = known.row
  // The claim that records a timeout of the run before is no attempt of its own.
  const attempts = wait.for === 'run' && wait.timedOut ? known.row.attempts - 1 : known.row.attempts
  if (isRetried)
    return attempts < attemptsMax ? null : `It is tried again after ${attempts} of ${attemptsMax} attempts.`
  return attempts >= attemptsMax || unrecoverable.has(move?.reason ?? null)
    ? null
    : `It failed (${move?.reason}) at attempt ${attempts} of ${attemptsMax}.`
}

function outputsOf(fact: MoveFact, book: Book): string | null {
  const { known, model } = fact
  const spawned = [...model.spawnedBy(known.id)].sort(([one], [other]) => one - other)
  if (!hopIn(fact, 'complete')) {
    return spawned.length === 0 ? null : `It has given out ${spawned.length} chunks, and is not completed.`
  }
  const gap = spawned.findIndex(([ordinal], index) => ordinal !== index)
  if (gap >= 0) return `Its chunk number ${gap} is missing.`
  const { output, kind } = chunkAfter(fact)
  if (kind === 'REDUCER') return null
  const seen = new Map<string, Item[]>()
  for (const [, id] of spawned) {
    const child = model.find(id)
    if (!child) return `Its chunk ${id} is not there.`
    const { data } = chunkOf(child)
    seen.set(child.lane, [
      ...(seen.get(child.lane) ?? []),
      ...(Array.isArray(data) ? (data as Item[]) : [data as Item]),
    ])
  }
  seen.set(forReducer, (output ?? []) as Item[])
  return book.complaintOf(known.id, seen)
}

function outcomeOf(fact: MoveFact): string | null {
  const { known, model } = fact
  const data = jobOf(known)
  const places = chunksByPlace(model, known)
  const frontier = frontierOf(places)
  const isBeyond = isBeyondTolerance(data, places)
  const [reducer] = places.at(-1)!
  const why = `failures are ${isBeyond ? '' : 'not '}beyond ${JSON.stringify(data.plan.tolerance)}, the first open step is ${data.plan.steps[frontier]?.id ?? 'none'}.`
  const requirements: Readonly<Record<string, boolean>> = {
    fail_on_chunks: isBeyond,
    finalize: !isBeyond && frontier < 0 && data.plan.reducer !== null,
    complete: !isBeyond && frontier < 0 && data.plan.reducer === null,
    advance: frontier > placeOf(data, data.currentStep),
    advance_errored: frontier > placeOf(data, data.currentStep),
    report: reducer?.state === 'completed' && frontier < 0,
    fail_on_reducer: reducer?.state === 'failed',
  }
  const hop = fact.record.hops.find(({ transition }) => requirements[transition] === false)
  return hop ? `It took ${hop.transition}; ${why}` : null
}

function reductionOfJob(fact: MoveFact): string | null {
  const { known, record, model } = fact
  const reducers = model.childrenOf(known.id).filter((chunk) => chunkOf(chunk).kind === 'REDUCER')
  if (reducers.length > 1) return `It has ${reducers.length} REDUCER chunks.`
  if (hopIn(fact, 'finalize') && model.joins.has(`${known.id} finalize ${record.generation}`))
    return `It reduces twice in generation ${record.generation}.`
  if (!hopIn(fact, 'report')) return null
  const said = jobAfter(fact).report
  const made = reducers[0] ? chunkOf(reducers[0]).report : undefined
  return isDeepStrictEqual(said, made)
    ? null
    : `Its report is ${JSON.stringify(said)}; the reducer's is ${JSON.stringify(made)}.`
}

function inputOfReducer(fact: MoveFact): string | null {
  const { known, model } = fact
  const job = jobOver(model, known)
  if (!hopIn(fact, 'complete') || !job) return null
  const data = jobOf(job)
  const last = data.plan.steps.length - 1
  const sourcePlace = ({ source }: Known) => {
    const lane = source === null ? null : (model.find(source)?.lane ?? null)
    return placeOf(data, lane)
  }
  const completed = (chunksByPlace(model, job)[last] ?? []).filter(({ state }) => state === 'completed')
  const ordered = completed.sort(
    (one, other) =>
      sourcePlace(one) - sourcePlace(other) ||
      (one.source ?? 0) - (other.source ?? 0) ||
      (one.ordinal ?? 0) - (other.ordinal ?? 0),
  )
  const expected = ordered.flatMap((chunk) => chunkOf(chunk).output ?? [])
  const { report } = chunkAfter(fact)
  return isDeepStrictEqual(report, expected)
    ? null
    : `It took in ${JSON.stringify(report)}; the last step gave out ${JSON.stringify(expected)}.`
}
