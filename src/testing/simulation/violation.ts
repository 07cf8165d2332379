/** A promise was broken. One line says which, where, and how to see it again. */
export class Violation extends Error {
  readonly seed: number
  readonly step: number
  readonly invariant: string
  readonly trace: readonly string[]

  constructor(
    seed: number,
    step: number,
    replay: string,
    invariant: string,
    message: string,
    trace: readonly string[],
  ) {
    super(`seed ${seed}, step ${step}: ${invariant}: ${message} Replay: npm run simulate -- ${replay} --trace`)
    this.name = 'Violation'
    this.seed = seed
    this.step = step
    this.invariant = invariant
    this.trace = trace
  }
}
