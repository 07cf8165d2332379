import { realpath } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { isWithin } from 'sluice/chunked'
import { SluiceError } from '../../errors.ts'
import { parseStoreAddress } from '../../store-address.ts'
import type { Layout } from './layout.ts'

/**
 * Refuses roots that would let jobs from the network into Sluice's own files: what a token of one collection may not see lies there for all.
 * Roots below the data folder, but beside these, are fine.
 */
export async function refuseOwnPlaces(roots: readonly string[], layout: Layout): Promise<void> {
  const store = parseStoreAddress(layout.store)
  const own = [...(store.kind === 'sqlite' ? [store.file] : []), layout.upload, layout.jobs, layout.server]
  for (const root of roots) {
    const realRoot = await realPlaceOf(root)
    for (const place of own) {
      const real = await realPlaceOf(place)
      if (!(await isWithin(real, [[realRoot]])) && !(await isWithin(realRoot, [[real]]))) continue
      throw new SluiceError(
        'invalid',
        `--roots cannot allow ${root}: Sluice keeps its own files there (${place}). Name a folder beside them.`,
        { root, place },
      )
    }
  }
}

/** Without links, as far as it exists. */
async function realPlaceOf(path: string): Promise<string> {
  const whole = resolve(path)
  if (dirname(whole) === whole) return whole
  return realpath(whole).catch(async () => join(await realPlaceOf(dirname(whole)), basename(whole)))
}
