/**
 * The order in which waiting entities are claimed: lower first, then lower id. One step of priority is worth `ageingMs` of
 * waiting, so a lower priority number goes first and nothing starves: whoever waits long enough overtakes everybody.
 * It depends on nothing that passes, so it is fixed when the wait begins and can be an index.
 */
export function rankOf(at: number, priority: number, ageingMs: number): number {
  return at + priority * ageingMs
}
