import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Random } from '../../src/testing/simulation/index.ts'

/** What becomes of one element if nothing but the file decides. */
export interface Expected {
  readonly state: 'completed' | 'skipped' | 'failed'
  readonly merged: boolean
  /** Null: it is no item. */
  readonly hnId: number | null
  readonly score: number
}

/** A file as chance draws it, stored under its digest, and what must become of each of its elements. */
export interface DrawnFile {
  readonly name: string
  readonly sha256: string
  readonly md5: string
  readonly bytes: number
  readonly elements: readonly Expected[]
}

const idsPerFile = 1_000
/** Elements that are no items, or not valid ones. */
const bad: readonly ((hnId: number) => string)[] = [
  () => '{"title":"without an id","type":"story"}',
  (hnId) => `{"id":${hnId},"type":"nonsense"}`,
  (hnId) => `{"id":${hnId}}`,
  () => '17',
]

/** Ids are the file's own: what other files hold does not matter to it. */
export function drawFile(random: Random, number: number, folder: string): DrawnFile {
  const ids: number[] = []
  const newest = new Map<number, number>()
  const texts: string[] = []
  const elements: Expected[] = []
  const freshId = () => (number + 1) * idsPerFile + texts.length
  for (let count = random.between(1, random.pick([3, 12, 40])); count > 0; count -= 1) {
    const kind = random.weighted({ fresh: 10, again: ids.length > 0 ? 6 : 0, bad: 1 })
    if (kind === 'bad') {
      texts.push(random.pick(bad)(freshId()))
      elements.push({ state: 'failed', merged: false, hnId: null, score: 0 })
      continue
    }
    const hnId = kind === 'again' ? random.pick(ids) : freshId()
    const known = newest.get(hnId)
    // Scores alone tell which version is newer: less, as much, or more than what stands before it.
    const score = known === undefined ? random.between(1, 9) : Math.max(0, known + random.between(-1, 1))
    const isParented = ids.length > 0 && random.chance(0.2)
    const parent = isParented ? `,"parent":${random.pick(ids)}` : ''
    texts.push(`{"id":${hnId},"type":"${isParented ? 'comment' : 'story'}","score":${score}${parent}}`)
    if (known === undefined) ids.push(hnId)
    const isNewer = known === undefined || score > known
    if (isNewer) newest.set(hnId, score)
    elements.push({ state: isNewer ? 'completed' : 'skipped', merged: known !== undefined && isNewer, hnId, score })
  }
  const content = Buffer.from(random.chance(0.5) ? `[${texts.join(',\n')}]` : `${texts.join('\n')}\n`)
  const sha256 = createHash('sha256').update(content).digest('hex')
  writeFileSync(join(folder, sha256), content)
  const md5 = createHash('md5').update(content).digest('hex')
  return { name: `file-${number}.json`, sha256, md5, bytes: content.length, elements }
}
