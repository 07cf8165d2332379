import { SluiceError } from 'sluice/errors'
import { type Candidate, Catalogue, type Earlier, type Entry, type PutVerdict } from '../catalogue/catalogue.ts'
import { lacksParent, parentOf } from '../catalogue/item-row.ts'
import { type FileCheck, FileChecking } from '../files/file-check.ts'
import type { Cursor } from '../files/file-fault.ts'
import { FileWalk, type FoundItem } from '../files/file-walk.ts'
import { SliceReader } from '../files/slice-reader.ts'
import { type HNItem, itemTypes, parseItem } from '../hn-item.ts'
import { EarlyChecks } from './early-checks.ts'
import { InHand } from './in-hand.ts'
import { Repeats } from './repeats.ts'
import {
  type DeskSettings,
  type LoadedGroup,
  type Places,
  type Remark,
  type RepeatedElements,
  type VerdictGroup,
  verdicts,
} from './wire.ts'

/** Content that one call to the catalogue holds in memory: items may have a MiB each. */
const sliceBytesMax = 8 * 1024 ** 2
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
  /** Files of which this call has found that their readers read what stands at their path. */
  readonly #current = new Set<number>()
  readonly #inHand = new InHand()
  readonly #earlyChecks: EarlyChecks
  readonly #repeats: Repeats
  #walk: { readonly sha256: string; readonly cursor: string; readonly walk: FileWalk } | null = null

  constructor(settings: DeskSettings, pathOf: (sha256: string) => string, now: () => number) {
    this.#settings = settings
    this.#pathOf = pathOf
    this.#earlyChecks = new EarlyChecks(settings)
    this.#repeats = new Repeats((sha256) => ({ path: pathOf(sha256), folder: settings.folder, limits: settings }))
    this.catalogue = new Catalogue({
      file: settings.catalogue,
      textIndex: settings.textIndex,
      now,
      readDocument: (file, offset, length) => this.read(file, offset, length),
    })
  }

  /** To be called before each question: a stored file may have been replaced since the last one. */
  begin(): void {
    this.#current.clear()
  }

  /** A check in steps, so that a big file does not keep everybody else waiting. */
  check(sha256: string): FileChecking {
    const path = this.#pathOf(sha256)
    return this.#earlyChecks.take(sha256, path) ?? new FileChecking(path, this.#settings)
  }

  /** Looks at a file that is still being received: so much of it is there. */
  follow(path: string, bytes: number): void {
    this.#earlyChecks.follow(path, bytes)
  }

  /** It is there under this digest. Null: it never will be. */
  followed(path: string, sha256: string | null): void {
    this.#earlyChecks.end(path, sha256)
  }

  /** To be called until it returns false, before `elements` with the same cursor: after a restart it reads what came before. */
  catchUp(sha256: string, cursor: Cursor | null): boolean {
    return this.#repeats.catchUp(sha256, cursor)
  }

  elements(sha256: string, cursor: Cursor | null, limit: number): RepeatedElements {
    const walk = this.#walkAt(sha256, cursor)
    const items: FoundItem[] = []
    const group = walk.next(limit, items)
    const repeats = this.#repeats.of(sha256, group, items)
    if (group.next) this.#walk = { sha256, cursor: JSON.stringify(group.next), walk }
    else walk.close()
    return { ...group, repeats }
  }

  /** Whoever asks for group after group goes on with the same walk; anybody else begins one at his cursor. */
  #walkAt(sha256: string, cursor: Cursor | null): FileWalk {
    const last = this.#walk
    this.#walk = null
    const isNext = last && cursor && last.sha256 === sha256 && last.cursor === JSON.stringify(cursor)
    if (isNext && !last.walk.isReplaced) return last.walk
    last?.walk.close()
    return new FileWalk(this.#pathOf(sha256), cursor, this.#settings)
  }

  load(places: Places): LoadedGroup {
    const count = places.entities.length
    const group = {
      types: new Uint8Array(count),
      hnIds: new Float64Array(count).fill(Number.NaN),
      parents: new Float64Array(count).fill(Number.NaN),
      codes: new Uint8Array(count),
      of: new Float64Array(count),
      knownParents: new Uint8Array(count),
      remarks: [] as Remark[],
    }
    const earlier = earlierOf(places)
    for (const slice of slicesOf(places)) this.#loadSlice(places, slice, earlier, group)
    return group
  }

  #loadSlice(
    places: Places,
    slice: readonly number[],
    earlier: EarlierByPosition,
    group: LoadedGroup & { remarks: Remark[] },
  ): void {
    const loaded: number[] = []
    const candidates: Candidate[] = []
    for (const position of slice) {
      const parsed = this.#parse(places, position)
      if (parsed.fault) {
        const { reason, message, hnId } = parsed.fault
        if (hnId !== null) group.hnIds[position] = hnId
        group.remarks.push({ position, fault: { reason, message }, warnings: null })
        continue
      }
      const { item, warnings } = parsed
      const entity = places.entities[position]!
      this.#inHand.keep(entity, item, places.lengths[position]!)
      loaded.push(position)
      candidates.push(candidateOf(places, position, item, earlier))
      group.types[position] = itemTypes.indexOf(item.type)
      group.hnIds[position] = item.hnId
      const parent = parentOf(item)
      if (parent !== null) group.parents[position] = parent
      if (warnings.length > 0) group.remarks.push({ position, fault: null, warnings })
    }
    // What the next two processors will ask, answered at once: a question of its own for each would cost more than its answer.
    const comparisons = this.catalogue.compare(candidates)
    const linked: number[] = []
    const parents: number[] = []
    for (let index = 0; index < loaded.length; index += 1) {
      const position = loaded[index]!
      writeVerdict(group, position, comparisons[index]!)
      const parent = group.parents[position]!
      if (Number.isNaN(parent)) continue
      linked.push(position)
      parents.push(parent)
    }
    const isKnown = this.catalogue.known(parents)
    for (let index = 0; index < linked.length; index += 1) group.knownParents[linked[index]!] = Number(isKnown[index])
  }

  compare(places: Places): VerdictGroup {
    const earlier = earlierOf(places)
    return verdictsOf(
      slicesOf(places).flatMap((slice) =>
        this.catalogue.compare(
          slice.map((position) => candidateOf(places, position, this.#item(places, position), earlier)),
        ),
      ),
    )
  }

  known(places: Places): Uint8Array {
    const parents = Array.from(places.entities, (_, position) => parentOf(this.#item(places, position)) ?? 0)
    return Uint8Array.from(this.catalogue.known(parents), Number)
  }

  /** Slice by slice, each durable by itself: whoever repeats the call after a crash is answered the same. */
  index(places: Places): VerdictGroup {
    const verdicts: PutVerdict[] = []
    const earlier = earlierOf(places)
    for (const slice of slicesOf(places)) {
      const entries: Entry[] = []
      for (const position of slice) entries.push(entryOf(places, position, this.#item(places, position), earlier))
      for (const verdict of this.catalogue.put(entries)) verdicts.push(verdict)
    }
    for (const entity of places.entities) this.#inHand.drop(entity)
    return verdictsOf(verdicts)
  }

  /** Puts settled items again. A skipped one that could not have been completed brings nothing. Returns how many were looked at. */
  indexAgain(places: Places): number {
    for (const slice of slicesOf(places)) {
      const entries: Entry[] = []
      for (const position of slice) {
        const item = this.#item(places, position)
        if (!lacksParent(item)) entries.push(entryOf(places, position, item, noneEarlier))
      }
      this.catalogue.put(entries)
    }
    return places.entities.length
  }

  /** A document, from the file that holds it. */
  read(file: number, offset: number, length: number): HNItem {
    const parsed = parseItem(this.#reader(file).read(offset, length))
    if (parsed.item) return parsed.item
    throw new SluiceError('internal', `File ${file} holds no item at byte ${offset}: ${parsed.fault.message}`, {
      reason: 'stored file has changed',
      file,
      offset,
    })
  }

  close(): void {
    this.#walk?.walk.close()
    this.#earlyChecks.close()
    this.#repeats.close()
    for (const reader of this.#readers.values()) reader.close()
    this.catalogue.close()
  }

  #parse({ files, offsets, lengths }: Places, position: number) {
    return parseItem(this.#reader(files[position]!).read(offsets[position]!, lengths[position]!))
  }

  /** What was loaded before, or is read again: after a restart, or because too much was in hand. */
  #item(places: Places, position: number): HNItem {
    const held = this.#inHand.of(places.entities[position]!)
    return held ?? this.read(places.files[position]!, places.offsets[position]!, places.lengths[position]!)
  }

  #reader(file: number): SliceReader {
    let reader = this.#readers.get(file)
    if (reader && this.#current.has(file)) return reader
    this.#current.add(file)
    if (reader && !reader.isReplaced) return reader
    reader?.close()
    this.#readers.delete(file)
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

/** Positions, cut where their content would be too much at once. */
function slicesOf({ lengths }: Places): readonly (readonly number[])[] {
  const slices: number[][] = []
  let slice: number[] = []
  let bytes = Number.POSITIVE_INFINITY
  for (let position = 0; position < lengths.length; position += 1) {
    const length = lengths[position]!
    if (bytes + length > sliceBytesMax) {
      slice = []
      slices.push(slice)
      bytes = 0
    }
    bytes += length
    slice.push(position)
  }
  return slices
}

type EarlierByPosition = ReadonlyMap<number, Earlier>
const noneEarlier: EarlierByPosition = new Map()

function earlierOf({ repeats }: Places): EarlierByPosition {
  return repeats.length === 0 ? noneEarlier : new Map(repeats.map(({ position, earlier }) => [position, earlier]))
}

function candidateOf(
  { batches, offsets }: Places,
  position: number,
  item: HNItem,
  earlier: EarlierByPosition,
): Candidate {
  return { batch: batches[position]!, offset: offsets[position]!, item, earlier: earlier.get(position) }
}

function entryOf(places: Places, position: number, item: HNItem, earlier: EarlierByPosition): Entry {
  return {
    entity: places.entities[position]!,
    batch: places.batches[position]!,
    file: places.files[position]!,
    offset: places.offsets[position]!,
    length: places.lengths[position]!,
    item,
    earlier: earlier.get(position),
  }
}

function verdictsOf(given: readonly (PutVerdict | null)[]): VerdictGroup {
  const group = { codes: new Uint8Array(given.length), of: new Float64Array(given.length) }
  for (let position = 0; position < given.length; position += 1) writeVerdict(group, position, given[position]!)
  return group
}

function writeVerdict({ codes, of }: VerdictGroup, position: number, verdict: PutVerdict | null): void {
  if (verdict === 'merged') codes[position] = verdicts.merged
  if (verdict === null || typeof verdict === 'string') return
  const isRepeat = 'duplicateOfIndex' in verdict
  codes[position] = isRepeat ? verdicts.repeat : verdicts.duplicate
  of[position] = isRepeat ? verdict.duplicateOfIndex : verdict.duplicateOf
}
