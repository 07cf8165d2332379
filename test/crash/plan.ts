/**
 * What is submitted under which number, and how it must end: known before anything runs, so that the checker does not learn
 * from the engine what the engine should have done.
 */
export interface Planned {
  readonly key: string
  readonly machine: string
  readonly data: PlannedData
  /** The states in which it may end. More than one only where a person may have come in between. */
  readonly ends: readonly string[]
  /** Edges whose processors must have had their effect, once per generation. */
  readonly effects: readonly string[]
  /** How many children each lane must have, numbered through all lanes from 0. */
  readonly lanes: Readonly<Record<string, number>>
  /** How often it is reopened. */
  readonly generations: number
  /** Retention removes it, and leaves a tombstone. */
  readonly purged: boolean
}

export interface PlannedData {
  readonly number: number
  readonly mood: Mood
  readonly first?: number
  readonly second?: number
  readonly polled?: number
}

export type Mood = 'plain' | 'retry' | 'poll' | 'bad' | 'doomed' | 'route' | 'batch' | 'cancelled' | 'again' | 'brief'

/** Numbers that one process submits, in this order of moods. */
export const rangeSize = 40

const moods: readonly Mood[] = [
  'batch',
  'again',
  'cancelled',
  'brief',
  'doomed',
  'bad',
  'retry',
  'retry',
  'poll',
  'poll',
  ...Array.from({ length: 12 }, () => 'route' as const),
]

/** A process in three fans out in checkpoints; the others have batches that can close while processes still die. */
export const bigEvery = 3

export function planOf(number: number): Planned {
  const mood = moods[number % rangeSize] ?? 'plain'
  const isBig = Math.floor(number / rangeSize) % bigEvery === 0
  const none = { effects: [], lanes: {}, generations: 0, purged: false }
  const plan = (
    machine: string,
    end: string | readonly string[],
    rest: Partial<Planned>,
    data: Partial<PlannedData> = {},
  ): Planned => ({
    ...none,
    ...rest,
    key: `crash-${number}`,
    machine,
    data: { number, mood, ...data },
    ends: typeof end === 'string' ? [end] : end,
  })
  switch (mood) {
    case 'plain':
    case 'retry':
      return plan('crash_item', 'completed', { effects: ['work'] })
    case 'poll':
      return plan('crash_item', 'completed', { effects: ['work'] }, { polled: 0 })
    case 'bad':
      return plan('crash_item', 'failed', {})
    case 'doomed':
      return plan('crash_doomed', 'failed', {})
    case 'route':
      return plan('crash_route', 'completed', { effects: ['load', 'check', 'store'] })
    case 'batch': {
      const [first, second] = isBig ? [200, 100] : [12, 8]
      return plan(
        'crash_batch',
        'completed',
        { effects: ['split', 'report'], lanes: { first, second } },
        { first, second },
      )
    }
    case 'again':
      return plan(
        'crash_batch',
        'completed',
        { effects: ['split', 'report'], lanes: { first: 10 }, generations: 1 },
        { first: 10, second: 0 },
      )
    case 'cancelled': {
      const [first, second] = [20, 10]
      return plan(
        'crash_batch',
        ['completed', 'cancelled'],
        { effects: ['split', 'report'], lanes: { first, second } },
        { first, second },
      )
    }
    case 'brief':
      return plan(
        'crash_brief',
        'completed',
        { effects: ['split'], lanes: { crash_part: 8 }, purged: true },
        { first: 8 },
      )
    default:
      return mood satisfies never
  }
}

/** The plan by key; null for a key that is in no plan. */
export function planOfKey(key: string): Planned | null {
  const number = /^crash-(\d+)$/.exec(key)?.[1]
  return number === undefined ? null : planOf(Number(number))
}
