import type { Logger } from 'pino'
import type { Entity } from '../entity.ts'
import type { Decision } from '../path.ts'

/** Writes what the assigns of a saved move had to say. */
export function tell(log: Logger, entity: Entity, { change }: Decision): void {
  for (const { message, level = 'info', fields = {} } of change.log) {
    log[level]({ entity: entity.id, machine: entity.machine, ...fields }, message)
  }
}
