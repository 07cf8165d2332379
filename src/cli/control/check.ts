import type { Control } from '../../control.ts'
import type { Drift } from '../../store.ts'
import { countOf } from '../figures.ts'
import type { Host } from '../host.ts'
import { plain } from '../text.ts'
import { type AnswerOptions, answering } from './answer.ts'

export interface CheckOptions extends AnswerOptions {
  /** Every root's children too. */
  readonly all?: boolean
  readonly reason?: string
}

interface Checked {
  readonly looked: number
  readonly drifts: readonly Drift[]
}

/** Counts anew, and names every count that is wrong. Exit status 1 if any is. */
export function check(ids: readonly number[], options: CheckOptions, host: Host): Promise<number> {
  return answering(
    options,
    host,
    ({ control }) => overParents(control, ids, options, (parents) => control.check(parents)),
    (found) => linesOf(found, 'is wrong'),
    ({ drifts }) => (drifts.length === 0 ? 0 : 1),
  )
}

/** The same, and mends them. */
export function repair(ids: readonly number[], options: CheckOptions, host: Host): Promise<number> {
  return answering(
    options,
    host,
    ({ control, actor }) => {
      const by = { ...actor, ...(options.reason === undefined ? {} : { reason: options.reason }) }
      return overParents(control, ids, options, (parents) => control.repair(parents, by))
    },
    (found) => linesOf(found, 'was mended'),
  )
}

const pageMax = 500

/** The roots, those that are named, or all roots page by page. */
async function overParents(
  control: Control,
  ids: readonly number[],
  { all }: CheckOptions,
  look: (parents: readonly (number | null)[]) => Promise<readonly Drift[]>,
): Promise<Checked> {
  if (ids.length > 0) return { looked: ids.length, drifts: await look(ids) }
  const drifts = [...(await look([null]))]
  let looked = 1
  for (let after: number | null = all ? 0 : null; after !== null; ) {
    const page = await control.list({ parent: null, after, limit: pageMax })
    if (page.entities.length > 0) drifts.push(...(await look(page.entities.map(({ id }) => id))))
    looked += page.entities.length
    after = page.next
  }
  return { looked, drifts }
}

function linesOf({ looked, drifts }: Checked, verdict: string): readonly string[] {
  if (drifts.length === 0) return [`All counts are right (${countOf(looked)} looked at).`]
  return drifts.map(({ parent, lane, said, counted }) => {
    const figures = Object.keys({ ...said, ...counted }).map(
      (name) => `${plain(name, 60)} said ${said[name] ?? 0}, counted ${counted[name] ?? 0}`,
    )
    return `Lane ${plain(lane, 60)} of ${parent ?? 'the roots'} ${verdict}: ${figures.join('; ')}.`
  })
}
