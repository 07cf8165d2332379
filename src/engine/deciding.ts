import { decideOn, type Occurrence } from '../decide.ts'
import { messageOf } from '../errors.ts'
import type { Decision, Path } from '../path.ts'

/** A rule that breaks is the entity's failure, not the worker's: its neighbours go on. */
export function decideSafely(path: Path, attempts: number, occurrence: Occurrence): Decision | null {
  path.mark()
  try {
    return decideOn(path, attempts, occurrence)
  } catch (error) {
    if (occurrence.cause === 'fail') throw error
    path.restore()
    return decideOn(path, attempts, { cause: 'fail', reason: messageOf(error), error: messageOf(error) })
  }
}
