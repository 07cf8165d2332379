/** Why a file as a whole cannot be read (any further). Single bad elements are not faults of the file. */
export interface FileFault {
  /** A short phrase of a small set: what errors are counted by. */
  readonly reason: string
  readonly message: string
  /** The byte at which it was noticed. */
  readonly offset: number
  /** How many complete elements came before. */
  readonly elements: number
}

export interface ElementLimits {
  /** Longer elements are scanned over and become faults; they are never held in memory. */
  readonly itemBytesMax: number
  /** Objects and lists inside each other. */
  readonly depthMax: number
}

export const defaultElementLimits: ElementLimits = { itemBytesMax: 1_048_576, depthMax: 32 }

export const forms = ['array', 'lines', 'concatenated'] as const

export type Form = (typeof forms)[number]

/** A place between two elements of a file, as plain JSON: who goes on here misses nothing and sees nothing twice. */
export interface Cursor {
  readonly form: Form
  /** The next byte to be read. */
  readonly offset: number
  /** The index of the next element. */
  readonly index: number
  /** The array has been closed: only space may follow. */
  readonly ended: boolean
}
