import { SluiceError } from '../../errors.ts'
import { keyPool } from '../../pool.ts'
import { refusalOfBirth } from '../../refusal.ts'
import type { Birth, CreateVerdict } from '../../store.ts'
import type { Memory } from './memory.ts'

export function checkCreate(memory: Memory, births: readonly Birth[]): void {
  const { createMax } = memory.limits
  if (births.length <= createMax) return
  throw new SluiceError(
    'invalid',
    `${births.length} entities in one create; at most ${createMax} are allowed. Create them in groups.`,
    {
      given: births.length,
      max: createMax,
    },
  )
}

export function create(memory: Memory, operation: string, births: readonly Birth[]): readonly CreateVerdict[] {
  const now = memory.time()
  return memory.operations.once(`create ${operation}`, now, () =>
    Object.freeze(births.map((birth) => Object.freeze(createOne(memory, birth, now)))),
  )
}

function createOne(memory: Memory, birth: Birth, now: number): CreateVerdict {
  const message = refusalOfBirth(birth, memory.limits)
  if (message) return { kind: 'refused', message }
  const [existing] = birth.key === null ? [] : memory.pools.holders(keyPool(birth.key))
  if (existing !== undefined) return { kind: 'existing', id: existing }
  const row = memory.bear(birth, null, now)
  memory.publish(row, now)
  return { kind: 'saved', id: row.entity.id }
}
