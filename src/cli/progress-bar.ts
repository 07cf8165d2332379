import { countOf, percentOf, waitOf } from './figures.ts'
import { lineGapMs, Pace } from './pace.ts'
import { sizeOf } from './size.ts'
import type { Terminal } from './terminal.ts'
import { plain } from './text.ts'

/** How far one phase has come. */
export interface Step {
  readonly phase: string
  readonly done: number
  /** Null: nobody knows yet. */
  readonly total: number | null
  readonly unit: 'bytes' | 'items'
  /** Where the source of the figures knows better than we do. */
  readonly ratePerSecond?: number | null
  /** Null: the source says that there is no telling. Undefined: it says nothing, and we estimate. */
  readonly etaMs?: number | null
  /** Where the rate varies: the time left lies between these. */
  readonly etaLowMs?: number | null
  readonly etaHighMs?: number | null
  /** Where the share that is done is not the amount that is: steps of a job have weights. */
  readonly percent?: number
  /** Why nothing can be written now. */
  readonly trouble?: { readonly sentence: string } | null
}

/** Often enough to look alive, rarely enough to cost nothing. */
const paintMs = 100
const barMax = 30

/** A line that is painted over on a terminal; elsewhere a plain line at each new phase and every few seconds after it. */
export class ProgressBar {
  readonly #terminal: Terminal
  readonly #now: () => number
  readonly #pace = new Pace()
  readonly #trouble: TroubleLine
  #phase = ''
  #begunAt = 0
  #shownAt = Number.NEGATIVE_INFINITY
  #isPainted = false

  constructor(terminal: Terminal, now: () => number) {
    this.#terminal = terminal
    this.#now = now
    this.#trouble = new TroubleLine(terminal)
  }

  show(step: Step): void {
    const now = this.#now()
    this.#trouble.show(step.trouble ?? null, () => this.clear())
    const isNew = step.phase !== this.#phase
    if (isNew || step.trouble) this.#pace.reset()
    if (isNew) this.#begunAt = now
    this.#phase = step.phase
    this.#pace.add(step.done, now)
    if (!isNew && now - this.#shownAt < (this.#terminal.isTty ? paintMs : lineGapMs(now - this.#begunAt))) return
    this.#shownAt = now
    const figures = this.#withPace(step)
    const { isTty, columns } = this.#terminal
    this.#isPainted = isTty
    this.#terminal.err(isTty ? `\r\x1b[2K${progressLine(figures, columns - 1)}` : `${figuresOf(figures)}\n`)
  }

  /** Leaves the line empty, so that what is said next stands alone. */
  clear(): void {
    if (this.#isPainted) this.#terminal.err('\r\x1b[2K')
    this.#isPainted = false
    this.#shownAt = Number.NEGATIVE_INFINITY
  }

  #withPace(step: Step): Step {
    const ratePerSecond = step.ratePerSecond ?? this.#pace.perSecond
    const left = step.total === null ? null : step.total - step.done
    const estimate = ratePerSecond && left !== null && left > 0 ? (left / ratePerSecond) * 1_000 : null
    return { ...step, ratePerSecond, etaMs: step.etaMs === undefined ? estimate : step.etaMs }
  }
}

/** Says in a line of its own that the store cannot be written, and when it can again: the progress line has no room for a sentence. */
export class TroubleLine {
  readonly #terminal: Terminal
  #said: string | null = null

  constructor(terminal: Terminal) {
    this.#terminal = terminal
  }

  /** `makeRoom` clears what is painted over. */
  show(trouble: { readonly sentence: string } | null, makeRoom: () => void): void {
    const sentence = trouble?.sentence ?? null
    if (sentence === this.#said) return
    makeRoom()
    this.#terminal.err(`${sentence === null ? 'The store can be written again; it goes on.' : plain(sentence, 500)}\n`)
    this.#said = sentence
  }
}

/** The bar with its figures, within the columns that there are; the bar gives way first. */
export function progressLine(step: Step, columns: number): string {
  const figures = figuresOf(step)
  const width = Math.min(barMax, columns - figures.length - 1)
  if (width < 5 || step.total === null) return figures.slice(0, Math.max(0, columns))
  const counted = step.total > 0 ? Math.min(1, step.done / step.total) : 0
  const share = step.percent === undefined ? counted : step.percent / 100
  const full = Math.floor(share * width)
  return `${'█'.repeat(full)}${'░'.repeat(width - full)} ${figures}`
}

export function figuresOf(step: Step): string {
  const { phase, done, total, unit, ratePerSecond, percent, trouble } = step
  const amount = unit === 'bytes' ? sizeOf : countOf
  const parts = [
    ...(total === null
      ? done > 0
        ? [amount(done)]
        : []
      : [
          `${percent === undefined ? percentOf(done, total) : percentOf(percent, 100)}, ${amount(done)} of ${amount(total)}`,
        ]),
    ...(ratePerSecond ? [`${amount(ratePerSecond)}/s`] : []),
    ...leftOf(step),
    ...(trouble ? ['waits for the store'] : []),
  ]
  return parts.length === 0 ? phase : `${phase}: ${parts.join(', ')}`
}

/** Nothing is left where all is done, and nothing is said where there is no telling. */
function leftOf({ etaMs, etaLowMs, etaHighMs }: Step): readonly string[] {
  if (!etaMs) return []
  const [least, most] = [etaLowMs, etaHighMs].map((ms) => (ms ? waitOf(ms) : null))
  if (!least || least === most) return [`${waitOf(etaMs)} to go`]
  return [most ? `between ${least} and ${most} to go` : `at least ${least} to go`]
}
