import { type Context, fail, type GroupProcessor, messageOf, type Outcome, retry } from 'sluice'
import type { ItemData } from './item-data.ts'
import { uploadItem } from './item-machine.ts'
import { lastMessage, troubleOf } from './item-reasons.ts'

/**
 * Says by a short phrase why an item could not be processed: thousands of items that fail of the same disk are one row of a report. Only an
 * item that runs alone is blamed; a group that fails is run one by one.
 */
export function namingTrouble(name: string, many: GroupProcessor<ItemData>): GroupProcessor<ItemData> {
  const attemptsMax = uploadItem.policies[name]!.attemptsMax
  return async (contexts) => {
    try {
      return await many(contexts)
    } catch (error) {
      const [only] = contexts
      if (!only || contexts.length > 1 || only.aborted) throw error
      return [troubled(only, error, attemptsMax)]
    }
  }
}

function troubled({ data, attempt }: Context<ItemData>, error: unknown, attemptsMax: number): Outcome {
  const message = messageOf(error)
  if (attempt < attemptsMax) return retry(message)
  return fail(troubleOf(error), lastMessage(message, attempt), { ...data, errorType: 'PROCESSING' } satisfies ItemData)
}
