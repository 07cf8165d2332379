import { type Case, caseOf, type Expectations } from './case.ts'
import { checkEffects } from './check-effects.ts'
import { checkChildren, checkOrder } from './check-family.ts'
import { checkHistory } from './check-history.ts'
import { checkActs, checkSubmits } from './check-promises.ts'
import { checkLanes, checkRest } from './check-rest.ts'
import type { Evidence } from './evidence.ts'

const checks: readonly ((the: Case) => Iterable<string>)[] = [
  checkSubmits,
  checkActs,
  checkHistory,
  checkChildren,
  checkOrder,
  checkEffects,
  checkLanes,
  checkRest,
]

/**
 * Judges what is left after all crashes. Every complaint is one sentence that names the entity; none means that nothing
 * acknowledged was lost, nothing was done twice, and everything is settled as it should be.
 */
export function check(evidence: Evidence, expected: Expectations): readonly string[] {
  const the = caseOf(evidence, expected)
  return checks.flatMap((judge) => [...judge(the)])
}
