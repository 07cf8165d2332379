import { createHash } from 'node:crypto'
import { defaultLimits } from '../limits.ts'

/** Gives every foreign name a lower_snake one: its own where it is one already, and never the same one twice. */
export class SnakeNames {
  readonly #taken = new Set<string>()
  readonly #names = new Map<string, string>()

  /** Names that are sound are taken first, whatever their order: they stay as they are. */
  constructor(foreign: Iterable<string>, otherwise: string) {
    const all = [...new Set(foreign)]
    for (const name of all.filter((name) => snakeOf(name, otherwise) === name)) this.#names.set(name, this.fresh(name))
    for (const name of all) if (!this.#names.has(name)) this.#names.set(name, this.fresh(snakeOf(name, otherwise)))
  }

  of(foreign: string): string {
    return this.#names.get(foreign) ?? foreign
  }

  /** A name that nothing else has. */
  fresh(wanted: string): string {
    const base = shortened(wanted)
    let name = base
    for (let count = 2; this.#taken.has(name); count += 1) name = `${base}_${count}`
    this.#taken.add(name)
    return name
  }
}

/** `UploadBatch`, `upload-batch` and `UPLOAD BATCH` are `upload_batch`. */
export function snakeOf(foreign: string, otherwise: string): string {
  const words = foreign
    .normalize('NFKD')
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1_$2')
    .replace(/[\u0300-\u036f]/g, '')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '')
  const name = words.join('_')
  return /^[a-z]/.test(name) ? name : [otherwise, ...words].join('_')
}

/** Room is left for a count; what is cut off is told apart by a digest. */
export function shortened(name: string, charactersMax: number = defaultLimits.nameMax - 10): string {
  if (name.length <= charactersMax) return name
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 8)
  return `${name.slice(0, charactersMax - 9).replace(/_+$/, '')}_${digest}`
}
