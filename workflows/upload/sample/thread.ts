import type { HNItem } from '../hn-item.ts'
import type { Prose } from './prose.ts'
import type { Random } from './random.ts'

/** As the API writes it: `id` where we say `hnId`. */
export type RawItem = Omit<HNItem, 'hnId'> & { readonly id: number }

type Draft = { -readonly [Field in keyof RawItem]: RawItem[Field] }

const firstTime = 1_160_418_111
const secondsPerItem = 11
const lastTime = 1_760_000_000

/** Makes up whole threads: a story, job or poll, its options, and a tree of comments, all linked both ways. */
export class Threads {
  readonly #random: Random
  readonly #prose: Prose
  #nextId: number

  constructor(random: Random, prose: Prose, firstId: number) {
    this.#random = random
    this.#prose = prose
    this.#nextId = firstId
  }

  newId(): number {
    this.#nextId += 1
    return this.#nextId
  }

  timeOf(id: number): number {
    return Math.min(firstTime + id * secondsPerItem, lastTime)
  }

  /** At most `itemsMax` items; parents first, save in some threads, where they come in any order. */
  next(itemsMax: number): RawItem[] {
    const root = this.#root(itemsMax)
    const items: Draft[] = [root]
    this.#addOptions(root, items, itemsMax)
    if (root.type !== 'job' && root.dead !== true) this.#addComments(root, items, itemsMax)
    if (this.#random.happens(0.1)) this.#random.shuffle(items)
    return items
  }

  /** A comment on something that is not in the file and never will be. */
  orphan(): RawItem {
    const id = this.newId()
    return {
      by: this.#prose.author(),
      id,
      parent: this.newId(),
      text: this.#prose.text(4),
      time: this.timeOf(id),
      type: 'comment',
    }
  }

  #root(itemsMax: number): Draft {
    const id = this.newId()
    const time = this.timeOf(id)
    const chance = this.#random.next()
    // Both kinds are in the wild: a story of which nothing is left, and one that was killed.
    if (chance < 0.003) return { id, time, type: 'story' }
    const by = this.#prose.author()
    const title = this.#prose.title()
    const score = 1 + this.#random.skewed(14)
    if (chance < 0.02) return { by, dead: true, id, score: 1, time, title, type: 'story', url: this.#prose.url() }
    if (chance < 0.06) return { by, id, score: 1, text: this.#prose.text(6), time, title, type: 'job', url: '' }
    if (chance < 0.07 && itemsMax > 4)
      return { by, descendants: 0, id, parts: [], score, text: '', time, title, type: 'poll' }
    if (chance < 0.15) return { by, descendants: 0, id, score, text: this.#prose.text(7), time, title, type: 'story' }
    return { by, descendants: 0, id, score, time, title, type: 'story', url: this.#prose.url() }
  }

  #addOptions(root: Draft, items: Draft[], itemsMax: number): void {
    if (root.type !== 'poll') return
    const count = Math.min(2 + this.#random.below(5), itemsMax - 1)
    const parts: number[] = []
    for (let option = 0; option < count; option += 1) {
      const id = this.newId()
      parts.push(id)
      const score = this.#random.skewed(40)
      items.push({
        by: root.by!,
        id,
        poll: root.id,
        score,
        text: this.#prose.title(),
        time: root.time!,
        type: 'pollopt',
      })
    }
    root.parts = parts
  }

  #addComments(root: Draft, items: Draft[], itemsMax: number): void {
    const count = Math.min(this.#random.happens(0.4) ? 0 : this.#random.skewed(13), itemsMax - items.length)
    const parents: Draft[] = [root]
    const kids = new Map<Draft, number[]>()
    for (let comment = 0; comment < count; comment += 1) {
      const parent = this.#random.happens(0.3) ? root : this.#random.pick(parents)
      const item = this.#comment(parent.id)
      const siblings = kids.get(parent)
      if (siblings) siblings.push(item.id)
      else kids.set(parent, [item.id])
      items.push(item)
      parents.push(item)
    }
    for (const [parent, ids] of kids) parent.kids = ids
    if (root.descendants !== undefined) root.descendants = count
  }

  #comment(parent: number): Draft {
    const id = this.newId()
    const time = this.timeOf(id)
    if (this.#random.happens(0.02)) return { deleted: true, id, parent, time, type: 'comment' }
    const text = this.#prose.text(1 + this.#random.skewed(7.6))
    const item: Draft = { by: this.#prose.author(), id, parent, text, time, type: 'comment' }
    if (this.#random.happens(0.01)) item.dead = true
    return item
  }
}

/** The same item as it stood later: what grows has grown. */
export function newerCopy(item: RawItem, kid: number): RawItem {
  const newer: Draft = { ...item }
  if (item.type === 'comment' || item.kids !== undefined) newer.kids = [...(item.kids ?? []), kid]
  if (item.descendants !== undefined) newer.descendants = item.descendants + 1
  if (item.type !== 'comment') newer.score = (item.score ?? 0) + 5
  return newer
}
