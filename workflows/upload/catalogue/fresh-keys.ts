import type { Value } from './database.ts'
import { absent, type ItemRow, kindOf, parented } from './item-row.ts'

/** Rows that are kept at most, and a number above all their places: a key and a place are sorted as one number. */
const places = 2 ** 17
/** A kind stands above every time and score. */
const kindUnit = 2 ** 32
/** In the place of a kind: its search keys were written when it was changed. */
const written = 255
/** Of one author's name on average: most have fewer than ten. */
const nameBytes = 16
/** Letters of a name that count for the order, and what is left for each. */
const lettersSorted = 5
const letterMax = 127

export type FoldedName = 'place' | 'by_time' | 'by_score' | 'by_author' | 'by_parent'

/** How the rows of a table are made from the keys of the row at a place. */
interface Making {
  /** Roughly in the order of the table, as a whole number below 2^36; null: the table has no such row. */
  orderAt(place: number): number | null
  push(values: Value[], place: number): void
}

/**
 * The search keys of the rows that this process has put lately, in the order of arrival: about 40 bytes of each. A fold takes them from here,
 * in parts as small as one likes: to find the rows of a part in the file means to look at all that wait, and to sort them.
 *
 * Nothing depends on it. Rows that are not here are read from the file: after a restart, when another process put them, or if an
 * id needs more than 32 bits.
 */
export class FreshKeys {
  readonly #capacity: number
  /** The number of arrival of the row at the first place. */
  #first = 0
  #count = 0
  #ids = new Uint32Array(0)
  #times = new Float64Array(0)
  #scores = new Float64Array(0)
  #parents = new Uint32Array(0)
  #kinds = new Uint8Array(0)
  /** Names one after another, each with a byte behind it, and where it ends; of a row without an author there is neither. */
  #names = Buffer.alloc(0)
  #nameEnds = new Uint32Array(0)
  /** The table that is being filled, its rows in their order, and how many of them are there. */
  #run: { readonly table: FoldedName; readonly to: number; readonly order: Uint32Array; taken: number } | null = null

  constructor(rowsMax: number) {
    this.#capacity = Math.min(rowsMax, places)
  }

  /** Nothing is known any more. */
  clear(): void {
    this.#count = 0
    this.#run = null
  }

  /** Rows that are in the file now, one after another. */
  append(rows: readonly ItemRow[]): void {
    const [head] = rows
    if (!head) return
    // There is a gap: what is here is of no use, and what comes now is where it begins again.
    if (head.seq !== this.#first + this.#count) this.clear()
    if (this.#kinds.length === 0) this.#allocate()
    if (this.#count === 0) this.#first = head.seq
    for (const row of rows) {
      if (this.#keep(row)) continue
      this.clear()
      return
    }
  }

  /** Rows whose search keys were changed, and written at once. */
  changed(seqs: readonly number[]): void {
    for (const seq of seqs) {
      const place = seq - this.#first
      if (place >= 0 && place < this.#count) this.#kinds[place] = written
    }
  }

  covers(from: number, to: number): boolean {
    return this.#count > 0 && this.#first <= from && to < this.#first + this.#count
  }

  /**
   * The next rows of this table, of all from the first to the last number of arrival, neighbours after one another. They count as
   * brought over: whoever cannot write them clears all.
   */
  part(table: FoldedName, from: number, to: number, rowsMax: number): { values: Value[]; isLast: boolean } {
    const making = this.#makings[table]
    if (this.#run?.table !== table || this.#run.to !== to)
      this.#run = { table, to, order: this.#orderOf(making, from, to), taken: 0 }
    const run = this.#run
    const until = Math.min(run.order.length, run.taken + rowsMax)
    const values: Value[] = []
    for (let index = run.taken; index < until; index += 1) {
      const place = run.order[index] as number
      // It may have been changed since they were put in order.
      if (table === 'place' || this.#kinds[place] !== written) making.push(values, place)
    }
    run.taken = until
    const isLast = until === run.order.length
    if (isLast) this.#run = null
    return { values, isLast }
  }

  /** All rows up to this one are folded. */
  forget(seq: number): void {
    const gone = seq - this.#first + 1
    if (gone >= this.#count) this.clear()
    if (gone <= 0 || this.#count === 0) return
    const count = this.#count - gone
    for (const column of [this.#ids, this.#times, this.#scores, this.#parents, this.#kinds])
      column.copyWithin(0, gone, this.#count)
    const nameGone = this.#nameEnds[gone - 1]!
    this.#names.copyWithin(0, nameGone, this.#nameEnds[this.#count - 1])
    for (let place = 0; place < count; place += 1) this.#nameEnds[place] = this.#nameEnds[place + gone]! - nameGone
    this.#first += gone
    this.#count = count
    this.#run = null
  }

  #allocate(): void {
    const numbers = () => new Uint32Array(this.#capacity)
    this.#ids = numbers()
    this.#times = new Float64Array(this.#capacity)
    this.#scores = new Float64Array(this.#capacity)
    this.#parents = numbers()
    this.#kinds = new Uint8Array(this.#capacity)
    this.#names = Buffer.alloc(this.#capacity * nameBytes)
    this.#nameEnds = numbers()
  }

  /** False: it does not fit. */
  #keep({ hnId, type, author, time, documentScore: score, parent }: ItemRow): boolean {
    const place = this.#count
    if (place >= this.#capacity || !fits(hnId) || !fits(parent ?? 0)) return false
    const from = place === 0 ? 0 : this.#nameEnds[place - 1]!
    // A letter has up to three bytes.
    if (author !== null && from + 3 * author.length + 1 > this.#names.length) return false
    this.#nameEnds[place] = author === null ? from : from + this.#names.write(author, from) + 1
    this.#ids[place] = hnId
    this.#times[place] = time ?? absent
    this.#scores[place] = score ?? absent
    this.#parents[place] = parent ?? 0
    this.#kinds[place] = kindOf(type, parent !== null)
    this.#count += 1
    return true
  }

  #orderOf({ orderAt }: Making, from: number, to: number): Uint32Array {
    const sorted = new Float64Array(to - from + 1)
    let count = 0
    for (let place = from - this.#first; place <= to - this.#first; place += 1) {
      const order = orderAt(place)
      if (order !== null) sorted[count++] = order * places + place
    }
    sorted.subarray(0, count).sort()
    const order = new Uint32Array(count)
    for (let index = 0; index < count; index += 1) order[index] = sorted[index]! % places
    return order
  }

  readonly #makings: Readonly<Record<FoldedName, Making>> = {
    place: {
      orderAt: (place) => this.#ids[place]!,
      push: (values, place) => values.push(this.#ids[place]!, this.#first + place),
    },
    by_time: {
      orderAt: (place) => this.#kindAndNumber(place, this.#times[place]!),
      push: (values, place) =>
        values.push(this.#kinds[place]!, this.#times[place]!, this.#ids[place]!, this.#first + place),
    },
    by_score: {
      orderAt: (place) => this.#kindAndNumber(place, this.#scores[place]!),
      push: (values, place) =>
        values.push(this.#kinds[place]!, this.#scores[place]!, this.#ids[place]!, this.#first + place),
    },
    by_author: {
      orderAt: (place) => this.#lettersAt(place),
      push: (values, place) =>
        values.push(this.#nameAt(place), this.#times[place]!, this.#ids[place]!, this.#first + place),
    },
    by_parent: {
      orderAt: (place) => (this.#hasParent(place) ? this.#parents[place]! : null),
      push: (values, place) => values.push(this.#parents[place]!, this.#ids[place]!, this.#first + place),
    },
  }

  #kindAndNumber(place: number, number: number): number | null {
    const kind = this.#kinds[place]!
    // Those far out lose their order, and nothing else.
    return kind === written ? null : kind * kindUnit + Math.min(Math.max(Math.floor(number) + 1, 0), kindUnit - 1)
  }

  #hasParent(place: number): boolean {
    const kind = this.#kinds[place]!
    return kind !== written && kind >= parented
  }

  #nameAt(place: number): string {
    return this.#names.toString('utf8', this.#nameEnds[place - 1] ?? 0, this.#nameEnds[place]! - 1)
  }

  #lettersAt(place: number): number | null {
    const from = this.#nameEnds[place - 1] ?? 0
    const end = this.#nameEnds[place]!
    if (from === end || this.#kinds[place] === written) return null
    let order = 0
    for (let at = from; at < from + lettersSorted; at += 1)
      order = order * (letterMax + 1) + (at < end - 1 ? Math.min(this.#names[at]!, letterMax) : 0)
    return order
  }
}

function fits(id: number): boolean {
  return id >= 0 && id < 2 ** 32 && Number.isInteger(id)
}
