import type { JobView } from 'sluice/chunked'
import { fitted } from '../fitted.ts'
import type { Host } from '../host.ts'
import { lineGapMs } from '../pace.ts'
import { TroubleLine } from '../progress-bar.ts'
import { ProgressBlock } from '../progress-block.ts'
import type { Terminal } from '../terminal.ts'
import { plain } from '../text.ts'
import { titleOf } from './report.ts'
import { figuresText, inView, type StepFigures, StepPaces, stepLines } from './step-figures.ts'

/** A job in which nothing has settled for so long says why. Most steps settle a chunk within seconds. */
const stillMs = 10_000
/** Lines of a block that may tell it. */
const stillLinesMax = 3

/** How far a job is: a block with a line for each step on a terminal, plain lines elsewhere. */
export class JobProgress {
  readonly #terminal: Terminal
  readonly #now: () => number
  readonly #block: ProgressBlock
  readonly #paces = new StepPaces()
  readonly #told = new Map<string, { readonly phase: string; readonly begunAt: number; readonly at: number }>()
  readonly #trouble: TroubleLine
  #toldState = ''
  #still = { settled: -1, since: 0, toldAt: 0 }

  constructor({ terminal, clock }: Pick<Host, 'terminal' | 'clock'>) {
    this.#terminal = terminal
    this.#now = () => clock.now()
    this.#block = new ProgressBlock(terminal, this.#now)
    this.#trouble = new TroubleLine(terminal)
  }

  /** `waitsFor`: what keeps a job that has ended. */
  show(view: JobView, waitsFor: string | null): void {
    this.#trouble.show(view.trouble, () => this.clear())
    const now = this.#now()
    const figures = this.#paces.figuresOf(view, now)
    const why = this.#whyStill(view, now)
    if (this.#terminal.isTty) {
      this.#block.show((columns) => [...blockOf(view, figures, waitsFor, columns), ...stillLines(why, columns)])
    } else {
      this.#tell(view, figures, waitsFor, now)
      this.#tellStill(why, now)
    }
  }

  clear(): void {
    this.#block.clear()
  }

  /** What its open chunks wait for, if none has settled for long. */
  #whyStill({ state, chunks, sentence }: JobView, now: number): string | null {
    if (chunks.settled !== this.#still.settled) this.#still = { settled: chunks.settled, since: now, toldAt: now }
    return now - this.#still.since < stillMs || state === 'queued' ? null : plain(sentence)
  }

  #tellStill(why: string | null, now: number): void {
    const { since, toldAt } = this.#still
    if (why === null || (toldAt > since && now - toldAt < lineGapMs(now - since))) return
    this.#still.toldAt = now
    this.#terminal.err(`  ${why}\n`)
  }

  /** A line for each step that has come further, and now and then for those that are at work. */
  #tell(view: JobView, figures: readonly StepFigures[], waitsFor: string | null, now: number): void {
    const state = headOf(view, waitsFor)
    if (state !== this.#toldState) this.#terminal.err(`${state}\n`)
    this.#toldState = state
    for (const step of figures) {
      const { id, phase } = step
      const told = this.#told.get(id)
      if (phase === 'waiting' || (phase === 'complete' && told?.phase === 'complete')) continue
      const begunAt = told?.phase === phase ? told.begunAt : now
      if (told?.phase === phase && now - told.at < lineGapMs(now - begunAt)) continue
      this.#told.set(id, { phase, begunAt, at: now })
      this.#terminal.err(`  ${id} ${figuresText(step)}\n`)
    }
  }
}

function stillLines(why: string | null, columns: number): readonly string[] {
  return why === null ? [] : fitted(`  ${why}`, columns).split('\n').slice(0, stillLinesMax)
}

function blockOf(
  view: JobView,
  figures: readonly StepFigures[],
  waitsFor: string | null,
  columns: number,
): readonly string[] {
  const { steps, before, after } = inView(figures)
  return [
    // What nobody has taken up yet may be held back: it says why.
    view.state === 'queued'
      ? `${titleOf(view)} ${plain(view.sentence)}`
      : headOf(view, waitsFor ?? `${Math.floor(view.percent)} %`),
    ...(before > 0 ? [`  … ${before} steps before these`] : []),
    ...stepLines(steps, columns),
    ...(after > 0 ? [`  … ${after} steps after these`] : []),
  ]
}

function headOf(view: JobView, waitsFor: string | null): string {
  const title = titleOf(view)
  return waitsFor === null ? title : `${title.slice(0, -1)}, ${waitsFor}.`
}
