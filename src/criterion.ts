import { messageOf, SluiceError } from './errors.ts'
import type { Criterion, Facts, Implementation, View } from './implementation.ts'

/** Judges named criteria, all of which must hold. Null: they do. Otherwise why not, in words. */
export function judge(
  implementation: Implementation,
  names: readonly string[],
  entity: View,
  facts: Facts,
): string | null {
  for (const name of names) {
    const criterion = implementation.criteria[name]
    if (!criterion) {
      throw new SluiceError('invalid', `Machine ${implementation.machine.name} has no criterion ${name}.`, { name })
    }
    const verdict = evaluate(name, criterion, entity, facts)
    if (verdict === true) continue
    return typeof verdict === 'string' ? verdict : `${name} does not hold`
  }
  return null
}

/** A criterion that throws does not hold, and says what it threw: an entity must not sit for ever because of a bug in a rule. */
function evaluate(name: string, criterion: Criterion, entity: View, facts: Facts): boolean | string {
  try {
    return criterion(entity, facts)
  } catch (error) {
    return `${name} threw: ${messageOf(error)}`
  }
}
