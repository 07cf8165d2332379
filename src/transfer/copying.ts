import type { Clock } from '../clock.ts'
import { type Dump, type Progress, type Records, type Section, sections, type Transfer } from '../transfer.ts'
import { rest, type Watcher } from './watcher.ts'

/** One durable write of the target: enough to be fast, little enough to be held in memory. */
const groupMax = 2_000
const groupBytesMax = 4 * 1024 * 1024

/** Carries everything that is not in the target yet. Stopped at any point, it goes on behind the last group that was written. */
export async function copy(
  dump: Dump,
  target: Transfer,
  from: Progress | null,
  watcher: Watcher,
  clock: Clock,
): Promise<void> {
  const first = from === null ? 0 : sections.indexOf(from.section)
  for (const section of sections.slice(first)) {
    await copySection(section, dump, target, from?.section === section ? from : null, watcher, clock)
  }
}

async function copySection<Name extends Section>(
  section: Name,
  dump: Dump,
  target: Transfer,
  from: Progress | null,
  watcher: Watcher,
  clock: Clock,
): Promise<void> {
  const total = await dump.count(section)
  let done = from?.done ?? 0
  let group: Records[Name][] = []
  let bytes = 0
  watcher.onProgress({ phase: 'copying', section, done, total })
  const flush = async (cursor: string): Promise<void> => {
    await rest(watcher, clock)
    done += group.length
    await target.write(section, group, { section, cursor, done })
    group = []
    bytes = 0
    watcher.onProgress({ phase: 'copying', section, done, total: Math.max(done, total) })
  }
  let last: string | null = null
  for await (const portion of dump.read(section, from?.cursor ?? null)) {
    group.push(...portion.records)
    bytes += portion.bytes
    last = portion.cursor
    if (group.length >= groupMax || bytes >= groupBytesMax) await flush(last)
  }
  if (group.length > 0 && last !== null) await flush(last)
}
