import type { Clock } from 'sluice/clock'
import type { Catalogue } from '../catalogue/catalogue.ts'

/** With no question for so long, the last rows of a batch are folded too, however few: then no search has to wait for it. */
const quietMs = 200

/**
 * When the catalogue is folded: in the gaps between the questions. A step is short, and whoever asks meanwhile waits for that one only; those
 * who have nothing to do without the desk's answers would wait for longer ones.
 */
export class Folding {
  readonly #catalogue: Pick<Catalogue, 'foldStep'>
  readonly #clock: Clock
  /** Questions that were answered: whether it was quiet shows in their number. */
  #answers = 0
  /** Something may be due. */
  #isAwake = false
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
    this.#waitForQuiet()
    if (this.#isAwake) return
    this.#isAwake = true
    this.#stepSoon()
  }

  /** One step in each turn: what was asked meanwhile is answered before the next. */
  #stepSoon(): void {
    this.#clock.soon(() => {
      if (this.#isStopped) return
      this.#isAwake = this.#step('due')
      if (this.#isAwake) this.#stepSoon()
    })
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
    try {
      return this.#catalogue.foldStep(wanted)
    } catch {
      return false
    }
  }
}
