import { countOf, durationOf } from '../figures.ts'
import type { Host } from '../host.ts'
import { ProgressBar } from '../progress-bar.ts'
import { openToSearch, type Place } from './place.ts'

export interface RebuildOptions extends Place {
  readonly textIndex?: boolean
  readonly quiet?: boolean
}

/** Builds the search index anew. The old one serves until the new one is whole; a crash in between changes nothing. */
export async function rebuild(options: RebuildOptions, { terminal, clock, environment }: Host): Promise<number> {
  const { textIndex } = options
  const { upload, control, close } = await openToSearch(
    options,
    environment,
    textIndex === undefined ? {} : { textIndex },
  )
  const bar = options.quiet ? null : new ProgressBar(terminal, () => clock.now())
  try {
    const startedAt = clock.now()
    const { documents } = await upload.rebuild(control, (done, total) => {
      // The family learns how many there are on the way: a bar that is always full would tell nothing.
      bar?.show({ phase: 'indexing', done, total: total > done ? total : null, unit: 'items' })
    })
    bar?.clear()
    const took = durationOf(clock.now() - startedAt)
    if (!options.quiet) terminal.out(`The search index is new: ${countOf(documents)} items in ${took}.\n`)
    return 0
  } finally {
    bar?.clear()
    await close()
  }
}
