import type { EntityId } from './entity.ts'

/**
 * A named amount with a ceiling that entities take and give back. What is taken belongs to the entity, so a crash leaks
 * none. A pool of 1 is a key; concurrency limits are pools whose amounts last as long as the lease.
 */
export interface Pool {
  readonly name: string
  readonly ceiling: number
  readonly taken: number
  /** Some of those who hold a share, oldest first. */
  readonly holders: readonly PoolShare[]
}

export interface PoolShare {
  readonly entity: EntityId
  readonly amount: number
}

/** What a move takes. `ceiling` sets the pool's ceiling; taking again replaces the entity's amount. */
export interface Take {
  readonly pool: string
  readonly amount: number
  readonly ceiling: number
}

/** The pool that makes a submit key unique. */
export function keyPool(key: string): string {
  return `key:${key}`
}

/** The pool that limits how many run one processor at once. */
export function processorPool(machine: string, processor: string, label: string | null = null): string {
  return label === null ? `run:${machine}/${processor}` : `run:${machine}/${processor}/${label}`
}
