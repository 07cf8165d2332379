import type { Move } from './store.ts'

/** How many attempts a row has after a move. They are counted at the claim; a move only says what became of that count. */
export function attemptsAfter(attempts: number, move: Move): number {
  switch (move.attempts) {
    case 'reset':
      // With the lease kept, the run of the next state has begun.
      return move.keep ? 1 : 0
    case 'one':
      return 1
    case 'back':
      return Math.max(0, attempts - 1)
    case 'stay':
      return attempts
    default:
      return move.attempts satisfies never
  }
}
