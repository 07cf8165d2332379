import type { Clock } from 'sluice/clock'
import type { Catalogue } from '../catalogue/catalogue.ts'

/**
 * Rows between two steps. A fold of 65,536 rows has seventeen: they are spread over most of the way to the next fold, since
 * a step after every group would keep those waiting who have nothing to do without the desk's answers.
 */
const rowsPerStep = 2_500
/** With no question for so long, the last rows of a batch are folded too, however few: then no search has to wait for it. */
const quietMs = 200

/** When the catalogue is folded: a step after so many rows that were put, and step after step while nobody asks anything. */
export class Folding {
  readonly #catalogue: Pick<Catalogue, 'foldStep'>
  readonly #clock: Clock
  /** Questions that were answered: whether it was quiet shows in their number. */
  #answers = 0
  /** Put since the last step. */
  #rows = 0
  #isStopped = false
  #cancel: (() => void) | null = null

  constructor(catalogue: Pick<Catalogue, 'foldStep'>, clock: Clock) {
    this.#catalogue = catalogue
    this.#clock = clock
  }

  /** After a question was answered, before the next one. */
  answered(rowsPut: number): void {
    this.#answers += 1
    if (rowsPut === 0) return
    this.#rows += rowsPut
    if (this.#rows >= rowsPerStep) this.#step('due')
    this.#waitForQuiet()
  }

  stop(): void {
    this.#isStopped = true
    this.#cancel?.()
  }

  #waitForQuiet(): void {
    if (this.#cancel) return
    const answers = this.#answers
    this.#cancel = this.#clock.after(quietMs, () => {
      this.#cancel = null
      if (answers === this.#answers) this.#goOn()
      else this.#waitForQuiet()
    })
  }

  /** One step in each turn, until all rows are folded or somebody asks. */
  #goOn(): void {
    const answers = this.#answers
    if (!this.#step('any')) return
    this.#clock.soon(() => {
      if (this.#isStopped) return
      if (answers === this.#answers) this.#goOn()
      else this.#waitForQuiet()
    })
  }

  /** A step that fails, as when the disk is full, is tried again after the next group; whoever puts that one is told why. */
  #step(wanted: 'due' | 'any'): boolean {
    this.#rows = 0
    try {
      return this.#catalogue.foldStep(wanted)
    } catch {
      return false
    }
  }
}
