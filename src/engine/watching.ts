import type { Change, WatchOptions } from '../control.ts'
import type { EntityId } from '../entity.ts'
import { SluiceError } from '../errors.ts'
import { eventsOf } from '../event.ts'
import type { EventPage } from '../store.ts'
import type { Bell } from './bell.ts'
import { checkId } from './filter.ts'
import type { Services } from './services.ts'

/** Beyond the end of every feed: reading from there gives the position of the end. */
const theEnd = Number.MAX_SAFE_INTEGER

/**
 * Every change behind a position, read in pages when the reader asks for them: however slow the reader is, nothing piles
 * up here. Signals say when to look; a poll is the safety net under lost ones.
 */
export function watching(services: Services, bell: Bell, options: WatchOptions): AsyncIterable<Change> {
  if (options.after !== undefined) checkId(options.after, 'after')
  // From now on: from the moment of the call, not from when the first change is asked for.
  const begin = options.after === undefined ? positionOf(services) : Promise.resolve(options.after)
  // Whoever reads gets the error; whoever never does has lost nothing by it.
  begin.catch(() => {})
  return { [Symbol.asyncIterator]: () => changesFrom(services, bell, options, begin) }
}

async function positionOf({ store }: Services): Promise<number> {
  return (await store.events({ after: theEnd, limit: 1 })).position
}

async function* changesFrom(
  services: Services,
  bell: Bell,
  { ids, signal, after, begun }: WatchOptions,
  begin: Promise<number>,
): AsyncGenerator<Change, void, undefined> {
  const wanted = ids && new Set(ids)
  let position = await begin
  begun?.(position)
  let isFirst = after !== undefined
  // An engine that has stopped has nothing more to show: the watch ends with it.
  while (!signal?.aborted && !services.completer.isEnded) {
    const page = await nextPage(services, bell, position, signal)
    if (isFirst && page.missed) {
      const message = `The feed does not go back to position ${after} any more; what came since then is in the histories.`
      throw new SluiceError('not_found', message, { after, position: page.position })
    }
    isFirst = false
    position = page.position
    const events = page.moves.filter(({ entity }) => isWanted(wanted, entity)).flatMap(eventsOf)
    const births = page.births.filter((id) => isWanted(wanted, id))
    if (events.length > 0 || births.length > 0) yield { position, events, births }
  }
}

/** What is behind the position; if that is nothing, waits for a sign that there may be more. */
async function nextPage(
  services: Services,
  bell: Bell,
  after: number,
  signal: AbortSignal | undefined,
): Promise<EventPage> {
  const { store, limits } = services
  // Listened for before reading: what comes in between is not missed.
  const ring = bell.next(signal)
  try {
    const page = await store.events({ after, limit: limits.pageMax })
    if (page.position === after) await ring.heard
    return page
  } finally {
    ring.cancel()
  }
}

function isWanted(wanted: ReadonlySet<EntityId> | undefined, id: EntityId): boolean {
  return wanted === undefined || wanted.has(id)
}
