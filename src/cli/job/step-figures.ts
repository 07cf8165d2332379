import type { JobView, StepProgress } from 'sluice/chunked'
import { countOf, percentOf, waitOf } from '../figures.ts'
import { Pace } from '../pace.ts'

/** One step as it stands at this moment. */
export interface StepFigures {
  readonly id: string
  readonly kind: 'step' | 'reducer'
  readonly phase: StepProgress['phase']
  readonly total: number
  readonly settled: number
  readonly failed: number
  /** Waiting to be looked at again, and waiting to be tried again. */
  readonly polling: number
  readonly inError: number
  readonly records: number
  /** The steps before it may still give it more. */
  readonly isGrowing: boolean
  /** In records where the step counts any, otherwise in chunks. */
  readonly rate: { readonly perSecond: number; readonly unit: 'records' | 'chunks' } | null
  readonly etaMs: number | null
}

/** Figures of a job's steps, with the pace of the last seconds: an average over hours would tell nothing. */
export class StepPaces {
  readonly #chunks = new Map<string, Pace>()
  readonly #records = new Map<string, Pace>()

  figuresOf({ steps }: Pick<JobView, 'steps'>, now: number): readonly StepFigures[] {
    let isGrowing = false
    return steps.map((step) => {
      const figures = this.#figuresOf(step, isGrowing, now)
      isGrowing ||= step.phase !== 'complete'
      return figures
    })
  }

  #figuresOf(step: StepProgress, isGrowing: boolean, now: number): StepFigures {
    const { id, kind, phase, total, settled, failed, records, chunks } = step
    const chunkPace = paceOf(this.#chunks, id, settled, now)
    const recordPace = paceOf(this.#records, id, records, now)
    const isRunning = phase === 'running'
    const perSecond = isRunning ? (records > 0 ? recordPace : chunkPace) : null
    const left = total - settled
    const isTold = isRunning && !isGrowing && left > 0 && chunkPace !== null
    return {
      ...{ id, kind, phase, total, settled, failed, records, isGrowing },
      polling: chunks.poll_waiting ?? 0,
      inError: chunks.error ?? 0,
      rate: perSecond === null ? null : { perSecond, unit: records > 0 ? 'records' : 'chunks' },
      etaMs: isTold ? (left / chunkPace) * 1_000 : null,
    }
  }
}

function paceOf(paces: Map<string, Pace>, id: string, done: number, now: number): number | null {
  const pace = paces.get(id) ?? new Pace()
  paces.set(id, pace)
  pace.add(done, now)
  return pace.perSecond
}

/** `running: 45 %, 450 of 1,000 chunks, 3 failed, 45,000 records, 1,200 records/s, 9 s to go`. */
export function figuresText(step: StepFigures): string {
  const parts = partsOf(step).map(({ text }) => text)
  return parts.length === 0 ? step.phase : `${step.phase}: ${parts.join(', ')}`
}

/** The same in so many characters: what matters least gives way first. A bar says already that the step runs. */
export function figuresWithin(step: StepFigures, characters: number): string {
  const all = partsOf(step)
  const isSaid = step.phase === 'running' && all.length > 0
  for (let rank = 0; ; rank += 1) {
    const parts = all.filter((part) => part.rank >= rank).map(({ text }) => text)
    const text = isSaid ? parts.join(', ') : [step.phase, ...parts].join(', ').replace(', ', ': ')
    if (text.length <= characters || parts.length <= 1) return text.slice(0, Math.max(0, characters))
  }
}

interface Part {
  readonly text: string
  /** What is low is left out first where there is no room. */
  readonly rank: number
}

function partsOf(step: StepFigures): readonly Part[] {
  const { phase, kind, total, settled, failed, polling, inError, records, rate, etaMs } = step
  const isShared = phase === 'running' && kind === 'step' && total > 0
  return [
    ...(isShared ? [{ text: percentOf(settled, total), rank: 6 }] : []),
    ...(kind === 'reducer' ? [] : amountOf(step).map((text) => ({ text, rank: 5 }))),
    ...(failed > 0 ? [{ text: `${countOf(failed)} failed`, rank: 4 }] : []),
    ...(inError > 0 ? [{ text: `${countOf(inError)} to be tried again`, rank: 1 }] : []),
    ...(polling > 0 ? [{ text: `${countOf(polling)} polling`, rank: 2 }] : []),
    ...(records > 0 ? [{ text: `${countOf(records)} ${records === 1 ? 'record' : 'records'}`, rank: 0 }] : []),
    ...(rate ? [{ text: `${countOf(rate.perSecond)} ${rate.unit}/s`, rank: 2 }] : []),
    ...(etaMs === null ? [] : [{ text: `${waitOf(etaMs)} to go`, rank: 3 }]),
  ]
}

function amountOf({ phase, total, settled, isGrowing }: StepFigures): readonly string[] {
  if (total === 0) return phase === 'complete' ? ['no chunks'] : []
  const chunks = total === 1 ? 'chunk' : 'chunks'
  // Of a step that still gets more, the total is only what is known so far.
  const soFar = isGrowing ? ' so far' : ''
  if (phase === 'running') return [`${countOf(settled)} of ${countOf(total)} ${chunks}${soFar}`]
  return [`${countOf(total)} ${chunks}${soFar}`]
}

const nameMax = 24

/** Lines that stand below each other: name, bar, figures. The bar gives way to the figures on narrow terminals. */
export function stepLines(steps: readonly StepFigures[], columns: number): readonly string[] {
  const width = Math.min(nameMax, Math.max(...steps.map(({ id }) => id.length)))
  const barWidth = columns >= 100 ? 20 : columns >= 60 ? 10 : 0
  return steps.map((step) => {
    const name = step.id.length > width ? `${step.id.slice(0, width - 1)}…` : step.id.padEnd(width)
    const head = `  ${name}  ${barWidth === 0 ? '' : `${barOf(step, barWidth)}  `}`
    return `${head}${figuresWithin(step, columns - head.length)}`.slice(0, columns)
  })
}

function barOf({ phase, total, settled }: StepFigures, width: number): string {
  const share = total > 0 ? settled / total : 0
  // Full only when nothing is left and nothing can come.
  const full = phase === 'complete' ? width : Math.min(width - 1, Math.floor(share * width))
  return `${'█'.repeat(full)}${'░'.repeat(width - full)}`
}

const linesMax = 12

/** Jobs may have more steps than a screen has lines: those around the first that is not complete are shown. */
export function inView(steps: readonly StepFigures[]): {
  readonly steps: readonly StepFigures[]
  readonly before: number
  readonly after: number
} {
  if (steps.length <= linesMax) return { steps, before: 0, after: 0 }
  const current = steps.findIndex(({ phase }) => phase !== 'complete')
  const middle = current < 0 ? steps.length : current
  const before = Math.min(Math.max(0, middle - 2), steps.length - linesMax)
  return { steps: steps.slice(before, before + linesMax), before, after: steps.length - before - linesMax }
}
