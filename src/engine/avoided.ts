import type { Entity } from '../entity.ts'
import type { ClaimRequest } from '../store.ts'

/** A number for each. Beyond it the oldest is forgotten: one of its children is met once more. */
const avoidedMax = 1_000

/** Parents whose children this process cannot run: claims leave them to others. */
export class Avoided {
  /** A new one for each change, as a claim that is under way has the old one. */
  request: Pick<ClaimRequest, 'avoid'> = {}

  add({ parent }: Entity): void {
    const known = this.request.avoid
    if (parent === null || known?.has(parent)) return
    this.request = { avoid: new Set([...(known ?? []), parent].slice(-avoidedMax)) }
  }
}
