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
    ({ sentence, facts: { children: _told, ...facts } }) => [
      withMoments(plain(sentence, 2_000), host),
      ...(Object.keys(facts).length === 0 ? [] : ['', ...dataLines(facts, (number) => factOf(number, host))]),
    ],
  )
}

/** Facts are the engine's own: ids and counts are small, and what is as large as this is a time. */
const timesFrom = Date.UTC(2000, 0)

function factOf(number: number, host: Host): string {
  return number > timesFrom && Number.isSafeInteger(number) ? momentOf(number, host) : String(number)
}
