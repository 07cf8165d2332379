import type { Explanation } from '../../control.ts'
import type { Host } from '../host.ts'
import { dataLines } from '../job/data-lines.ts'
import { momentOf, withMoments } from '../moment.ts'
import { plain } from '../text.ts'
import { type AnswerOptions, answering } from './answer.ts'

/** Why an entity is where it is. */
export function explain(id: number, options: AnswerOptions, host: Host): Promise<number> {
  return answering(
    options,
    host,
    ({ control }) => control.explain(id),
    ({ sentence, facts: { children: _told, ...facts } }) => {
      const known = knownOf(facts)
      const lines = Object.keys(known).length === 0 ? [] : ['', ...dataLines(known, (number) => factOf(number, host))]
      return [withMoments(plain(sentence, 2_000), host), ...lines]
    },
  )
}

/** What there is nothing of says nothing. */
function knownOf(facts: Explanation['facts']): Record<string, unknown> {
  const isKnown = (value: unknown) => value !== null && !(Array.isArray(value) && value.length === 0)
  const { reason, error, ...rest } = facts
  // The sentence has told the reason; often it is the error, word for word.
  const told = error === reason ? rest : { ...rest, error }
  return Object.fromEntries(Object.entries(told).filter(([, value]) => isKnown(value)))
}

/** Facts are the engine's own: ids and counts are small, and what is as large as this is a time. */
const timesFrom = Date.UTC(2000, 0)

function factOf(number: number, host: Host): string {
  return number > timesFrom && Number.isSafeInteger(number) ? momentOf(number, host) : String(number)
}
