import { SluiceError } from 'sluice/errors'
import { Catalogue, type Entry } from '../catalogue/catalogue.ts'
import { type FileCheck, FileChecking } from '../files/file-check.ts'
import type { Cursor } from '../files/file-fault.ts'
import { type ElementGroup, FileWalk } from '../files/file-walk.ts'
import { SliceReader } from '../files/slice-reader.ts'
import { type HNItem, itemTypes, parseItem } from '../hn-item.ts'
import { type DeskSettings, type LoadedGroup, type Places, type Remark, type VerdictGroup, verdicts } from './wire.ts'

/** Items that were loaded and not yet indexed: those of a few groups, not those of a file. */
const inHandMax = 16_384
/** Files whose content is read at the same time. */
const readersMax = 16

/**
 * Does the work behind the desk, one call after another, with nothing but what the call names: whatever it keeps in
 * hand between calls can be read again, so a lost thread loses nothing.
 */
export class Clerk {
  readonly catalogue: Catalogue
  readonly #settings: DeskSettings
  readonly #pathOf: (sha256: string) => string
  readonly #readers = new Map<number, SliceReader>()
  /** By entity. */
  readonly #inHand = new Map<number, HNItem>()
  #walk: { readonly sha256: string; readonly cursor: string; readonly walk: FileWalk } | null = null

  constructor(settings: DeskSettings, pathOf: (sha256: string) => string, now: () => number) {
    this.#settings = settings
    this.#pathOf = pathOf
    this.catalogue = new Catalogue({
      file: settings.catalogue,
      textIndex: settings.textIndex,
      now,
      readDocument: (file, offset, length) => this.read(file, offset, length),
    })
  }

  /** A check in steps, so that a big file does not keep everybody else waiting. */
  check(sha256: string): FileChecking {
    return new FileChecking(this.#pathOf(sha256), this.#settings)
  }

  elements(sha256: string, cursor: Cursor | null, limit: number): ElementGroup {
    const walk = this.#walkAt(sha256, cursor)
    const group = walk.next(limit)
    if (group.next) this.#walk = { sha256, cursor: JSON.stringify(group.next), walk }
    else walk.close()
    return group
  }

  /** Whoever asks for group after group goes on with the same walk; anybody else begins one at his cursor. */
  #walkAt(sha256: string, cursor: Cursor | null): FileWalk {
    const last = this.#walk
    this.#walk = null
    if (last && cursor && last.sha256 === sha256 && last.cursor === JSON.stringify(cursor)) return last.walk
    last?.walk.close()
    return new FileWalk(this.#pathOf(sha256), cursor, this.#settings)
  }

  load(places: Places): LoadedGroup {
    const count = places.entities.length
    const types = new Uint8Array(count)
    const hnIds = new Float64Array(count).fill(Number.NaN)
    const parents = new Float64Array(count).fill(Number.NaN)
    const remarks: Remark[] = []
    const loaded: number[] = []
    for (let position = 0; position < count; position += 1) {
      const parsed = this.#parse(places, position)
      if (parsed.fault) {
        const { reason, message, hnId } = parsed.fault
        if (hnId !== null) hnIds[position] = hnId
        remarks.push({ position, fault: { reason, message }, warnings: null })
        continue
      }
      const { item, warnings } = parsed
      this.#keep(places.entities[position]!, item)
      loaded.push(position)
      types[position] = itemTypes.indexOf(item.type)
      hnIds[position] = item.hnId
      const parent = item.type === 'pollopt' ? item.poll : item.parent
      if (parent !== undefined) parents[position] = parent
      if (warnings.length > 0) remarks.push({ position, fault: null, warnings })
    }
    return { types, hnIds, parents, remarks, ...this.#lookUp(places, loaded, parents) }
  }

  /** What the next two processors will ask, answered at once: a question of its own for each would cost more than its answer. */
  #lookUp(places: Places, loaded: readonly number[], parents: Float64Array) {
    const duplicatesOf = new Float64Array(parents.length).fill(Number.NaN)
    const knownParents = new Uint8Array(parents.length)
    const candidates = loaded.map((position) => ({
      entity: places.entities[position]!,
      item: this.#item(places, position),
    }))
    this.catalogue.compare(candidates).forEach((verdict, index) => {
      if (typeof verdict === 'object') duplicatesOf[loaded[index]!] = verdict.duplicateOf
    })
    const linked = loaded.filter((position) => !Number.isNaN(parents[position]!))
    this.catalogue.known(linked.map((position) => parents[position]!)).forEach((isKnown, index) => {
      knownParents[linked[index]!] = Number(isKnown)
    })
    return { duplicatesOf, knownParents }
  }

  compare(places: Places): VerdictGroup {
    const candidates = Array.from(places.entities, (entity, position) => ({
      entity,
      item: this.#item(places, position),
    }))
    const compared = this.catalogue.compare(candidates)
    return verdictsOf(compared.map((verdict) => (typeof verdict === 'object' ? verdict : 'added')))
  }

  known(places: Places): Uint8Array {
    const parents = Array.from(places.entities, (_, position) => {
      const item = this.#item(places, position)
      return (item.type === 'pollopt' ? item.poll : item.parent) ?? 0
    })
    return Uint8Array.from(this.catalogue.known(parents), Number)
  }

  index(places: Places): VerdictGroup {
    const group = verdictsOf(this.catalogue.put(this.entries(places)))
    for (const entity of places.entities) this.#inHand.delete(entity)
    return group
  }

  entries(places: Places): readonly Entry[] {
    return Array.from(places.entities, (entity, position) => ({
      entity,
      batch: places.batches[position]!,
      file: places.files[position]!,
      offset: places.offsets[position]!,
      length: places.lengths[position]!,
      item: this.#item(places, position),
    }))
  }

  /** A document, from the file that holds it. */
  read(file: number, offset: number, length: number): HNItem {
    const parsed = parseItem(this.#reader(file).read(offset, length))
    if (parsed.item) return parsed.item
    throw new SluiceError('internal', `File ${file} holds no item at byte ${offset}: ${parsed.fault.message}`, {
      file,
      offset,
    })
  }

  close(): void {
    this.#walk?.walk.close()
    for (const reader of this.#readers.values()) reader.close()
    this.catalogue.close()
  }

  #parse({ files, offsets, lengths }: Places, position: number) {
    return parseItem(this.#reader(files[position]!).read(offsets[position]!, lengths[position]!))
  }

  /** What was loaded before, or is read again: after a restart, or because too much was in hand. */
  #item(places: Places, position: number): HNItem {
    const held = this.#inHand.get(places.entities[position]!)
    return held ?? this.read(places.files[position]!, places.offsets[position]!, places.lengths[position]!)
  }

  #keep(entity: number, item: HNItem): void {
    if (this.#inHand.size >= inHandMax) this.#inHand.delete(this.#inHand.keys().next().value as number)
    this.#inHand.set(entity, item)
  }

  #reader(file: number): SliceReader {
    let reader = this.#readers.get(file)
    if (reader) return reader
    if (this.#readers.size >= readersMax) {
      const [oldest, old] = this.#readers.entries().next().value as [number, SliceReader]
      old.close()
      this.#readers.delete(oldest)
    }
    reader = new SliceReader(this.#pathOf(this.catalogue.fileOf(file)))
    this.#readers.set(file, reader)
    return reader
  }
}

export type { FileCheck }

function verdictsOf(given: readonly ('added' | 'own' | 'merged' | { readonly duplicateOf: number })[]): VerdictGroup {
  const codes = new Uint8Array(given.length)
  const of = new Float64Array(given.length)
  given.forEach((verdict, position) => {
    if (verdict === 'merged') codes[position] = verdicts.merged
    if (typeof verdict !== 'object') return
    codes[position] = verdicts.duplicate
    of[position] = verdict.duplicateOf
  })
  return { codes, of }
}
