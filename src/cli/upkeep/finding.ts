/** What was looked at, and what was found. */
export interface Finding {
  readonly what: string
  readonly verdict: 'well' | 'note' | 'trouble'
  readonly sentence: string
}

/** Whoever looks says what was found; what was looked at stands above it. */
export type Found = Omit<Finding, 'what'>

export const well = (sentence: string): Found => ({ verdict: 'well', sentence })
export const note = (sentence: string): Found => ({ verdict: 'note', sentence })
export const trouble = (sentence: string): Found => ({ verdict: 'trouble', sentence })
