import type { Clock } from '../clock.ts'
import { SluiceError } from '../errors.ts'
import type { Store } from '../store.ts'
import { type Marks, movedText, type Report, type Transfer } from '../transfer.ts'
import { copy } from './copying.ts'
import { quieten } from './quiet.ts'
import { verify } from './verifying.ts'
import type { Watcher } from './watcher.ts'

/** One store of the two, and how people call it. */
export interface Side {
  readonly transfer: Transfer
  readonly place: string
}

export interface MoveOptions {
  readonly source: Side
  /** The source again, by its port: its own sweeper ends what dead workers held. */
  readonly store: Store
  readonly target: Side
  readonly clock: Clock
  /** How long workers may take to be gone. */
  readonly waitMs: number
  readonly watcher: Watcher
}

export interface Moved {
  readonly report: Report
  /** It was begun before, and went on from there. */
  readonly isResumed: boolean
}

/**
 * Carries a store into another one and closes the source for ever. Each step leaves something behind by which the next attempt finds where it
 * was, so that it may be killed anywhere: the fence around the source, the mark and the progress of the target, the status of both.
 */
export async function moveStore(options: MoveOptions): Promise<Moved> {
  const { source, target } = options
  const marks = { source: await source.transfer.marks(), target: await target.transfer.marks() }
  const done = await alreadyDone(options, marks.source, marks.target)
  if (done) return { report: done, isResumed: true }
  const mark = markOf(options, marks.source, marks.target)
  const isNew = marks.source.source === null
  if (isNew) {
    await options.store.migrate()
    await quieten(options.store, options.clock, options.waitMs, options.watcher)
    await source.transfer.fence({ id: mark.id, peer: target.place }, options.store.time())
  }
  // One that is finished is of an earlier transfer: whether there is room for another, the target itself knows.
  const begun = marks.target.target?.status === 'moving' ? marks.target.target : null
  if (!begun) await begin(options, mark.id, isNew)
  const report = await source.transfer.reading(async (dump) => {
    await copy(dump, target.transfer, begun?.progress ?? null, options.watcher, options.clock)
    return target.transfer.reading((other) => verify(dump, other, options.watcher, options.clock))
  })
  // The status of the source is noted before and after that of the target: whoever finds it half-way looks at the target.
  await source.transfer.setStatus('closing')
  await target.transfer.finish(report)
  await source.transfer.setStatus('moved')
  return { report, isResumed: begun !== null }
}

/**
 * A target that will not have it (it is in use, or this user may not make tables) leaves the source as it was. The source is not being read
 * meanwhile: a fence that is taken down waits for whoever reads.
 */
async function begin({ source, target }: MoveOptions, id: string, isNew: boolean): Promise<void> {
  const numbers = await source.transfer.reading((dump) => dump.numbers())
  try {
    await target.transfer.begin({ id, peer: source.place }, numbers)
  } catch (error) {
    if (isNew) await source.transfer.unfence()
    throw error
  }
}

/**
 * The same, for a trial: nobody may have a lease, but the source is neither fenced nor marked. What was begun before is begun anew, for the
 * source may have changed since.
 */
export async function copyStore(options: MoveOptions): Promise<Moved> {
  const { source, target } = options
  const [{ source: leaving }, { target: arriving }] = [await source.transfer.marks(), await target.transfer.marks()]
  if (leaving) throw new SluiceError('conflict', leavingText(source, leaving))
  if (arriving?.status === 'moving') {
    if (arriving.id !== copyId) throw foreign(target, arriving.peer)
    await target.transfer.wipe()
  }
  await options.store.migrate()
  await quieten(options.store, options.clock, options.waitMs, options.watcher)
  const report = await source.transfer.reading(async (dump) => {
    const leases = await dump.leases()
    if (leases > 0) {
      throw new SluiceError('conflict', `${leases} entities of the source are leased again. Stop its workers first.`)
    }
    await target.transfer.begin({ id: copyId, peer: source.place }, await dump.numbers())
    await copy(dump, target.transfer, null, options.watcher, options.clock)
    return target.transfer.reading((other) => verify(dump, other, options.watcher, options.clock))
  })
  await target.transfer.finish(report)
  return { report, isResumed: false }
}

/** Copies have no name of their own: they are never gone on with. */
const copyId = 'copy'

export interface AbandonOptions {
  /** Null: it is lost, or was never reached. */
  readonly source: Side | null
  readonly target: Side | null
}

/** Takes back what was begun: the source may be used again, the target is empty. What is finished is not undone. */
export async function abandonMove({ source, target }: AbandonOptions): Promise<void> {
  const leaving = (await source?.transfer.marks())?.source ?? null
  const arriving = (await target?.transfer.marks())?.target ?? null
  if (leaving?.status === 'moved')
    throw new SluiceError('conflict', `${movedText(source!.place, leaving.peer)} Nothing was undone.`)
  if (leaving && arriving && arriving.id !== leaving.id) throw foreign(target!, arriving.peer)
  const isFinished = arriving?.status === 'finished'
  if (leaving && isFinished) {
    throw new SluiceError(
      'conflict',
      `All is in ${target!.place} already, and it may be at work. Nothing was undone; run the same sluice move without --abandon to end it.`,
    )
  }
  if (leaving?.status === 'closing' && !target) {
    throw new SluiceError(
      'conflict',
      `All is in ${leaving.peer} already, which may be at work. Name it by --to, so that it can be looked at.`,
    )
  }
  if (!leaving && (!arriving || isFinished)) {
    throw new SluiceError('not_found', 'There is no move that was begun and not finished. Nothing was undone.')
  }
  // The target first: a source that is free again while its copy looks unfinished is harmless, the other way round too.
  if (arriving && !isFinished) await target!.transfer.wipe()
  if (leaving) await source!.transfer.unfence()
}

/** The report, if the target is complete and only the source may not know it. */
async function alreadyDone(
  { source, target }: MoveOptions,
  { source: leaving }: Marks,
  { target: arriving }: Marks,
): Promise<Report | null> {
  const isSame = leaving !== null && arriving?.id === leaving.id
  if (isSame && arriving.status === 'finished') {
    if (leaving.status !== 'moved') await source.transfer.setStatus('moved')
    return arriving.report ?? []
  }
  if (leaving?.status === 'moved') throw new SluiceError('conflict', movedText(source.place, leaving.peer))
  if (arriving?.status === 'moving' && !isSame) throw foreign(target, arriving.peer)
  return null
}

function markOf(
  { source, target, clock }: MoveOptions,
  { source: leaving }: Marks,
  { target: arriving }: Marks,
): { readonly id: string } {
  if (leaving === null) return { id: newId(clock) }
  const isKnown = arriving?.id === leaving.id || leaving.peer === target.place
  if (!isKnown) throw new SluiceError('conflict', leavingText(source, leaving))
  return leaving
}

function leavingText(source: Side, { peer }: { readonly peer: string }): string {
  return `The store at ${source.place} is being moved to ${peer}, and that is not finished. Go on with that one, or abandon it: sluice move --abandon.`
}

function foreign(target: Side, peer: string): SluiceError {
  return new SluiceError(
    'conflict',
    `The store at ${target.place} holds an unfinished move from ${peer}. Go on with that one, or abandon it: sluice move --abandon --to ${target.place}.`,
  )
}

/** 128 bits by chance: no two transfers have the same. */
function newId(clock: Clock): string {
  const part = () =>
    Math.floor(clock.random() * 2 ** 32)
      .toString(16)
      .padStart(8, '0')
  return [part(), part(), part(), part()].join('')
}
