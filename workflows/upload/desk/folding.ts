import type { Clock } from 'sluice/clock'
import type { Catalogue } from '../catalogue/catalogue.ts'

/** With no question for so long, the last rows of a batch are folded too, however few: then no search has to wait for it. */
const quietMs = 200

/** When the catalogue is folded: a step after each group that was put, and on and on while nobody asks anything. */
export class Folding {
  readonly #catalogue: Pick<Catalogue, 'foldStep'>
  readonly #clock: Clock
  /** Questions that were answered: whether it was quiet shows in their number. */
  #answers = 0
  #isWaiting = false
  #isStopped = false
  #cancel: (() => void) | null = null

  constructor(catalogue: Pick<Catalogue, 'foldStep'>, clock: Clock) {
    this.#catalogue = catalogue
    this.#clock = clock
  }

  /** After a question was answered, before the next one. */
  answered(hasPut: boolean): void {
    this.#answers += 1
    if (!hasPut) return
    if (this.#step('due')) this.#goOn()
    this.#waitForQuiet()
  }

  stop(): void {
    this.#isStopped = true
    this.#cancel?.()
  }

  /** Step by step while it is quiet; a turn in which something was answered may bring the next question at once. */
  #goOn(): void {
    if (this.#isWaiting) return
    this.#isWaiting = true
    const answers = this.#answers
    this.#clock.soon(() => {
      this.#isWaiting = false
      if (this.#isStopped) return
      if (answers !== this.#answers || this.#step('due')) this.#goOn()
    })
  }

  /** A fold that was begun is due until it ends, also when questions come in between. */
  #waitForQuiet(): void {
    if (this.#cancel) return
    const answers = this.#answers
    this.#cancel = this.#clock.after(quietMs, () => {
      this.#cancel = null
      if (answers !== this.#answers) this.#waitForQuiet()
      else if (this.#step('any')) this.#goOn()
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
