import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Clock, systemClock } from '../../src/clock.ts'
import type { Limits } from '../../src/limits.ts'
import { sqliteStore, sqliteTransfer } from '../../src/store/sqlite/index.ts'
import type { Store } from '../../src/store.ts'
import { type copyStore, type Moved, type MoveOptions, moveStore, type Side } from '../../src/transfer/moving.ts'
import { lineOf } from '../../src/transfer/record-line.ts'
import type { Watcher } from '../../src/transfer/watcher.ts'
import { type Records, type Section, sections, type Transfer } from '../../src/transfer.ts'

/** Where a store is, or will be. */
export interface Place {
  readonly name: string
  store(clock?: Clock): Store
  transfer(): Transfer
  remove(): Promise<void>
}

export async function sqlitePlace(limits: Partial<Limits> = {}): Promise<Place & { readonly file: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-transfer-'))
  const file = join(folder, 'sluice.db')
  return {
    name: `sqlite:${file}`,
    file,
    store: (clock) => sqliteStore({ file, limits, ...(clock && { clock }) }),
    transfer: () => sqliteTransfer({ file, limits }),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

export const unwatched: Watcher = { onProgress() {} }

export type CarryOptions = Partial<Pick<MoveOptions, 'watcher' | 'waitMs' | 'clock'>> & {
  /** Of the source's store. */
  readonly storeClock?: Clock
}

/** What `sluice move` does, or with `--copy`. */
export async function carry(
  from: Place,
  to: Place,
  order: typeof moveStore | typeof copyStore = moveStore,
  options: CarryOptions = {},
): Promise<Moved> {
  const { watcher = unwatched, waitMs = 0, clock = systemClock(), storeClock } = options
  const store = from.store(storeClock)
  const [source, target] = [sideOf(from), sideOf(to)]
  try {
    return await order({ source, target, store, clock, waitMs, watcher })
  } finally {
    await target.transfer.close()
    await source.transfer.close()
    await store.close()
  }
}

export function sideOf(place: Place): Side {
  return { transfer: place.transfer(), place: place.name }
}

/** Everything in a store, line by line. */
export async function dumpOf(place: Place): Promise<Readonly<Record<Section, readonly string[]>>> {
  const transfer = place.transfer()
  try {
    return await transfer.reading(async (dump) => {
      const lines: Partial<Record<Section, string[]>> = {}
      for (const section of sections) {
        const own: string[] = []
        for await (const { records } of dump.read(section, null))
          for (const record of records as readonly Records[typeof section][]) own.push(lineOf(section, record))
        lines[section] = own
      }
      return lines as Record<Section, string[]>
    })
  } finally {
    await transfer.close()
  }
}
